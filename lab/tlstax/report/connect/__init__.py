"""Storms, round trips and what crossed the wire, as tables."""
