"""Observers: one protocol, the filter family on mechanisms, smoothers, tuning and checks."""
