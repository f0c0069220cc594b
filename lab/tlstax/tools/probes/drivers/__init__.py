"""Drivers as load clients: which there are, how they are built, what they do by default."""
