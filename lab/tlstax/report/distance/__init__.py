"""Distances and tunnels, as tables and charts."""
