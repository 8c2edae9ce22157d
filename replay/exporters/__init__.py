"""Logs → files of other tools: CSV, Parquet, MDF4."""
