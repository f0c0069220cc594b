"""Talking to PostgreSQL: all SQL, what answers mean, connections, tables, accounts, counters, settings."""
