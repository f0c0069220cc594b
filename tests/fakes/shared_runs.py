"""Runs whose load came from several machines, in exact numbers."""

from __future__ import annotations

from report_runs import one_workload_one_level
from tlstax.records.beforehand import LoadStep
from tlstax.records.trial import LoadMachines, ServerCpu, StoredRun, TrialRecord
from tlstax.records.window import Load, LoadPart

MACHINES = ("c1", "c2")


def shared_run(
    *,
    server_busy: float | None = 0.5,
    clients_busy: float = 0.2,
    offered: int = 2,
    steps: tuple[LoadStep, ...] = (),
    machines: tuple[str, ...] = MACHINES,
) -> StoredRun:
    """A run on a server of one CPU, whose share of work is `server_busy`; None where it is out of reach.

    Of each machine's two CPUs the first machine's client uses `clients_busy`, the others half of that.
    """
    stored = one_workload_one_level(blocks=3)
    machine = stored.header.machine.model_copy(update={"client_cpus": (0, 1)})
    load = LoadMachines(
        server_address="10.0.0.1",
        machines=dict.fromkeys(machines, machine),
        offered=offered,
        steps=steps,
    )
    header = stored.header.model_copy(update={"load": load})
    trials = tuple(_shared(record, machines, server_busy, clients_busy) for record in stored.trials)
    return stored.model_copy(update={"header": header, "trials": trials})


def _shared(
    record: TrialRecord, machines: tuple[str, ...], server_busy: float | None, clients_busy: float
) -> TrialRecord:
    done, server = record.done, record.server
    assert done is not None
    assert server is not None
    elapsed_us = done.elapsed_s * 1e6
    parts = tuple(
        LoadPart(
            machine=name,
            connections=1,
            cpus=2,
            operations=done.operations // 2 ** (place + 1),
            cpu_us=2 * clients_busy * elapsed_us / (2 if place else 1),
        )
        for place, name in enumerate(machines)
    )
    used_us = None if server_busy is None else server_busy * elapsed_us
    cpu = None if used_us is None else ServerCpu(total_us=used_us, user_us=used_us, system_us=0.0)
    load = Load(
        parts=parts,
        server_address="10.0.0.1",
        slices=10,
        apart=0,
        skew_us=41.0,
        longest_skew_us=80.0,
        clock_error_us=22.0,
    )
    return record.model_copy(
        update={"load": load, "server": server.model_copy(update={"cpu": cpu}), "window": None}
    )
