"""A run while it goes on: its ratios, their intervals block after block, its trials."""
