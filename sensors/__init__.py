"""Measurement models: what a sensor should read in a given state, with Jacobians, noise and mounts."""
