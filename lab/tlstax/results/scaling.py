"""How a server's throughput grows with connections or processors, as frozen types."""

from __future__ import annotations

from tlstax.contract import Frozen
from tlstax.results.interval import Interval
from tlstax.study import Level


class Scaling(Frozen):
    """The Universal Scalability Law of one case, over the sizes of `factor`.

    `case` lacks that factor. `single_per_s` is the throughput of one by the law, `contention` its σ and
    `coherence` its κ, each with an interval over blocks, in each of which the law was fitted by itself.
    `peak` is the size at which throughput is highest, None unless the coherence is told apart from nothing.
    `misfit` is how far the mean throughput of any size is off the law, relative: 0.02 is 2 %.
    """

    case: dict[str, Level]
    label: str
    factor: str
    sizes: tuple[int, ...]
    single_per_s: Interval
    contention: Interval
    coherence: Interval
    peak: float | None
    misfit: float
