"""Figures of a run for tools that follow them from run to run."""
