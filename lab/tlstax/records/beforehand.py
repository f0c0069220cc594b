"""What a run settled before its first block, as frozen types: CPUs, room at servers, predictions."""

from __future__ import annotations

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from tlstax.contract import Frozen
from tlstax.study import Level
from tlstax.study.factors import CaseLevels


class PilotLoad(Frozen):
    """How many CPUs a case kept busy on either side while it worked: CPU seconds a second, both above 0."""

    case: dict[str, Level]
    client_busy_cpus: float
    server_busy_cpus: float

    @property
    def client_to_server(self) -> float:
        """How many CPUs the client needs for each that the server keeps busy."""
        return self.client_busy_cpus / self.server_busy_cpus


class Pilot(Frozen):
    """The pilot of a run: the CPUs that both sides had meanwhile, and what each case used of them.

    Without `loads` nothing could be measured, and the shares stayed what they were.
    """

    server_cpus: tuple[int, ...]
    client_cpus: tuple[int, ...]
    loads: tuple[PilotLoad, ...] = ()

    @property
    def decisive(self) -> PilotLoad | None:
        """The case whose client needs most for what its server does; None where nothing was measured."""
        return max(self.loads, key=lambda load: load.client_to_server, default=None)


class LoadStep(Frozen):
    """What N machines together made of the server before the first block.

    `server_busy` is the share of its CPUs that worked in the case in which that was least; None where it is
    out of reach.
    """

    machines: int
    server_busy: float | None


class AtWorkStep(Frozen):
    """What N connections brought a second before the first block, and what others ran beside them."""

    connections: PositiveInt
    per_s: NonNegativeFloat
    others_per_s: NonNegativeFloat
    took_s: PositiveFloat


class AtWork(Frozen):
    """What others were seen to do at an external server before the first block, in statements a second.

    Where the server counts no statements, these are `transactions`.
    Where that was something, the load was raised in `steps`, and of the `most` connections that a case would
    have had `taken` were. Without steps it was not to be raised, or nobody else was at work.
    """

    others_per_s: NonNegativeFloat
    most: PositiveInt
    taken: PositiveInt
    steps: tuple[AtWorkStep, ...] = ()
    transactions: bool = Field(default=False, exclude_if=lambda are: not are)


class ExternalServer(Frozen):
    """How many connections an external server had room for, and what a run took of them.

    `server` is its level of the factor `server`, None where the study has it alone and names none.
    `in_use` were there without this run's; of what was free the run might have `at_most` at once, and was
    `promised`, by the server's own count, with the laboratory's own. Where cases have fewer connections than
    the study says, so that they can take turns, that number is `fewer_than`. A question is answered within
    `round_trip_s`. `no_plaintext` is why nobody logged in in the clear, empty where some
    did, and `no_tables` why nothing was made there that the study would have had made. `at_work` is what
    others did there, None where nobody looked.
    """

    server: str | None = None
    max_connections: int
    in_use: int
    at_most: int
    promised: int
    fewer_than: int | None = None
    round_trip_s: float = 0.0
    no_plaintext: str = ""
    no_tables: str = ""
    at_work: AtWork | None = Field(default=None, exclude_if=lambda found: found is None)


class Scaling(Frozen):
    """How parts that were measured on another machine were brought to this one.

    `run` measured a few mixes of the server here, at once on `processor`; None where none were, and the parts
    are as they were there. `server` is the one that was measured here. `mixes` were scaled to, of which the
    server's CPU time is `speed` times as long; predicted from all others, each is off by `left_out_error`
    (root mean square, relative), and from block to block by `unquiet` (standard deviation): so wide are the
    intervals.
    """

    run: str | None
    at: str
    server: str
    processor: str
    mixes: NonNegativeInt
    speed: PositiveFloat
    left_out_error: NonNegativeFloat
    unquiet: NonNegativeFloat


class PredictedOutcome(Frozen):
    """A figure in its outcome's unit, and the ends of its interval; counts have none."""

    value: float
    low: float | None = None
    high: float | None = None


class PredictedCase(Frozen):
    """What a case with these levels, among others, was predicted to cost.

    `outcomes` are by name, in their own units. Each further millisecond between client and server takes
    `round_trips` milliseconds more; None where the model does not know a part of the case, of which nothing
    is predicted. An `is_known` case is one that the parts were fitted to: it shows how fast the machine is
    now.
    """

    levels: CaseLevels
    is_known: bool = False
    round_trips: NonNegativeFloat | None = None
    outcomes: dict[str, PredictedOutcome] = {}


class Predictions(Frozen):
    """What a run's cases were predicted to cost, and from what: by version `model` of the computation.

    The parts were measured in `run`, of `server` on `processor`, `at` that time (ISO 8601);
    `scaling` says how they were brought here, None where they were measured here.
    """

    model: PositiveInt
    run: str
    at: str
    server: str
    processor: str
    scaling: Scaling | None
    cases: tuple[PredictedCase, ...] = Field(min_length=1)
