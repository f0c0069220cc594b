"""Locks, as tables and rows."""
