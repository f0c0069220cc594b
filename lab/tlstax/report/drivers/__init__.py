"""Drivers, as tables and charts."""
