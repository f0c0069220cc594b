"""What a run takes of an external server, as a frozen type; a run's header has one for each."""

from __future__ import annotations

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from tlstax.contract import Frozen


class LoadStep(Frozen):
    """What so many connections brought a second before the first block, and what others ran beside them."""

    connections: PositiveInt
    per_s: NonNegativeFloat
    others_per_s: NonNegativeFloat
    took_s: PositiveFloat


class AtWork(Frozen):
    """What others were seen to do at an external server before the first block, in statements a second.

    Where that was something, the load was raised in `steps`, and of the `most` connections that a case would
    have had `taken` were. Without steps it was not to be raised, or nobody else was at work.
    """

    others_per_s: NonNegativeFloat
    most: PositiveInt
    taken: PositiveInt
    steps: tuple[LoadStep, ...] = ()


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
