"""A mechanism as data, its coordinates and constraint rows, and the tables that all compiled loops walk."""
