"""Survey points in ENU → a triangle mesh with height, normal and contact."""
