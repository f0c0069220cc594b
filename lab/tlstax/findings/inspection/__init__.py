"""What is unsafe about a server that was inspected, and what each client of it pays for. Pure."""
