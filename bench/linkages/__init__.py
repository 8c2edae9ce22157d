"""The linkage benchmark of seed 002, ch. 4: configuration, truth, noise, the grid of observers, and the bound."""
