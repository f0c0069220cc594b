"""What connecting takes: storms, round trips, bytes on the wire."""
