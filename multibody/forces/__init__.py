"""Each force with its data, its rows in a model's tables and its kernel: springs and loads, tyres, driveline, road."""
