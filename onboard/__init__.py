"""The live run: the recorder."""
