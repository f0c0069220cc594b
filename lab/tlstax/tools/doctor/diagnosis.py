"""All checks, in the order in which they are shown: processor, room, network, observers, programs."""

from __future__ import annotations

from collections.abc import Callable

from tlstax.tools.doctor import counters, drivers, network, processor, profiling, programs, room
from tlstax.tools.doctor.check import Check, guarded

CHECKS: dict[str, Callable[[], Check]] = {
    "/proc": room.processes,
    "CPUs": processor.cpus,
    "CPU frequency": processor.frequency,
    "virtualisation": processor.virtualization,
    "other load": processor.load,
    "clock": processor.clock,
    "memory": room.memory,
    "disk": room.disk,
    "runs": room.runs,
    "file descriptors": room.file_descriptors,
    "ports": network.ports,
    "loopback addresses": network.loopback_addresses,
    "network namespaces": network.namespaces,
    "delay on a link": network.delay,
    "tunnel device": network.tunnel_device,
    "distance": network.distance,
    "counters": counters.counting,
    "profiler": profiling.profiler,
    "OpenSSL": programs.openssl,
    "load engine": programs.engine,
    "child processes": programs.child_control,
    "server": programs.server,
    "paths": programs.paths,
    "drivers": drivers.drivers,
    "fetching servers": programs.fetching,
}


def diagnose() -> list[Check]:
    """Look at everything. Takes two seconds; leaves at most an empty cache folder behind; never raises."""
    return [guarded(name, look) for name, look in CHECKS.items()]
