"""What drivers did when given no TLS options: did they encrypt, and with what. Pure.

It is the server's word, asked on each connection before anything was measured, and not the driver's manual.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tlstax.contract import TlsView
from tlstax.findings.core.outcomes import is_statement
from tlstax.findings.core.series import Frozen, Series, frozen
from tlstax.findings.core.stats import geometric_mean
from tlstax.records.trial import TrialRecord
from tlstax.results.drivers import DriverDefault, Encrypts
from tlstax.study import Case, Levels, Study
from tlstax.study.case_levels import CaseLevels
from tlstax.study.client_kinds.known import kind_of
from tlstax.study.labels import driver_label, driver_words, shared_options
from tlstax.study.level_names import UNSET


@dataclass(frozen=True)
class Observed:
    """What the server reported of the connections of a case's valid trials."""

    encrypts: Encrypts
    negotiated: tuple[str, ...]
    trials: int
    commands_per_op: dict[str, float] = field(default_factory=dict)


def observed(records: Iterable[TrialRecord]) -> dict[Frozen, Observed]:
    """For each case (controls with their baseline) with a valid trial whose connections were asked."""
    views: dict[Frozen, list[TlsView | None]] = {}
    trials: dict[Frozen, list[TrialRecord]] = {}
    for record in records:
        if record.verdict.value == "valid" and record.ready is not None and record.ready.negotiated:
            at = frozen(record.trial.case.levels)
            views.setdefault(at, []).extend(seen.server for seen in record.ready.negotiated)
            trials.setdefault(at, []).append(record)
    return {at: _observed(seen, trials[at]) for at, seen in views.items()}


def driver_defaults(series: Series, observations: Mapping[Frozen, Observed]) -> tuple[DriverDefault, ...]:
    """Every case of a driver that was left alone and has a valid trial, in the plan's order."""
    return tuple(
        _default(series, case, observations[frozen(case.levels)])
        for case in series.cases.values()
        if is_left_alone(case) and frozen(case.levels) in observations
    )


def is_left_alone(case: Case) -> bool:
    """Whether the case has a driver that is given no TLS options but its own."""
    return case.typed.tls == UNSET and kind_of(case.typed.client).is_driver


def own_options(levels: Levels, study: Study) -> Mapping[str, str]:
    """The options of this case that not all cases of the study have alike."""
    shared = shared_options(study)
    return CaseLevels.of({name: level for name, level in levels.items() if name not in shared}).options


def _default(series: Series, case: Case, observed: Observed) -> DriverDefault:
    blocks = series.values.get(frozen(case.levels), {})
    statements = [values["statements_per_op"] for values in blocks.values() if "statements_per_op" in values]
    return DriverDefault(
        case=dict(case.levels),
        driver=driver_words(case.levels, series.study),
        label=driver_label(case, series.study),
        as_it_is=not own_options(case.levels, series.study),
        trials=observed.trials,
        encrypts=observed.encrypts,
        negotiated=observed.negotiated,
        statements_per_op=geometric_mean(statements) if statements else None,
        commands_per_op=observed.commands_per_op if statements else {},
    )


def _observed(views: Sequence[TlsView | None], trials: Sequence[TrialRecord]) -> Observed:
    encrypted = [view for view in views if view is not None]
    some: Encrypts = "sometimes" if len(encrypted) < len(views) else "always"
    return Observed(
        encrypts=some if encrypted else "never",
        negotiated=tuple(dict.fromkeys(f"{view.version} {view.cipher}" for view in encrypted)),
        trials=len(trials),
        commands_per_op=_commands(trials),
    )


def _commands(trials: Sequence[TrialRecord]) -> dict[str, float]:
    """The server's counters of commands over all windows, for each operation in them."""
    counted: Counter[str] = Counter()
    operations = 0
    for record in trials:
        if record.window is not None and record.done is not None:
            operations += record.watched_operations
            counted.update({n: x for n, x in record.window.status_delta.items() if is_statement(n)})
    if not operations:
        return {}
    return {name.removeprefix("Com_"): times / operations for name, times in counted.most_common()}
