"""Bulk, as tables, a picture and rows."""
