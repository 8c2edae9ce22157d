"""Vehicle files (TOML): their schema with levels for different uses, and those that come with the package."""
