"""Measurements that RESULTS.md reports: `python -m benchmarks [NAME …]`."""
