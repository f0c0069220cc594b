"""sysbench 1.0.20 as a load client behind the contract: see `__main__` for the conversation."""

from tlstax.clients.sysbench.program import obtain_client, sysbench_command, sysbench_specimen

__all__ = ["obtain_client", "sysbench_command", "sysbench_specimen"]
