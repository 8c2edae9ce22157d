"""What `hodograph bench` measures: accuracy and speed, peers beside us in the same run."""
