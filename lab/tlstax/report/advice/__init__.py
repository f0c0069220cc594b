"""What people read of an advice. Pure."""
