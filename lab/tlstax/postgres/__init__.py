"""Talking to PostgreSQL: all SQL, what its answers mean, tables, accounts, counters, settings."""
