"""PostgreSQL's pgbench as a load client behind the contract: see `__main__` for the conversation."""
