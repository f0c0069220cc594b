"""What the self-bench learns: one observation a trial, what it amounts to, and the run as a whole."""

from __future__ import annotations

from typing import Literal

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from tlstax.contract import Done, Frozen, Ready, Slice
from tlstax.records.slices import Slices
from tlstax.records.trial import Machine, ServerCpu, Specimen
from tlstax.selfbench.plan import Cell, Contestant, Trial
from tlstax.study.product import product_of

Status = Literal["complete", "interrupted", "failed"]


class Instructions(Frozen):
    """Instructions of the client over the window; `kernel` is None where only user mode may be counted."""

    user: NonNegativeInt
    kernel: NonNegativeInt | None


class InTurns(Frozen):
    """What the server counted while contestants took turns, which it cannot tell apart.

    `clients` is how many there were, `status_delta` the change of its global status counters over all their
    turns, `claims` what they say, together, that they made of each: the least and the most (None: any
    number).
    """

    clients: PositiveInt
    status_delta: dict[str, int]
    claims: dict[str, tuple[int, int | None]]


class Observation(Frozen):
    """All that one trial left behind, before it is judged.

    The window is all that a contestant does in one piece and by itself: of one that takes turns the slice
    that is `watched` before them, of any other all its work. `setup_delta` is the change of the server's
    global status counters from before the client started to its `ready`, `window_delta` over the window. At
    these moments nothing is in flight. `slices` are the turns, `beside` those two that are as long as the
    window between them; over all of them the server counted `in_turns`. `server_cpu` and
    `instructions` (None where the machine has no counters) are of the window.
    `row_mismatches` names statements whose rows were not the server's. `failure` says why the trial did not
    come to its end; empty when it did.
    """

    trial: Trial
    ready: Ready | None = None
    watched: Slice | None = None
    slices: Slices | None = None
    beside: Slices | None = None
    in_turns: InTurns | None = None
    done: Done | None = None
    setup_delta: dict[str, int] = {}
    window_delta: dict[str, int] = {}
    server_cpu: ServerCpu | None = None
    instructions: Instructions | None = None
    row_mismatches: tuple[str, ...] = ()
    failure: str = ""


class Result(Frozen):
    """A judged trial: its outcomes, or, where it was not what it claims to be, the reasons.

    `slices` are its turns, a whole window one of them, `beside` what is compared with a whole window.
    """

    trial: Trial
    outcomes: dict[str, float] = {}
    slices: Slices | None = None
    beside: Slices | None = None
    reasons: tuple[str, ...] = ()
    negotiated: str = ""
    tls_library: str = ""

    @property
    def valid(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.reasons


class ServerFacts(Frozen):
    """The server that all contestants talked to; `tls_versions` are those that it accepts."""

    name: str
    version: str
    tls_library_version: str | None
    tls_versions: str

    @property
    def mariadb(self) -> bool:
        """Whether it is a MariaDB, which does not count resumed sessions."""
        return product_of(self.version) == "mariadb"


class Absence(Frozen):
    """A contestant that was not available, and why."""

    contestant: Contestant
    why: str


class Header(Frozen):
    """What a run set out to do, known before its first trial.

    `window_s` is how long a window lasts at the least (`plan.lengths`). `why_no_instructions` is empty where
    the machine's counters were read.
    """

    started_at: str
    tlstax_version: str
    seed: NonNegativeInt
    rows: PositiveInt
    budget_s: PositiveFloat
    window_s: PositiveFloat
    cells: tuple[Cell, ...]
    machine: Machine
    specimens: tuple[Specimen, ...]
    server: ServerFacts
    absent: tuple[Absence, ...] = ()
    why_no_instructions: str = ""


class Run(Frozen):
    """A run as it ended: the results of its complete blocks, in the order of the trials.

    `why` says what made it fail; empty otherwise. `beside_another` is whether another run was measuring on
    this machine meanwhile.
    """

    header: Header
    results: tuple[Result, ...]
    status: Status = "complete"
    why: str = ""
    beside_another: bool = False
