"""All checks, in the order in which they are shown: processor, room, network, observers, programs."""

from __future__ import annotations

from collections.abc import Callable

from tlstax.tools.doctor import network, programs, resources
from tlstax.tools.doctor.check import Check, Seen, guarded

CHECKS: dict[str, Callable[[], Seen]] = {
    "/proc": resources.processes,
    "CPUs": resources.cpus,
    "CPU frequency": resources.frequency,
    "virtualisation": resources.virtualization,
    "other load": resources.load,
    "priority": resources.priority,
    "clock": resources.clock,
    "memory": resources.memory,
    "disk": resources.disk,
    "runs": resources.runs,
    "file descriptors": resources.file_descriptors,
    "ports": network.ports,
    "loopback addresses": network.loopback_addresses,
    "network namespaces": network.namespaces,
    "delay on a link": network.delay,
    "tunnel device": network.tunnel_device,
    "distance": network.distance,
    "counters": resources.counting,
    "profiler": resources.profiler,
    "OpenSSL": programs.openssl,
    "load engine": programs.engine,
    "child processes": programs.child_control,
    "server": programs.server,
    "paths": programs.paths,
    "drivers": programs.drivers,
    "fetching servers": programs.fetching,
}


def diagnose() -> list[Check]:
    """Look at everything. Takes two seconds; leaves at most an empty cache folder behind; never raises."""
    return [guarded(name, look) for name, look in CHECKS.items()]
