"""Compiled parts of the observers."""
