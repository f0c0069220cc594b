"""What an observation says in numbers, the same way for every contestant."""

from __future__ import annotations

from tlstax.contract import Done
from tlstax.findings.core.slices import Turns
from tlstax.records.slices import Slices
from tlstax.records.trial import Machine
from tlstax.selfbench import proof
from tlstax.selfbench.plan import Trial
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

IN_SLICES = (
    "ops_per_s",
    "client_cpu_us_per_op",
    "server_cpu_us_per_op",
    "client_cpu_share",
    "server_cpu_share",
)
"""Those that each slice has."""


def judged(seen: Observation, header: Header) -> Result:
    """The result of a trial: its outcomes if it was what it claims to be, else why it was not."""
    reasons = proof.doubts(seen, header.server)
    if reasons or seen.done is None:
        return Result(trial=seen.trial, reasons=reasons)
    library = seen.ready.tls_library if seen.ready is not None else None
    return Result(
        trial=seen.trial,
        outcomes=outcomes(seen, seen.done, header.machine),
        slices=slices(seen, seen.done),
        beside=seen.beside,
        negotiated=_negotiated(seen),
        tls_library=library.version if library is not None else "",
    )


def outcomes(seen: Observation, done: Done, machine: Machine) -> dict[str, float]:
    """Each outcome that this trial yields; instructions and the server's CPU only where they were read.

    Of turns it is the median slice's value. User mode and kernel share the client's CPU as over all slices.
    """
    turns = turns_of(seen.trial, slices(seen, done))
    known = {name: turns.value(name) for name in IN_SLICES}
    found = {name: value for name, value in known.items() if value is not None}
    if (cpu_us := found.get("client_cpu_us_per_op")) is not None and done.cpu.total_us:
        found["client_cpu_user_us_per_op"] = cpu_us * done.cpu.user_us / done.cpu.total_us
        found["client_cpu_system_us_per_op"] = cpu_us * done.cpu.system_us / done.cpu.total_us
    for name, cpus in (("client_cpu_share", machine.client_cpus), ("server_cpu_share", machine.server_cpus)):
        if name in found:
            found[name] /= len(cpus) or machine.cores
    operations = done.operations if seen.watched is None else seen.watched.operations
    if (instructions := seen.instructions) is not None and operations:
        found["client_instructions_user_per_op"] = instructions.user / operations
        if instructions.kernel is not None:
            found["client_instructions_kernel_per_op"] = instructions.kernel / operations
            found["client_instructions_per_op"] = (instructions.user + instructions.kernel) / operations
    return {name: found[name] for name in OUTCOMES if name in found}


def slices(seen: Observation, done: Done) -> Slices:
    """The trial's turns; a whole window is one, at the end of which it has nothing to say of latencies."""
    if seen.slices is not None:
        return seen.slices
    return Slices(
        sitting=0,
        length_s=done.elapsed_s,
        took_s=done.elapsed_s,
        rounds=(0,),
        operations=(done.operations,),
        elapsed_s=(done.elapsed_s,),
        latency_sum_s=(0.0,),
        client_cpu_us=(done.cpu.total_us,),
        server_cpu_us=() if seen.server_cpu is None else (seen.server_cpu.total_us,),
    )


def turns_of(trial: Trial, own: Slices) -> Turns:
    """Slices as ratios are taken of them: with others of the same block and cell."""
    return Turns(trial.block, None, own)


def _negotiated(seen: Observation) -> str:
    """What the server said of this contestant's connections; only the version where it was not asked."""
    views = [asked.server for asked in seen.ready.negotiated] if seen.ready is not None else []
    words = (f"{view.version} {view.cipher}" if view else "plaintext" for view in views)
    return "; ".join(dict.fromkeys(words)) or ("plaintext" if seen.trial.cell.tls == "off" else proof.TLS_1_3)
