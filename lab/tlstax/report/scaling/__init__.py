"""Scaling, as tables and rows."""
