"""What to change at a server that was inspected, from what was seen and what was measured. Pure."""
