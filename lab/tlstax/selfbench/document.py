"""The document that the self-bench prints and reads again, as frozen types; bench/README.md explains it."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, NonNegativeInt

from tlstax.contract import Frozen
from tlstax.records.trial import Machine, Specimen
from tlstax.results.interval import Interval
from tlstax.selfbench.plan import Cell, Contestant, Lengths
from tlstax.selfbench.records import ServerFacts, Status


class ContestantFigures(Frozen):
    """The outcomes of one contestant in one cell (see `outcomes.OUTCOMES`), and with what.

    None is an outcome that is not available on this machine; `tls_library` is empty in plaintext.
    """

    ops_per_s: Interval | None = None
    client_cpu_us_per_op: Interval | None = None
    client_cpu_user_us_per_op: Interval | None = None
    client_cpu_system_us_per_op: Interval | None = None
    client_instructions_per_op: Interval | None = None
    client_instructions_user_per_op: Interval | None = None
    client_instructions_kernel_per_op: Interval | None = None
    server_cpu_us_per_op: Interval | None = None
    client_cpu_share: Interval | None = None
    server_cpu_share: Interval | None = None
    negotiated: str = ""
    tls_library: str = ""


class CellFigures(Lengths, Cell):
    """A cell: every contestant (None: it has no valid trial here), and the engine's ratios to the others.

    A ratio is the engine's value over the other's, within a block; None where no block has both.
    In each block the engine and the floor had `rounds` slices of `slice_s`; sysbench worked for one window of
    `window_s`, and the engine for as long before it and after it. The ratio to the floor is the median of
    that of neighbouring slices (where there are enough, else that of totals), to sysbench that of what the
    engine did on both sides of the window. A value of its own is the median slice's, of sysbench the
    window's: ratios are not their quotients.
    """

    engine: ContestantFigures | None = None
    sysbench: ContestantFigures | None = None
    floor: ContestantFigures | None = None
    client_cpu_to_sysbench: Interval | None = None
    client_cpu_to_floor: Interval | None = None
    ops_to_sysbench: Interval | None = None
    ops_to_floor: Interval | None = None


class Rejected(Cell):
    """Trials of one contestant in one cell that were not counted for the same reason."""

    contestant: Contestant
    reason: str
    trials: int


class TrialCounts(Frozen):
    """How many trials of complete blocks came out how."""

    valid: NonNegativeInt
    invalid: NonNegativeInt
    rejected: tuple[Rejected, ...] = ()


class SelfBenchDocument(Frozen):
    """The one document that `self-bench --json` prints."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[2] = Field(default=2, alias="schema")
    status: Status
    started_at: str
    tlstax_version: str
    seed: int
    rows: int
    window_s: float
    machine: Machine
    specimens: tuple[Specimen, ...]
    server: ServerFacts
    blocks: int
    cells: tuple[CellFigures, ...]
    trials: TrialCounts
    caveats: tuple[str, ...] = ()
