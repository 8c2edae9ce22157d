"""Sideslip from five ordinary channels: the filter, its car and tyres, and their identification."""
