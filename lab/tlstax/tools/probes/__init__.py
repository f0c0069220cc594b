"""Asking by small experiments: what a driver does by default, what a TLS library or a server can do."""
