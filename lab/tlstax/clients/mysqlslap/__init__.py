"""MySQL's mysqlslap as a load client behind the contract; `__main__` has the conversation."""
