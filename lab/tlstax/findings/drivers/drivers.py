"""All that a run shows of drivers: their defaults, what an upgrade costs, how they warmed up."""

from __future__ import annotations

from collections.abc import Sequence

from tlstax.findings.core.series import Series
from tlstax.findings.drivers.defaults import driver_defaults, observed
from tlstax.findings.drivers.split import driver_splits
from tlstax.findings.drivers.warmup import driver_warmups, restless
from tlstax.records.trial import TrialRecord
from tlstax.results.drivers import Drivers
from tlstax.study import Study


def drivers(series: Series, records: Sequence[TrialRecord]) -> Drivers | None:
    """None for a run that has no driver to report on."""
    observations = observed(records)
    shown = Drivers(
        defaults=driver_defaults(series, observations),
        splits=driver_splits(series, observations),
        warmups=driver_warmups(series.study, records),
    )
    return shown if shown != Drivers() else None


def caveats_of_drivers(study: Study, shown: Drivers | None) -> tuple[str, ...]:
    """What to bear in mind about drivers that were measured before they were steady."""
    return tuple(restless(study, shown.warmups)) if shown is not None else ()
