"""What people read of runs beside one another. Pure."""
