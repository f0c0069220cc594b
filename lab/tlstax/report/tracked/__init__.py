"""Documents for tools that follow figures from run to run: one format a module."""
