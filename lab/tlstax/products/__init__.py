"""The products that servers are, and what the laboratory asks each of them by."""
