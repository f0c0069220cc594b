"""What connecting and an insert cost with a driver: the study that measures it, and its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from tlstax.contract import Frozen
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.stats import stats
from tlstax.stats.series import Blocks, series_of
from tlstax.study import Exclusion, Level, Study
from tlstax.study.level_names import OPTION
from tlstax.tools.probes.drivers.probed import Cost, Way

NAME = "drivers"
CONNECT, STATEMENT = "reconnect", "words-insert"
"""The workloads: connecting for each query; and single inserts on a connection that is kept."""

PLAIN, ENCRYPTED = "off", "default"
"""Levels of `tls`: none, or what the driver and the server agree on when it is required."""

PRECISION = 0.05
ROWS = 1_000
CONFIDENCE = 0.95


class Measurable(Frozen):
    """A driver whose costs can be measured: its name, how it logs in, and whether it can encrypt here."""

    name: str
    auth: str = "default"
    encrypts: bool = True


class DriverCosts(Frozen):
    """The costs of one driver; whether it was steady in all its trials, and the median time that it took.

    A cost of a way is None where no trial was valid; its round trips are not known here.
    """

    plain: Way
    encrypted: Way
    steady: bool | None
    warmup_s: float | None


def costs_study(
    drivers: Sequence[Measurable], server: str | None, options: Mapping[str, str], budget_s: float
) -> Study:
    """Every driver connecting and inserting over one connection, in the clear and encrypted.

    `server` None is the default one; each driver is given the `options`.
    """
    choice: dict[str, tuple[Level, ...]] = {} if server is None else {"server": (server,)}
    choice |= {f"{OPTION}{name}": (value,) for name, value in options.items()}
    cannot = tuple(
        Exclusion(levels={"client": driver.name, "tls": ENCRYPTED}, why="it could not encrypt when probed")
        for driver in drivers
        if not driver.encrypts
    )
    return Study(
        name=NAME,
        title="What drivers cost, in the clear and encrypted",
        question="What do connecting and an insert of one row take with each driver, and what does TLS add?",
        treatments=tuple({"client": driver.name, "auth": driver.auth} for driver in drivers),
        factors={
            **choice,
            "tls": (PLAIN, ENCRYPTED),
            "workload": (CONNECT, STATEMENT),
            "connections": (1,),
        },
        baseline={"tls": PLAIN},
        exclude=cannot,
        control_within={"client": drivers[0].name},
        deciding_outcome="latency_p50_us",
        precision=PRECISION,
        confidence=CONFIDENCE,
        budget_s=budget_s,
        minimum_blocks=3,
        rows=ROWS,
    )


def costs_of(stored: StoredRun) -> dict[str, DriverCosts]:
    """The costs of each driver of the run, by its name. Raises MachineFault where a histogram is broken."""
    study = stored.header.study
    measured = series_of(stored)
    by_case = {
        (case.levels.client, case.levels.tls, case.levels.workload): measured.values.get(key, {})
        for key, case in measured.cases.items()
    }
    names = dict.fromkeys(client for client, _, _ in by_case)
    return {name: _driver(name, by_case, stored.measured, study.confidence) for name in names}


def _driver(
    name: str,
    cases: Mapping[tuple[str, str, str], Blocks],
    records: Sequence[TrialRecord],
    confidence: float,
) -> DriverCosts:
    own = [record for record in records if record.trial.case.levels.client == name]
    ready = [record.ready for record in own if record.ready is not None and record.verdict.value == "valid"]
    known = [one.steady for one in ready if one.steady is not None]
    lasted = [one.warmup[-1].elapsed_s for one in ready if one.warmup]

    def way(tls: str) -> Way:
        connect, statement = (cases.get((name, tls, work), {}) for work in (CONNECT, STATEMENT))
        mine = [record for record in own if record.trial.case.levels.tls == tls]
        return _way(connect, statement, confidence).model_copy(update={"failed": _why(mine)})

    return DriverCosts(
        plain=way(PLAIN),
        encrypted=way(ENCRYPTED),
        steady=all(known) if known else None,
        warmup_s=round(median(lasted), 3) if lasted else None,
    )


def _way(connect: Blocks, statement: Blocks, confidence: float) -> Way:
    """CPU of a connect is taken within a block: connecting, asking and closing, less a statement's."""
    each = "client_cpu_us_per_op"
    extra = [
        connect[block][each] - statement[block][each]
        for block in sorted(connect.keys() & statement.keys())
        if each in connect[block] and each in statement[block]
    ]
    return Way(
        connect_us=_mean(connect, "connect_p50_us", confidence),
        statement_us=_mean(statement, "latency_p50_us", confidence),
        connect_cpu_us=Cost(**dict(stats.difference_interval(extra, confidence))) if extra else None,
        statement_cpu_us=_mean(statement, each, confidence),
    )


def _mean(blocks: Blocks, outcome: str, confidence: float) -> Cost | None:
    values = [(own[outcome], 1.0) for own in blocks.values() if own.get(outcome, 0) > 0]
    return Cost(**dict(stats.interval(stats.log_ratios(values), confidence))) if values else None


def _why(records: Sequence[TrialRecord]) -> str | None:
    """Why a way has no valid trial, in the words of the first; None where it has one, or none was run."""
    if not records or any(record.verdict.value == "valid" for record in records):
        return None
    reasons = records[0].verdict.reasons
    return reasons[0] if reasons else "no trial was valid"
