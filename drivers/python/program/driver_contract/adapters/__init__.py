"""The drivers, one module each."""
