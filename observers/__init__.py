"""State observers on multibody models, and the one loop that feeds them readings."""
