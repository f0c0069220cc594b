"""Flame graphs: what is drawn, and the frame that it is shown in."""
