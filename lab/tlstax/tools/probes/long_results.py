"""What reading long results costs the engine beside a bare loop, from a server that does nothing.

The program is `tlstax-tools bytes` (engine/crates/floor): it has both read results of one shape in slices, a
pair of neighbouring slices at a time. The pair is the unit of every interval.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from math import ceil

from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt, ValidationError

from tlstax import __version__
from tlstax.clients.choice import floor_specimen
from tlstax.clients.engine import tool_command
from tlstax.clients.process import LineProgram, ProgramFailure
from tlstax.contract import Frozen
from tlstax.observers.turn import turn
from tlstax.plan.cpu_shares import AskedCpus
from tlstax.results.document import BenchDocument
from tlstax.results.rows import Row, Told, by_label
from tlstax.run.pilot import machine_of
from tlstax.run.progress import Watcher
from tlstax.stats import stats
from tlstax.support import interruption
from tlstax.support.errors import Interrupted, MachineFault
from tlstax.topics.answer.caveats import BESIDE_ANOTHER
from tlstax.topics.core.columns import Column
from tlstax.topics.core.facts import machine_words
from tlstax.topics.core.section import Items, Section
from tlstax.topics.core.table import INDENT, Cell, Number, Table
from tlstax.topics.core.topic import TopicOf

MIB = 1 << 20
RESULT_BYTES = 16 * MIB

ROW_BYTES = (119, 10_240, 1 << 20)
"""Rows as long as sysbench's, where rows cost, and longer ones, where bytes do."""

SLICE_S, BUDGET_S = 0.2, 30.0
FEWEST_PAIRS = 2
READY_S, SPARE_S = 30.0, 30.0

CONFIDENCE = 0.95
WANTED = 0.9
"""The engine is to read as fast as that part of what a bare loop does."""

READER, RATIO = "reader", "ratio"
READER_OF_RESULTS = "the reader of results"
"""The program, as sentences call it."""


class Reading(Frozen):
    """What one side did of a slice: `sender_cpu_us` is the CPU time of the server that does nothing."""

    results: PositiveInt
    received_bytes: PositiveInt
    elapsed_s: PositiveFloat
    reader_cpu_us: PositiveFloat
    sender_cpu_us: NonNegativeFloat

    @property
    def mib(self) -> float:
        """MiB of TCP payload."""
        return self.received_bytes / MIB


class Pair(Frozen):
    """A slice of the engine's and one of the bare loop's, one after the other."""

    engine: Reading
    bare: Reading


class Shape(Frozen):
    """What each result has: N rows of M bytes."""

    rows: PositiveInt
    row_bytes: PositiveInt


Pairs = Mapping[Shape, Sequence[Pair]]

RATE, READER_CPU, SENDER_CPU = "mib_per_s", "reader_cpu_us_per_mib", "sender_cpu_us_per_mib"
OUTCOMES: dict[str, tuple[str, Callable[[Reading], float]]] = {
    RATE: ("MiB/s", lambda reading: reading.mib / reading.elapsed_s),
    READER_CPU: ("us", lambda reading: reading.reader_cpu_us / reading.mib),
    SENDER_CPU: ("us", lambda reading: reading.sender_cpu_us / reading.mib),
}
"""MiB of TCP payload a second, and the CPU time of a MiB at both ends of the connection: unit, and value."""


def rows(readings: Pairs) -> Iterator[Row]:
    """Both sides reading results of each shape, then the engine's ratios to the bare loop, within pairs."""
    for shape, pairs in readings.items():
        sides = {
            "engine": [pair.engine for pair in pairs],
            "bare": [pair.bare for pair in pairs],
        }
        case = {side: {**shape.model_dump(), "reader": side} for side in sides}
        of_shape = partial(Row, label=f"rows of {shape.row_bytes:,} B")
        values = {
            (side, outcome): [value(reading) for reading in own]
            for side, own in sides.items()
            for outcome, (_, value) in OUTCOMES.items()
        }
        for (side, outcome), own in values.items():
            if min(own) > 0:  # The clock of a sender that did little stood still.
                mean = stats.interval(stats.log_ratios([(value, 1.0) for value in own]), CONFIDENCE)
                unit = OUTCOMES[outcome][0]
                yield of_shape(role=READER, outcome=outcome, unit=unit, case=case[side], interval=mean)
        for outcome in (RATE, READER_CPU):
            both = zip(values["engine", outcome], values["bare", outcome], strict=True)
            yield of_shape(
                role=RATIO,
                outcome=outcome,
                unit=OUTCOMES[outcome][0],
                case=case["engine"],
                baseline=case["bare"],
                interval=stats.interval(stats.log_ratios([*both]), CONFIDENCE),
                of="ratio",
            )


HEADS = ("MiB/s", "reader's CPU,\nµs a MiB", "sender's CPU,\nµs a MiB")


def sections(told: Told, document: BenchDocument) -> Iterator[Section]:
    """A line for either side and for their ratio, for each length of row."""
    lines: list[tuple[Cell, ...]] = []
    for label, own in by_label(told.rows).items():
        engine, bare = (
            {
                row.outcome: Number(row.value)
                for row in own
                if (row.role, row.case["reader"]) == (READER, side)
            }
            for side in ("engine", "bare")
        )
        ratios = {row.outcome: _ratio(row) for row in own if row.role == RATIO}
        lines.append((label, *[""] * len(HEADS)))
        for name, cells, nothing in (
            ("engine", engine, Number(None)),
            ("bare", bare, Number(None)),
            ("engine to bare", ratios, ""),
        ):
            lines.append((f"{INDENT}{name}", *(cells.get(outcome, nothing) for outcome in OUTCOMES)))
    pairs = max((row.known.blocks for row in told.of(role=RATIO)), default=0)
    slices = f"{pairs} pairs of slices of {document.facts['slice_s']:g} s"
    texts = (
        f"{slices} for each length of row; intervals are of 95 %",
        machine_words(document.machine),
        *document.caveats,
    )
    yield Section((Table("", HEADS, lines, (), of="results in"), Items(texts, all_of_them=True)), TOPIC.title)


def _ratio(row: Row) -> Number:
    return Number(row.ratio.point, row.ratio.low, row.ratio.high, "{:.2f}".format, is_whole=True)


FACTS = (
    Column("budget_s", "REAL", "how long both are to read in all", "seconds"),
    Column("slice_s", "REAL", "how long a slice lasts", "seconds"),
)

TOPIC = TopicOf(
    "bytes",
    "Results of 16 MiB read from a server that does nothing, in the clear: the engine, and a bare loop",
    rows,
    sections,
)


@dataclass(frozen=True)
class BytesRequest:
    """How long to measure in all, on which CPUs; another run is waited for unless `beside_others`."""

    budget_s: float = BUDGET_S
    beside_others: bool = False
    cpus: AskedCpus = field(default_factory=AskedCpus)


def shapes() -> tuple[Shape, ...]:
    """Results of 16 MiB, in rows from short to long."""
    return tuple(Shape(rows=ceil(RESULT_BYTES / each), row_bytes=each) for each in ROW_BYTES)


def measure(request: BytesRequest, watcher: Watcher) -> BenchDocument:
    """Let both read results of each shape. Ctrl-C keeps what is complete.

    MachineFault where the program fails.
    """
    machine = machine_of(request.cpus)
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    pairs = max(FEWEST_PAIRS, int(request.budget_s / (2 * SLICE_S * len(ROW_BYTES))))
    cpus = {"server_cpus": machine.server_cpus, "client_cpus": machine.client_cpus[:1]}
    readings: dict[Shape, tuple[Pair, ...]] = {}
    interrupted = False
    with turn(watcher.warn, beside_others=request.beside_others) as mine:
        try:
            for shape in shapes():
                watcher.step(f"results of 16 MiB in rows of {shape.row_bytes:,} bytes")
                readings[shape] = tuple(_pairs(shape, pairs, cpus))
        except Interrupted:
            if not readings:
                raise
            interrupted = True
        beside_another = [BESIDE_ANOTHER] if mine.others() else []
    told = TOPIC.told(readings)
    return BenchDocument(
        bench=TOPIC.name,
        status="interrupted" if interrupted else "complete",
        started_at=started_at,
        tlstax_version=__version__,
        machine=machine,
        specimens=(floor_specimen(),),
        facts={"budget_s": request.budget_s, "slice_s": SLICE_S},
        told=told,
        caveats=(*beside_another, *slow(told), *machine.notes),
    )


def slow(told: Told) -> Iterator[str]:
    """Where the engine is surely slower than it ought to be."""
    for row in told.of(RATE, role=RATIO):
        if row.ratio.high is not None and row.ratio.high < WANTED:
            yield (
                f"results in rows of {row.case['row_bytes']:,} bytes: the engine reads less than {WANTED} of "
                "what a bare loop does, so that its own work is part of what is measured there"
            )


def _pairs(shape: Shape, pairs: int, cpus: Mapping[str, Sequence[int]]) -> Iterator[Pair]:
    asked = {**shape.model_dump(), "pairs": pairs, "slice_s": SLICE_S, **cpus}
    program = LineProgram(tool_command("bytes"), READER_OF_RESULTS)
    try:
        program.send(json.dumps(asked).encode() + b"\n")
        for _ in range(pairs):
            interruption.check()
            line = program.next_line(time.monotonic() + READY_S + SPARE_S + 4 * SLICE_S)
            yield Pair.model_validate_json(line)
    except ProgramFailure as failure:
        raise MachineFault(f"{failure}") from failure
    except ValidationError:
        said = line[:200].decode(errors="replace")
        raise MachineFault(f"{READER_OF_RESULTS} said {said}") from None
    finally:
        program.close(SPARE_S)
