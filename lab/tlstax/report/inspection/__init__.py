"""An inspected server in words and tables."""
