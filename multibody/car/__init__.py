"""The car: a vehicle file with hard points, the mechanism made of it, and what its suspension does."""
