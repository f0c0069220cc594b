"""A run as tables of plain columns, for programs that read SQL, CSV or Parquet: the same in all of them."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from typing import Literal

from tlstax.contract import TlsView
from tlstax.findings.core.wording import told_by
from tlstax.records.slices import Slices
from tlstax.records.trial import StoredRun
from tlstax.records.window import CpuTicks, ProcessUse, Window
from tlstax.report.formats.csv_table import harmless, shown_rows
from tlstax.results.document import RunDocument
from tlstax.results.exported_run import ExportedRun, ExportedTrial
from tlstax.study import Case, Level, Study
from tlstax.study.factor import Factor
from tlstax.study.factors import FACTORS
from tlstax.study.labels import full_label, without_mark
from tlstax.study.level_names import OPTION
from tlstax.study.outcomes import OUTCOMES
from tlstax.topics.answer.document import document
from tlstax.topics.answer.export import exported
from tlstax.topics.core.columns import Column, ColumnType, Table, Values
from tlstax.topics.index import own_columns

Side = Literal["case", "baseline"]

RUN = Column("run", "TEXT", "the run's name")
BLOCK = Column(
    "block", "INTEGER", "the block, from 0; −1 before them is of captured trials, −2 and −3 of counted ones"
)
POSITION = Column("position", "INTEGER", "the trial's place in its block, from 0")
ROLE = Column("role", "TEXT", "baseline, control (the baseline once more) or treatment")
LABEL = Column("label", "TEXT", "the case in the words of the report")


def case_columns(side: Side) -> tuple[Column, ...]:
    """A column for each factor that a study may vary: empty where a study does not."""
    ours = "" if side == "case" else "of what it is compared with: "
    return (
        *(Column(f"{side}_{one.name}", _type(one), f"{ours}{one.meaning}") for one in FACTORS.values()),
        Column(
            f"{side}_options", "TEXT", f"{ours}options of the driver that the study varies, name=level; …"
        ),
    )


def case_values(side: Side, levels: Mapping[str, Level]) -> dict[str, Level | None]:
    """The levels in these columns; the mark of a control has none."""
    options = "; ".join(
        f"{name.removeprefix(OPTION)}={level}" for name, level in levels.items() if name.startswith(OPTION)
    )
    named = {f"{side}_{name}": level for name, level in levels.items() if name in FACTORS}
    return {**named, f"{side}_options": options or None}


def label_of(levels: Mapping[str, Level], role: str, study: Study) -> str:
    """What the report calls a case, which may lack levels that it was pooled over."""
    case = Case(levels=without_mark(levels), role="control" if role == "control" else "treatment")
    return full_label(case, study)


def _type(factor: Factor) -> ColumnType:
    if not factor.is_number:
        return "TEXT"
    return "REAL" if factor.form == "decimal" else "INTEGER"


RUNS = Table(
    name="runs",
    one_row="a run",
    key=("run",),
    columns=(
        RUN,
        Column("study", "TEXT", "the study's name"),
        Column("started_at", "TEXT", "when it began, ISO 8601"),
        Column("status", "TEXT", "running, complete, interrupted or failed"),
        Column("stopped_because", "TEXT", "why it ended"),
        Column("tlstax_version", "TEXT", "the version that measured"),
        Column("seed", "TEXT", "the seed of its order and random choices, a whole number of any size"),
        Column("trial_duration_s", "REAL", "how long a trial was to last", "s"),
        Column("external_server", "INTEGER", "1 where a server was not started by tlstax"),
        Column("machines", "INTEGER", "on how many machines blocks were measured"),
        Column("load_machines", "INTEGER", "how many machines the load came from; empty: no others"),
        Column("cpu_model", "TEXT", "the processor, of the first machine as all that follows"),
        Column("cores", "INTEGER", "logical processors"),
        Column("memory_bytes", "INTEGER", "memory", "B"),
        Column("kernel", "TEXT", "the kernel's version"),
        Column("distribution", "TEXT", "the operating system"),
        Column("virtualization", "TEXT", "what virtualises the machine; empty: nothing that was seen"),
        Column("microcode", "TEXT", "the processor's microcode"),
        Column("server_cpus", "INTEGER", "how many processors the server was pinned to; 0: not pinned"),
        Column("client_cpus", "INTEGER", "how many processors the client was pinned to; 0: not pinned"),
        Column("valid_trials", "INTEGER", "trials that were what they claim to be"),
        Column("invalid_trials", "INTEGER", "trials that were not"),
        Column("unknown_trials", "INTEGER", "trials of which that is not known"),
    ),
)


def run_row(run: ExportedRun) -> dict[str, object]:
    """The run's row."""
    machine = run.machine
    verdicts = Counter(trial.verdict for trial in run.trials)
    return {
        "run": run.run,
        "study": run.study.name,
        "started_at": run.started_at,
        "status": run.status,
        "stopped_because": run.stopped_because,
        "tlstax_version": run.tlstax_version,
        "seed": run.seed,
        "trial_duration_s": run.trial_duration_s,
        "external_server": run.guest,
        "machines": len(run.all_machines),
        "load_machines": len(run.load.machines) if run.load is not None else None,
        "cpu_model": machine.cpu_model,
        "cores": machine.cores,
        "memory_bytes": machine.memory_bytes,
        "kernel": machine.kernel,
        "distribution": machine.distribution,
        "virtualization": machine.virtualization,
        "microcode": machine.microcode,
        "server_cpus": len(machine.server_cpus),
        "client_cpus": len(machine.client_cpus),
        **{f"{verdict}_trials": verdicts[verdict] for verdict in ("valid", "invalid", "unknown")},
    }


TRIALS = Table(
    name="trials",
    one_row="a trial: a case, run once in a block",
    key=("run", "block", "position"),
    columns=(
        RUN,
        BLOCK,
        POSITION,
        ROLE,
        LABEL,
        Column("verdict", "TEXT", "valid, invalid or unknown; only valid trials count"),
        Column("reasons", "TEXT", "why it is not valid, joined by “; ”"),
        Column("notes", "TEXT", "caveats of a valid one, joined by “; ”"),
        Column("failure", "TEXT", "why it did not come to its end"),
        Column("profiled", "INTEGER", "1 where it was sampled with perf: then it does not count"),
        Column("captured", "INTEGER", "1 where it went through a tap: then it does not count"),
        Column("machine", "TEXT", "the machine that it ran on; empty where the run has one"),
        Column("started_at", "TEXT", "when it began, ISO 8601"),
        Column("took_s", "REAL", "how long it took with all that belongs to it", "s"),
        *case_columns("case"),
        Column("server_version", "TEXT", "the version that the server said"),
        Column("client_version", "TEXT", "the load client and its version"),
        Column("client_tls_version", "TEXT", "what the client's TLS library said of itself"),
        Column("tls_version", "TEXT", "the version that was negotiated; empty: plaintext, or not known"),
        Column("tls_cipher", "TEXT", "the cipher suite that was negotiated"),
        Column("tls_group", "TEXT", "the key exchange group that was negotiated"),
        Column("window_connections", "INTEGER", "connections opened while it was measured"),
        Column("window_handshakes", "INTEGER", "TLS handshakes made while it was measured"),
        Column("window_resumed", "INTEGER", "those of them that resumed a session"),
        Column("errors", "INTEGER", "errors that the client met"),
        *(Column(one.name, "REAL", one.words, one.unit) for one in OUTCOMES.values()),
    ),
)


def trial_rows(run: ExportedRun) -> Iterator[dict[str, object]]:
    """A row for each trial, in the run's order."""
    for trial in run.trials:
        yield {
            **trial_place(run, trial),
            "reasons": "; ".join(trial.reasons) or None,
            "notes": "; ".join(trial.notes) or None,
            "failure": trial.failure or None,
            "profiled": trial.profiled,
            "captured": trial.captured,
            "started_at": trial.started_at,
            "took_s": trial.took_s,
            **case_values("case", trial.case),
            **_proved(trial),
            **trial.outcomes,
        }


def trial_place(run: ExportedRun, trial: ExportedTrial) -> dict[str, object]:
    """Which trial it is, and whether it counts."""
    return {
        "run": run.run,
        "block": trial.block,
        "position": trial.position,
        "role": trial.role,
        "label": label_of(trial.case, trial.role, run.study),
        "verdict": trial.verdict,
        "machine": trial.machine or None,
    }


def _proved(trial: ExportedTrial) -> dict[str, object]:
    client, window = trial.proof.client, trial.proof.window
    views = [view for seen in (client.negotiated if client else ()) if (view := told_by(seen))]
    handshakes = window.handshakes if window is not None else ()
    return {
        "server_version": client and client.server_version,
        "client_version": client and f"{client.client} {client.client_version}",
        "client_tls_version": client and client.tls_library and client.tls_library.version,
        "tls_version": _joined(view.version for view in views),
        "tls_cipher": _joined(view.cipher for view in views),
        "tls_group": _joined(_groups(views)),
        "window_connections": window and window.connections,
        "window_handshakes": window and sum(one.count for one in handshakes),
        "window_resumed": window and sum(one.count for one in handshakes if one.resumed),
        "errors": sum(one.count for one in trial.errors),
    }


def _groups(views: Iterable[TlsView]) -> Iterator[str]:
    return (view.group for view in views if view.group)


def _joined(words: Iterable[str]) -> str | None:
    """Each once; None where there is none."""
    return ", ".join(dict.fromkeys(words)) or None


SLICES = Table(
    name="slices",
    one_row="a slice of a trial that took turns with others: some milliseconds",
    key=("run", "block", "position", "slice"),
    columns=(
        RUN,
        BLOCK,
        POSITION,
        Column("slice", "INTEGER", "the slice's number among the trial's own, from 0"),
        ROLE,
        LABEL,
        Column("verdict", "TEXT", "the trial's: valid, invalid or unknown"),
        Column("machine", "TEXT", "the machine that it ran on; empty where the run has one"),
        Column("sitting", "INTEGER", "trials of a block with the same one took turns"),
        Column("round", "INTEGER", "slices of one round are neighbours in time"),
        Column("lead_in", "INTEGER", "after how many operations what follows begins; empty: with the slice"),
        Column("length_s", "REAL", "how long the slice was to last", "s"),
        Column("operations", "REAL", "operations, by the part of each that lies within"),
        Column("finished", "INTEGER", "all operations that were finished, the slice's ends included"),
        Column("elapsed_s", "REAL", "how long it lasted; 0: over before it was at work", "s"),
        Column("latency_sum_s", "REAL", "the latencies of these operations, added up", "s"),
        Column("client_cpu_us", "REAL", "the client's CPU time", "us"),
        Column("server_cpu_us", "REAL", "the server's CPU time; empty: out of reach", "us"),
        Column("path_cpu_us", "REAL", "CPU time of the programs between them; empty: none", "us"),
        Column("round_s", "REAL", "the time of a storm's round, without closing; empty: no storm", "s"),
    ),
)

_LISTS = {
    "round": "rounds",
    "operations": "operations",
    "finished": "finished",
    "elapsed_s": "elapsed_s",
    "latency_sum_s": "latency_sum_s",
    "client_cpu_us": "client_cpu_us",
    "server_cpu_us": "server_cpu_us",
    "path_cpu_us": "path_cpu_us",
    "round_s": "rounds_s",
}
"""The columns, and the lists of `Slices` that hold them."""


def slice_rows(run: ExportedRun) -> Iterator[dict[str, object]]:
    """A row for each slice, trial after trial; none of trials that had the servers to themselves."""
    for trial in run.trials:
        if trial.slices is None:
            continue
        common = {
            **trial_place(run, trial),
            "sitting": trial.slices.sitting,
            "lead_in": trial.slices.lead_in,
            "length_s": trial.slices.length_s,
        }
        for number, measured in enumerate(_each(trial.slices)):
            yield {**common, "slice": number, **measured}


def _each(slices: Slices) -> Iterator[dict[str, float]]:
    lists = {name: getattr(slices, column) for name, column in _LISTS.items()}
    filled = {name: values for name, values in lists.items() if values}
    for values in zip(*filled.values(), strict=True):
        yield dict(zip(filled, values, strict=True))


FINDINGS = Table(
    name="findings",
    one_row="a finding: an outcome of a case beside what it is compared with",
    key=("run", "finding"),
    columns=(
        RUN,
        Column("finding", "INTEGER", "its number in the run's report, from 0"),
        Column("study", "TEXT", "the study's name"),
        Column("topic", "TEXT", "the topic of the report that has it; empty: a case beside its baseline"),
        Column(
            "role",
            "TEXT",
            "what kind of row it is: baseline, control and treatment are cases beside the baseline; "
            "contrast, pooled, storm, distance and others as in `report --format csv`",
        ),
        LABEL,
        Column("outcome", "TEXT", "what is compared; `trials` has a column of this name for most of them"),
        Column("unit", "TEXT", "the unit of value and baseline_value"),
        *case_columns("case"),
        *case_columns("baseline"),
        Column(
            "value",
            "REAL",
            "the case's value: baseline_value times ratio where there is one, else as a rule the geometric "
            "mean over blocks",
            "that of `unit`",
        ),
        Column("value_low", "REAL", "the low end of its interval, where it has one", "that of `unit`"),
        Column("value_high", "REAL", "the high end of it", "that of `unit`"),
        Column("baseline_value", "REAL", "the same of what it is compared with", "that of `unit`"),
        Column("ratio", "REAL", "how many times the baseline's it is", "1"),
        Column("ratio_low", "REAL", "the low end of the ratio's interval; empty: one block", "1"),
        Column("ratio_high", "REAL", "the high end of it", "1"),
        Column("difference", "REAL", "how much more it is than the baseline's", "that of `unit`"),
        Column("difference_low", "REAL", "the low end of its interval", "that of `unit`"),
        Column("difference_high", "REAL", "the high end of it", "that of `unit`"),
        Column("confidence", "REAL", "the confidence of the interval: 0.95 is 95 %", "1"),
        Column("blocks", "INTEGER", "from how many blocks it is"),
        Column(
            "noise_floor", "REAL", "the relative difference below which nothing can be told: 0.02 is 2 %", "1"
        ),
        Column("judgement", "TEXT", "higher, lower, alike (within the study's alike_within) or inconclusive"),
        Column("negotiated", "TEXT", "what the case's trials negotiated"),
        Column("caveats", "TEXT", "what to bear in mind, joined by “; ”"),
        *own_columns(),
    ),
)


def finding_rows(found: RunDocument) -> Iterator[dict[str, object]]:
    """A row for each finding, in the report's order."""
    for number, (row, values) in enumerate(shown_rows(found)):
        names_case = bool(without_mark(row.case))
        yield {
            "finding": number,
            **{name: None if value == "" else value for name, value in values.items()},
            "label": label_of(row.case, str(values["role"]), found.design) if names_case else None,
            **case_values("case", row.case),
            **case_values("baseline", row.baseline),
        }


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


TABLES: Mapping[str, Table] = {table.name: table for table in (RUNS, TRIALS, SLICES, FINDINGS, OBSERVATIONS)}


@dataclass(frozen=True)
class Tabulated:
    """A run whose rows are asked for, table by table; `known` is what it shows, where that is known."""

    stored: StoredRun
    known: RunDocument | None = None

    def rows(self, table: str) -> Iterator[Values]:
        """The rows of the table of that name. MachineFault where a stored histogram cannot be decoded."""
        return TABLES[table].checked(_ROWS[table](self))

    @cached_property
    def run(self) -> ExportedRun:
        """The run with all its trials, as one document."""
        return exported(self.stored)

    @cached_property
    def found(self) -> RunDocument:
        """What it shows."""
        return self.known or document(self.stored)


_ROWS: Mapping[str, Callable[[Tabulated], Iterator[dict[str, object]]]] = {
    "runs": lambda one: iter([run_row(one.run)]),
    "trials": lambda one: trial_rows(one.run),
    "slices": lambda one: slice_rows(one.run),
    "findings": lambda one: finding_rows(one.found),
    "observations": lambda one: observation_rows(one.run),
}


def rows_csv(table: Table, rows: Iterable[Values]) -> str:
    """A line of names, then one for each row; what is not there is empty."""
    text = StringIO()
    writer = csv.DictWriter(text, [column.name for column in table.columns], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: harmless(value) for name, value in row.items()} for row in rows)
    return text.getvalue()


def rows_json(rows: Iterable[Values]) -> str:
    """A list with an object for each row, each on a line of its own."""
    return "[\n" + ",\n".join(line.decode() for line in json_lines(rows)) + "\n]\n"


def json_lines(rows: Iterable[Values]) -> Iterator[bytes]:
    """An object for each row, without line ends."""
    for row in rows:
        yield json.dumps(row, ensure_ascii=False, allow_nan=False).encode()
