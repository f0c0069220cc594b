"""What people read of a prediction. Pure."""
