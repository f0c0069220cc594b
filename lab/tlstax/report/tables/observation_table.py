"""The table `observations`: what was watched of each trial beside its outcomes, a row for each number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tlstax.records.window import CpuTicks, ProcessUse, Window
from tlstax.report.tables.case_columns import BLOCK, POSITION, RUN
from tlstax.results.exported_run import ExportedRun, ExportedTrial
from tlstax.topics.core.columns import Column, Table

OBSERVATIONS = Table(
    name="observations",
    one_row="a number that was watched of a trial",
    key=("run", "block", "position", "source", "name"),
    columns=(
        RUN,
        BLOCK,
        POSITION,
        Column(
            "source",
            "TEXT",
            "whose it is. Over the measured window: server, client, path (processes), machine (all its "
            "CPUs and its network), server_cpus (those that the server is pinned to), "
            "server_status (the server's own counters). Over the client's life: server_status_lifetime. "
            "Over all times that a phase occurred: wire. Over all turns: burn, a planted cost",
        ),
        Column("name", "TEXT", "what it is, its unit last; a server's counters by its own names"),
        Column("unit", "TEXT", "s, us, ns, B, or 1 for a number of things"),
        Column("value", "REAL", "the number, in that unit"),
    ),
)

_UNITS = {"_us": "us", "_ns": "ns", "_s": "s", "_bytes": "B", "bytes_sent": "B", "bytes_received": "B"}

Numbers = Iterator[tuple[str, str, float | None]]


def observation_rows(run: ExportedRun) -> Iterator[dict[str, object]]:
    """A row for each number of each trial; what could not be watched has none."""
    for trial in run.trials:
        for source, name, value in _numbers(trial):
            if value is not None:
                yield {
                    "run": run.run,
                    "block": trial.block,
                    "position": trial.position,
                    "source": source,
                    "name": name,
                    "unit": "1" if source.startswith("server_status") else _unit(name),
                    "value": value,
                }


def _unit(name: str) -> str:
    return next((unit for ending, unit in _UNITS.items() if name.endswith(ending)), "1")


def _numbers(trial: ExportedTrial) -> Numbers:
    if trial.observed is not None:
        yield from _of_window(trial.observed)
    if trial.proof.server is not None:
        yield from _named("server_status_lifetime", trial.proof.server.status_delta)
    for phase, crossed in trial.phase_wire.items():
        for name, value in crossed.model_dump().items():
            yield "wire", f"{phase}_{name}", value
    if trial.burned is not None:
        for name, values in trial.burned.model_dump().items():
            yield "burn", name, sum(values) if values else None


def _of_window(window: Window) -> Numbers:
    for source, used in (("server", window.server), ("client", window.client), ("path", window.path)):
        if used is not None:
            yield from _of_process(source, used)
    yield "machine", "window_s", window.took_s
    yield "machine", "window_operations", window.operations
    yield "machine", "observers_cpu_us", window.observers_cpu_us
    if window.wire is not None:
        yield from _named("machine", window.wire.model_dump())
    yield from _ticks("machine", [one.machine for one in window.cpus], window.ticks_per_s)
    yield from _ticks("server_cpus", [one.server for one in window.cpus if one.server], window.ticks_per_s)
    yield from _named("server_status", window.status_delta)


def _of_process(source: str, used: ProcessUse) -> Numbers:
    numbers = used.model_dump(exclude={"counters"})
    yield from _named(source, {**numbers, **used.counters})


def _named(source: str, numbers: Mapping[str, float | None]) -> Numbers:
    for name, value in numbers.items():
        yield source, name, value


def _ticks(source: str, seen: list[CpuTicks], ticks_per_s: int) -> Numbers:
    """The seconds that processors spent, each second of the window added up."""
    for name in CpuTicks.model_fields if seen else ():
        yield source, f"cpu_{name}_s", sum(getattr(one, name) for one in seen) / ticks_per_s
