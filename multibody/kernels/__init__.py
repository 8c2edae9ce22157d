"""Compiled loops over the tables of a model; see docs/multibody.md for how the pieces fit."""
