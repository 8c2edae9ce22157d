"""Sideslip networks: training and inference with scikit-learn conventions."""
