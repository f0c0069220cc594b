"""A run as tables of plain columns, for programs that read SQL, CSV or Parquet: the same in all of them.

`csv_table` is what a run shows as one table (RFC 4180), for spreadsheets and statistics programs. A row is an
outcome of a case. First come cases beside their baseline (`role`: baseline, control, treatment), then the
rows of every topic, whose `role` is the topic's name where it has but one kind. A column `case_FACTOR` and
`baseline_FACTOR` has the level of each factor of the study. Numbers are values with their unit, ratios, or
differences, each with its interval; columns that a topic has of its own stand last, where they have anything.
docs/tables.md has every column.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from typing import Literal

from tlstax.records.trial import StoredRun
from tlstax.records.window import CpuTicks
from tlstax.results.document import BenchDocument, RunDocument
from tlstax.results.rows import Row, text_of
from tlstax.stats.series import BlockRow
from tlstax.stats.wording import told_by
from tlstax.study import Case, Level, Study
from tlstax.study.factor import Factor
from tlstax.study.factors import FACTORS
from tlstax.study.labels import full_label, without_mark
from tlstax.study.level_names import OPTION
from tlstax.study.outcomes import OUTCOMES
from tlstax.support.untrusted import printable
from tlstax.topics.answer.document import document
from tlstax.topics.answer.export import ExportedRun, ExportedTrial, exported
from tlstax.topics.core.columns import Column, ColumnType, Table, Value, Values
from tlstax.topics.index import own_columns

Side = Literal["case", "baseline"]
Rows = Iterator[dict[str, object]]

RUN = Column("run", "TEXT", "the run's name")
TRIAL = (
    RUN,
    Column(
        "block",
        "INTEGER",
        "the block, from 0; −1 before them is of captured trials, −2 and −3 of counted ones",
    ),
    Column("position", "INTEGER", "the trial's place in its block, from 0"),
)
"""What a trial is told by."""

ROLE = Column("role", "TEXT", "baseline, control (the baseline once more) or treatment")
LABEL = Column("label", "TEXT", "the case in the words of the report")
MACHINE = Column("machine", "TEXT", "the machine that it ran on; empty where the run has one")


def _case_columns(side: Side) -> tuple[Column, ...]:
    """A column for each factor that a study may vary: empty where a study does not."""
    ours = "" if side == "case" else "of what it is compared with: "
    return (
        *(Column(f"{side}_{own.name}", _type(own), f"{ours}{own.meaning}") for own in FACTORS.values()),
        Column(
            f"{side}_options", "TEXT", f"{ours}options of the driver that the study varies, name=level; …"
        ),
    )


def _case_values(side: Side, levels: Mapping[str, Level]) -> dict[str, Level | None]:
    """The levels in these columns; the mark of a control has none."""
    options = "; ".join(
        f"{name.removeprefix(OPTION)}={level}" for name, level in levels.items() if name.startswith(OPTION)
    )
    named = {f"{side}_{name}": level for name, level in levels.items() if name in FACTORS}
    return {**named, f"{side}_options": options or None}


def _label(levels: Mapping[str, Level], role: str, study: Study) -> str:
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


def _run_rows(of: Tabulated) -> Rows:
    run, machine = of.run, of.run.machine
    verdicts = Counter(trial.verdict for trial in run.trials)
    yield {
        "study": run.study.name,
        "external_server": run.guest,
        "machines": len(run.all_machines),
        "load_machines": len(run.load.machines) if run.load is not None else None,
        "server_cpus": len(machine.server_cpus),
        "client_cpus": len(machine.client_cpus),
        **{name: getattr(run, name) for name in OF_RUN},
        **{name: getattr(machine, name) for name in OF_MACHINE},
        **{f"{verdict}_trials": verdicts[verdict] for verdict in ("valid", "invalid", "unknown")},
    }


OF_RUN = (*("run", "started_at", "status", "stopped_because", "tlstax_version", "seed", "trial_duration_s"),)
OF_MACHINE = (
    *("cpu_model", "cores", "memory_bytes", "kernel", "distribution", "virtualization", "microcode"),
)
"""Columns that are called as the run and its first machine call them."""


TRIALS = Table(
    name="trials",
    one_row="a trial: a case, run once in a block",
    key=("run", "block", "position"),
    columns=(
        *TRIAL,
        ROLE,
        LABEL,
        Column("verdict", "TEXT", "valid, invalid or unknown; only valid trials count"),
        Column("reasons", "TEXT", "why it is not valid, joined by “; ”"),
        Column("notes", "TEXT", "caveats of a valid one, joined by “; ”"),
        Column("failure", "TEXT", "why it did not come to its end"),
        Column("profiled", "INTEGER", "1 where it was sampled with perf: then it does not count"),
        Column("captured", "INTEGER", "1 where it went through a tap: then it does not count"),
        MACHINE,
        Column("started_at", "TEXT", "when it began, ISO 8601"),
        Column("took_s", "REAL", "how long it took with all that belongs to it", "s"),
        *_case_columns("case"),
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
        *(Column(own.name, "REAL", own.words, own.unit) for own in OUTCOMES.values()),
    ),
)


def _trial_rows(of: Tabulated) -> Rows:
    for trial in of.run.trials:
        client, window = trial.proof.client, trial.proof.window
        views = [view for seen in (client.negotiated if client else ()) if (view := told_by(seen))]
        handshakes = window.handshakes if window is not None else ()
        yield {
            **_trial(of.run, trial),
            "reasons": "; ".join(trial.reasons) or None,
            "notes": "; ".join(trial.notes) or None,
            "failure": trial.failure or None,
            "profiled": trial.profiled,
            "captured": trial.captured,
            "started_at": trial.started_at,
            "took_s": trial.took_s,
            **_case_values("case", trial.case),
            "server_version": client and client.server_version,
            "client_version": client and f"{client.client} {client.client_version}",
            "client_tls_version": client and client.tls_library and client.tls_library.version,
            "tls_version": _joined(view.version for view in views),
            "tls_cipher": _joined(view.cipher for view in views),
            "tls_group": _joined(view.group for view in views if view.group),
            "window_connections": window and window.connections,
            "window_handshakes": window and sum(made.count for made in handshakes),
            "window_resumed": window and sum(made.count for made in handshakes if made.resumed),
            "errors": sum(error.count for error in trial.errors),
            **trial.outcomes,
        }


def _trial(run: ExportedRun, trial: ExportedTrial) -> dict[str, object]:
    """Which trial it is, and whether it counts."""
    return {
        "run": run.run,
        "block": trial.block,
        "position": trial.position,
        "role": trial.role,
        "label": _label(trial.case, trial.role, run.study),
        "verdict": trial.verdict,
        "machine": trial.machine or None,
    }


def _joined(words: Iterable[str]) -> str | None:
    """Each once; None where there is none."""
    return ", ".join(dict.fromkeys(words)) or None


SLICES = Table(
    name="slices",
    one_row="a slice of a trial that took turns with others: some milliseconds",
    key=("run", "block", "position", "slice"),
    columns=(
        *TRIAL,
        Column("slice", "INTEGER", "the slice's number among the trial's own, from 0"),
        ROLE,
        LABEL,
        Column("verdict", "TEXT", "the trial's: valid, invalid or unknown"),
        MACHINE,
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

_ALIKE = (
    *("operations", "finished", "elapsed_s", "latency_sum_s"),
    *("client_cpu_us", "server_cpu_us", "path_cpu_us"),
)
LISTS = {"round": "rounds", **{name: name for name in _ALIKE}, "round_s": "rounds_s"}
"""The columns, and the lists of `Slices` that hold them: most are called alike."""


def _slice_rows(of: Tabulated) -> Rows:
    """None of trials that had the servers to themselves."""
    for trial in of.run.trials:
        slices = trial.slices
        if slices is not None:
            common = {
                **_trial(of.run, trial),
                "sitting": slices.sitting,
                "lead_in": slices.lead_in,
                "length_s": slices.length_s,
            }
            columns = {name: values for name, own in LISTS.items() if (values := getattr(slices, own))}
            for number, measured in enumerate(zip(*columns.values(), strict=True)):
                yield {**common, "slice": number, **dict(zip(columns, measured, strict=True))}


MEASURED = (
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
)
"""What stands behind the cases in every table of results."""

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
        *_case_columns("case"),
        *_case_columns("baseline"),
        *MEASURED,
        *own_columns(),
    ),
)


def _finding_rows(of: Tabulated) -> Rows:
    """In the report's order."""
    for number, (row, values) in enumerate(_shown_rows(of.shown)):
        names_case = bool(without_mark(row.case))
        yield {
            "finding": number,
            **{name: None if value == "" else value for name, value in values.items()},
            "label": _label(row.case, str(values["role"]), of.shown.design) if names_case else None,
            **_case_values("case", row.case),
            **_case_values("baseline", row.baseline),
        }


def _shown_rows(shown: RunDocument) -> Iterator[tuple[Row, Values]]:
    """Each row, with its values by the names of their columns; what is not there is None or left out.

    The levels of its cases are not among them: each table has columns of its own for these.
    """
    common: Values = {"run": shown.run, "study": shown.study}
    for finding in shown.findings:
        known = finding.model_dump(include=set(Row.model_fields) - {"case", "baseline", "interval"})
        row = Row(**known, case=finding.case, baseline=finding.baseline, interval=finding.ratio, of="ratio")
        yield row, {**common, "topic": "", **_values(row)}
    for name, told in shown.topics.items():
        for row in told.rows:
            yield row, {**common, "topic": name, **_values(row), "role": row.role or name}


OF_ROW = (
    *("outcome", "unit", "role", "value", "baseline_value"),
    *("blocks", "noise_floor", "judgement", "negotiated"),
)
"""Columns that are called as rows call them."""


def _values(row: Row) -> Values:
    known = row.interval
    values: Values = {name: getattr(row, name) for name in OF_ROW}
    values["caveats"] = "; ".join(row.caveats)
    if known is not None:
        ends: Values = {row.of: known.point, f"{row.of}_low": known.low, f"{row.of}_high": known.high}
        values |= {**ends, "confidence": known.confidence}
    for name, value in row.more.items():
        if isinstance(value, bool):
            values[name] = int(value)
        elif value is not None:
            values[name] = text_of(value) if isinstance(value, tuple) else value
    return values


OBSERVATIONS = Table(
    name="observations",
    one_row="a number that was watched of a trial",
    key=("run", "block", "position", "source", "name"),
    columns=(
        *TRIAL,
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

UNITS = {"_us": "us", "_ns": "ns", "_s": "s", "_bytes": "B", "bytes_sent": "B", "bytes_received": "B"}


def _observation_rows(of: Tabulated) -> Rows:
    """What could not be watched has none."""
    for trial in of.run.trials:
        place = {"run": of.run.run, "block": trial.block, "position": trial.position}
        for source, numbers in _watched(trial):
            for name, value in numbers.items():
                unit = next((unit for ending, unit in UNITS.items() if name.endswith(ending)), "1")
                unit = "1" if source.startswith("server_status") else unit
                if value is not None:
                    yield {**place, "source": source, "name": name, "unit": unit, "value": value}


def _watched(trial: ExportedTrial) -> Iterator[tuple[str, Mapping[str, float | None]]]:
    """Numbers by name, source by source."""
    window = trial.observed
    if window is not None:
        for source, used in (("server", window.server), ("client", window.client), ("path", window.path)):
            if used is not None:
                yield source, {**used.model_dump(exclude={"counters", "cpu_source"}), **used.counters}
        yield (
            "machine",
            {
                "window_s": window.took_s,
                "window_operations": window.operations,
                "observers_cpu_us": window.observers_cpu_us,
                **(window.wire.model_dump() if window.wire is not None else {}),
                **_seconds([part.machine for part in window.cpus], window.ticks_per_s),
            },
        )
        servers = [part.server for part in window.cpus if part.server]
        yield "server_cpus", _seconds(servers, window.ticks_per_s)
        yield "server_status", window.status_delta
    if trial.proof.server is not None:
        yield "server_status_lifetime", trial.proof.server.status_delta
    for phase, crossed in trial.phase_wire.items():
        yield "wire", {f"{phase}_{name}": value for name, value in crossed.model_dump().items()}
    if trial.burned is not None:
        burned = trial.burned.model_dump().items()
        yield "burn", {name: sum(values) if values else None for name, values in burned}


def _seconds(ticks: Sequence[CpuTicks], ticks_per_s: int) -> dict[str, float]:
    """The seconds that processors spent, each second of the window added up."""
    names = CpuTicks.model_fields if ticks else ()
    return {f"cpu_{name}_s": sum(getattr(own, name) for own in ticks) / ticks_per_s for name in names}


TABLES: Mapping[str, Table] = {table.name: table for table in (RUNS, TRIALS, SLICES, FINDINGS, OBSERVATIONS)}


@dataclass(frozen=True)
class Tabulated:
    """A run whose rows are asked for, table by table; `known` is what it shows, where that is known."""

    stored: StoredRun
    known: RunDocument | None = None

    def rows(self, table: str) -> Iterator[Values]:
        """The rows of the table of that name. MachineFault where a stored histogram cannot be decoded."""
        return TABLES[table].checked(ROWS[table](self))

    @cached_property
    def run(self) -> ExportedRun:
        """The run with all its trials, as one document."""
        return exported(self.stored)

    @cached_property
    def shown(self) -> RunDocument:
        """What it shows."""
        return self.known or document(self.stored)


ROWS: Mapping[str, Callable[[Tabulated], Rows]] = {
    "runs": _run_rows,
    "trials": _trial_rows,
    "slices": _slice_rows,
    "findings": _finding_rows,
    "observations": _observation_rows,
}


def rows_csv(table: Table, rows: Iterable[Values]) -> str:
    """A line of names, then one for each row; what is not there is empty."""
    return _csv([column.name for column in table.columns], rows, end="\n")


def _csv(names: Sequence[str], rows: Iterable[Mapping[str, Value]], *, end: str = "\r\n") -> str:
    text = StringIO()
    writer = csv.DictWriter(text, names, lineterminator=end)
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _harmless(value) for name, value in row.items() if value is not None})
    return text.getvalue()


def rows_json(rows: Iterable[Values]) -> str:
    """A list with an object for each row, each on a line of its own."""
    return "[\n" + ",\n".join(line.decode() for line in json_lines(rows)) + "\n]\n"


def json_lines(rows: Iterable[Values]) -> Iterator[bytes]:
    """An object for each row, without line ends."""
    for row in rows:
        yield json.dumps(row, ensure_ascii=False, allow_nan=False).encode()


def csv_table(shown: RunDocument) -> str:
    """All that the document shows, as CSV."""
    factors = [f"{side}_{name}" for side in ("case", "baseline") for name in shown.design.levels_of()]
    return _results(_shown_rows(shown), ("run", "study", "topic"), factors, own_columns())


def bench_table(document: BenchDocument, columns: Iterable[Column]) -> str:
    """All rows of a bench, whose own columns are these, as CSV."""
    rows = document.told.rows
    common: Values = {"bench": document.bench, "started_at": document.started_at}
    factors = [
        *dict.fromkeys(f"case_{name}" for row in rows for name in row.case),
        *dict.fromkeys(f"baseline_{name}" for row in rows for name in row.baseline),
    ]
    shown = ((row, {**common, **_values(row), "label": row.label}) for row in rows)
    return _results(shown, common, ("label", *factors), columns)


def _results(
    shown: Iterable[tuple[Row, Values]],
    first: Iterable[str],
    factors: Iterable[str],
    own: Iterable[Column],
) -> str:
    """Rows below the names of their columns; of topics' `own` columns those that have anything."""
    rows = [
        {
            **values,
            **{f"case_{name}": level for name, level in without_mark(row.case).items()},
            **{f"baseline_{name}": level for name, level in without_mark(row.baseline).items()},
        }
        for row, values in shown
    ]
    measured = [column.name for column in MEASURED]
    known = [column.name for column in own if any(row.get(column.name) is not None for row in rows)]
    return _csv([*first, "outcome", "unit", "role", *factors, *measured, *known], rows)


FORMULA_STARTS = ("=", "+", "-", "@")
"""A text that begins with one of these is run as a formula by spreadsheets."""


def _harmless(value: Value) -> Value:
    """The value; text from a server or a client must not become a formula."""
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


DIGITS = 6
"""Significant digits: rounding is then far below the scatter of any trial."""


def blocks_csv(rows: Sequence[BlockRow], outcomes: Sequence[str]) -> str:
    """The rows with a column for each factor that varies among them, and two for each outcome.

    The second is named for the outcome with `_ratio`: to the baseline of the same block. What was not
    measured is empty. Blocks count from 1.
    """
    names = sorted({name for row in rows for name in row.levels})
    factors = [name for name in names if len({row.levels.get(name) for row in rows}) > 1]
    several = any(row.machine for row in rows)
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = [column for name in outcomes for column in (name, f"{name}_ratio")]
    writer.writerow(["role", *factors, *(["machine"] if several else []), "block", *columns])
    for row in rows:
        levels = [row.levels.get(factor, "") for factor in factors]
        machine = [row.machine] if several else []
        measured = [
            f"{known[name]:.{DIGITS}g}" if name in known else ""
            for name in outcomes
            for known in (row.values, row.ratios)
        ]
        writer.writerow([row.role, *levels, *machine, row.block + 1, *measured])
    return text.getvalue()
