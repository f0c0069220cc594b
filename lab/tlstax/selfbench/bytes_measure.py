"""The engine and a bare loop reading results of 16 MiB in turn, from a server that does nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import ceil

from pydantic import ValidationError

from tlstax import __version__
from tlstax.clients.engine import tool_command
from tlstax.clients.floor import floor_specimen
from tlstax.clients.program import LineProgram, ProgramFailure
from tlstax.observers.turn import turn
from tlstax.plan.cpu_shares import AskedCpus
from tlstax.run.cpus import machine_of
from tlstax.selfbench.bytes_document import BytesDocument, BytesHeader, Pair, Shape
from tlstax.selfbench.bytes_estimate import document
from tlstax.selfbench.records import Status
from tlstax.support import interruption
from tlstax.support.errors import Interrupted, MachineFault

RESULT_BYTES = 16 << 20

ROW_BYTES = (119, 10_240, 1 << 20)
"""Rows as long as sysbench's, where rows cost, and longer ones, where bytes do."""

SLICE_S, BUDGET_S = 0.2, 30.0
FEWEST_PAIRS = 2
READY_S, SPARE_S = 30.0, 30.0

Say = Callable[[str], None]


@dataclass(frozen=True)
class BytesRequest:
    """How long to measure in all, on which CPUs; another run is waited for unless `beside_others`."""

    budget_s: float = BUDGET_S
    beside_others: bool = False
    cpus: AskedCpus = field(default_factory=AskedCpus)


def shapes() -> tuple[Shape, ...]:
    """Results of 16 MiB, in rows from short to long."""
    return tuple(Shape(rows=ceil(RESULT_BYTES / each), row_bytes=each) for each in ROW_BYTES)


def measure(request: BytesRequest, say: Say, warn: Say) -> BytesDocument:
    """Let both read results of each shape. Ctrl-C keeps what is complete.

    `say` hears the steps, `warn` what the user should know. MachineFault where the program fails.
    """
    machine = machine_of(request.cpus)
    header = BytesHeader(
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        tlstax_version=__version__,
        slice_s=SLICE_S,
        machine=machine,
        specimens=(floor_specimen(),),
    )
    pairs = max(FEWEST_PAIRS, int(request.budget_s / (2 * SLICE_S * len(ROW_BYTES))))
    found: dict[Shape, tuple[Pair, ...]] = {}
    interrupted = False
    with turn(warn, beside_others=request.beside_others) as mine:
        try:
            for shape in shapes():
                say(f"results of 16 MiB in rows of {shape.row_bytes:,} bytes")
                cpus = {"server_cpus": machine.server_cpus, "client_cpus": machine.client_cpus[:1]}
                found[shape] = tuple(_pairs(shape, pairs, cpus))
        except Interrupted:
            if not found:
                raise
            interrupted = True
        beside_another = mine.others()
    status: Status = "interrupted" if interrupted else "complete"
    return document(header, found, status, beside_another=beside_another)


def _pairs(shape: Shape, pairs: int, cpus: Mapping[str, Sequence[int]]) -> Iterator[Pair]:
    asked = {**shape.model_dump(), "pairs": pairs, "slice_s": SLICE_S, **cpus}
    try:
        with closing(_Program()) as program:
            program.ask(asked)
            for _ in range(pairs):
                interruption.check()
                yield program.pair()
    except ProgramFailure as failure:
        raise MachineFault(f"{failure}") from failure


class _Program:
    """`tlstax-tools bytes`, to be closed in the end."""

    def __init__(self) -> None:
        self._program = LineProgram(tool_command("bytes"), "the reader of results")

    def ask(self, asked: Mapping[str, object]) -> None:
        self._program.send(json.dumps(asked).encode() + b"\n")

    def pair(self) -> Pair:
        line = self._program.next_line(time.monotonic() + READY_S + SPARE_S + 4 * SLICE_S)
        try:
            return Pair.model_validate_json(line)
        except ValidationError:
            raise ProgramFailure(
                f"the reader of results said {line[:200].decode(errors='replace')}"
            ) from None

    def close(self) -> None:
        self._program.close(SPARE_S)
