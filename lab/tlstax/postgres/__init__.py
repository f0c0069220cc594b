"""Talking to PostgreSQL: all SQL, what its answers mean, connections, tables, accounts, counters, settings."""
