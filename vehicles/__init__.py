"""Vehicle files (TOML), shipped as package data."""
