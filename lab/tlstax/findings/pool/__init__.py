"""What keeping connections saves."""
