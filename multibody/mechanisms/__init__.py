"""Mechanisms as data: one TOML file each, with a sketch."""
