"""What an observation says in numbers, the same way for every contestant."""

from __future__ import annotations

from tlstax.contract import Done
from tlstax.records.trial import Machine
from tlstax.selfbench import proof
from tlstax.selfbench.records import Header, Observation, Result

OUTCOMES = {
    "ops_per_s": "operations a second",
    "client_cpu_us_per_op": "client CPU per operation, µs",
    "client_cpu_user_us_per_op": "of that in user mode, µs",
    "client_cpu_system_us_per_op": "of that in the kernel, µs",
    "client_instructions_per_op": "instructions of the client per operation",
    "client_instructions_user_per_op": "of those in user mode",
    "client_instructions_kernel_per_op": "of those in the kernel",
    "server_cpu_us_per_op": "server CPU per operation, µs",
    "client_cpu_share": "how busy the client kept its CPU, 1 is all the time",
    "server_cpu_share": "how busy the server kept its CPUs",
}
"""Every outcome of a contestant in a cell, in the order in which they are shown."""


def judged(seen: Observation, header: Header) -> Result:
    """The result of a trial: its outcomes if it was what it claims to be, else why it was not."""
    reasons = proof.doubts(seen, header.server)
    if reasons or seen.done is None:
        return Result(trial=seen.trial, reasons=reasons)
    library = seen.ready.tls_library if seen.ready is not None else None
    return Result(
        trial=seen.trial,
        outcomes=outcomes(seen, seen.done, header.machine),
        negotiated=_negotiated(seen),
        tls_library=library.version if library is not None else "",
    )


def outcomes(seen: Observation, done: Done, machine: Machine) -> dict[str, float]:
    """Each outcome that this trial yields; instructions and the server's CPU only where they were read."""
    window_us = done.elapsed_s * 1e6
    found = {
        "ops_per_s": done.operations / done.elapsed_s,
        "client_cpu_us_per_op": done.cpu.total_us / done.operations,
        "client_cpu_user_us_per_op": done.cpu.user_us / done.operations,
        "client_cpu_system_us_per_op": done.cpu.system_us / done.operations,
        "client_cpu_share": done.cpu.total_us / (window_us * (len(machine.client_cpus) or machine.cores)),
    }
    if seen.server_cpu is not None:
        total_us = seen.server_cpu.total_us
        found["server_cpu_us_per_op"] = total_us / done.operations
        found["server_cpu_share"] = total_us / (window_us * (len(machine.server_cpus) or machine.cores))
    counted = seen.instructions
    if counted is not None:
        found["client_instructions_user_per_op"] = counted.user / done.operations
    if counted is not None and counted.kernel is not None:
        found["client_instructions_kernel_per_op"] = counted.kernel / done.operations
        found["client_instructions_per_op"] = (counted.user + counted.kernel) / done.operations
    return {name: found[name] for name in OUTCOMES if name in found}


def _negotiated(seen: Observation) -> str:
    """What the server said of this contestant's connections; only the version where it was not asked."""
    views = [asked.server for asked in seen.ready.negotiated] if seen.ready is not None else []
    words = (f"{view.version} {view.cipher}" if view else "plaintext" for view in views)
    return "; ".join(dict.fromkeys(words)) or ("plaintext" if seen.trial.cell.tls == "off" else proof.TLS_1_3)
