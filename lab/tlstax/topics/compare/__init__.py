"""Runs beside one another: what is different between them, and which differences are real. Pure."""
