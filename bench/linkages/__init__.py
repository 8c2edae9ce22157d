"""The linkage benchmark (Sanjurjo 2016, ch. 4): configuration, truth, noise, the grid of observers, and the bound."""
