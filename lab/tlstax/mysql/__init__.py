"""Talking to a server: all SQL, what its answers mean, connections, tables, accounts, counters, settings."""
