"""A static site of many runs: its index; pages of runs are reports."""
