"""What a file of many authorities costs each connect of a client, as frozen types."""

from __future__ import annotations

from pydantic import NonNegativeFloat, PositiveInt

from tlstax.contract import Frozen
from tlstax.results.interval import Interval, Judgement
from tlstax.study import Level


class TrustCost(Frozen):
    """A client with so many authorities in its file, against those `needed`: what each connect takes more.

    `reads` is how often the file was read for a connect, from the bytes that the client read from files; None
    where the kernel did not count them. `more_us` is of the mean time of an operation, a connect with one
    statement, `judgement` of that, and `more_cpu_us` of the client's CPU time.
    """

    case: dict[str, Level]
    label: str
    authorities: PositiveInt
    needed: PositiveInt = 1
    reads: NonNegativeFloat | None
    more_us: Interval | None
    more_cpu_us: Interval | None
    judgement: Judgement | None
