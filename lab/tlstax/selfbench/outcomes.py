"""How busy both sides were while connections were held."""

from __future__ import annotations

from tlstax.contract import Done
from tlstax.records.trial import Machine
from tlstax.selfbench.records import Observation


def outcomes(seen: Observation, done: Done, machine: Machine) -> dict[str, float]:
    """Which share of its CPUs each side kept busy; the server's only where its process could be read."""
    used_us = {"client_cpu_share": done.cpu.total_us}
    if seen.server_cpu is not None:
        used_us["server_cpu_share"] = seen.server_cpu.total_us
    cpus = {"client_cpu_share": machine.client_cpus, "server_cpu_share": machine.server_cpus}
    return {
        name: us / 1e6 / done.elapsed_s / (len(cpus[name]) or machine.cores) for name, us in used_us.items()
    }
