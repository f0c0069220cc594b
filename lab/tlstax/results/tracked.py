"""What tools that follow figures from run to run get of a run: each figure with its interval and what ran."""

from __future__ import annotations

from tlstax.contract import Frozen
from tlstax.results.comparison import Measure
from tlstax.results.document import TrialCounts
from tlstax.results.interval import Interval
from tlstax.study import Level


class TrackedFigure(Frozen):
    """One outcome of one case: the geometric mean over its blocks with its interval, in `unit`.

    `measure` says whether that is the outcome itself or its ratio to the case's baseline, whose label is
    `baseline`; the unit of a ratio is "1". `label` names the case within its study, `negotiated` is what its
    trials negotiated.
    """

    outcome: str
    unit: str
    measure: Measure
    case: dict[str, Level]
    label: str
    baseline: str
    interval: Interval
    negotiated: str


class TrackedRun(Frozen):
    """A complete run and its figures; `ran` has the name and version of each server, library and program."""

    run: str
    study: str
    started_at: str
    tlstax_version: str
    ran: tuple[tuple[str, str], ...]
    trials: TrialCounts
    figures: tuple[TrackedFigure, ...]
