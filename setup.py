"""Folders stand at the repository's root and install as `hodograph.<folder>`; everything else is in pyproject.toml."""

from setuptools import find_packages, setup

FOLDERS = (
    "core",
    "numerics",
    "multibody",
    "track_maps",
    "sensors",
    "acquisition",
    "observers",
    "ann",
    "twin",
    "replay",
    "onboard",
    "bench",
    "cli",
    "vehicles",
)
found = find_packages(include=[p for f in FOLDERS for p in (f, f + ".*")])
setup(packages=[f"hodograph.{p}" for p in found], package_dir={"hodograph": "."})
