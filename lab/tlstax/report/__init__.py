"""The formats: each one writer over a run, its rows and its sections."""
