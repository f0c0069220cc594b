"""`tlstax compare` and `tlstax check`: runs beside one another, and limits with statuses of their own."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial

from tlstax.cli.asked_outcomes import TypedLimits, asked_outcomes, limits_of
from tlstax.cli.kept import open_store
from tlstax.cli.pack_command import run_or_pack
from tlstax.cli.streams import show_found, tell
from tlstax.findings.compare.compare import compared
from tlstax.findings.compare.gate import gated
from tlstax.findings.core.limits import Limits
from tlstax.findings.two_sides.gate import gated_sides
from tlstax.records.trial import StoredRun
from tlstax.report.comparison.text import comparison_text, gate_text
from tlstax.results.comparison import GateResult, GateVerdict, Measure
from tlstax.run.early_abort import unanswered
from tlstax.support.errors import UserMistake

STATUS: dict[GateVerdict, int] = {"PASS": 0, "FAIL": 4, "UNTOLD": 5}


def compare_command(runs: list[str], outcomes: str | None, *, as_json: bool) -> int:
    """Show each run beside the first; the exit status. UserMistake for fewer than two."""
    if len(set(runs)) < 2:
        raise UserMistake("compare takes two runs or more", remedy="`tlstax runs list` shows all")
    stored = _loaded(runs)
    often = Counter(own.header.run for own in stored)
    for run, times in often.items():
        if times > 1:
            raise UserMistake(f"run {run} is named {times} times", remedy="name each run once")
    names = asked_outcomes(outcomes, stored[0].header.study)
    found = compared(stored, names)
    show_found(found, partial(comparison_text, found), as_json=as_json)
    return 0


@dataclass(frozen=True)
class CheckOptions:
    """The options of `tlstax check` as they were typed."""

    run: str
    against: str | None
    limits: TypedLimits
    absolute: bool = False
    json: bool = False


def check_command(options: CheckOptions) -> int:
    """Show which cases keep to the limits: 0 where all do, 4 where one does not, else 5."""
    limits = limits_of(options.limits, warn)
    if not limits:
        raise UserMistake(
            "a check needs a limit",
            remedy="give --max-regression 5%, or one for an outcome by --max or --min",
        )
    found = _checked(options, limits)
    show_found(found, partial(gate_text, found), as_json=options.json)
    return STATUS[found.verdict]


def _checked(options: CheckOptions, limits: Limits) -> GateResult:
    """The run beside the other one; without another, B beside A in it."""
    if options.against is None:
        if options.absolute:
            raise UserMistake("--absolute needs --against", remedy="leave it out: values are compared anyway")
        return gated_sides(_loaded([options.run])[0], limits)
    run, against = _loaded([options.run, options.against])
    if run.header.run == against.header.run:
        raise UserMistake(f"{run.header.run} cannot be checked against itself", remedy="name another run")
    measure: Measure = "itself" if options.absolute else "to the baseline"
    return gated(run, against, limits, measure=measure)


def warn(sentence: str) -> None:
    """Tell what a limit does not say."""
    tell(f"tlstax: {sentence}")


def _loaded(names: list[str]) -> list[StoredRun]:
    """The runs, each of which has ended: what is known of one under way changes with each block.

    UserMistake or MachineFault for one that answered nothing, as its cause is.
    """
    with open_store() as store:
        stored = [run_or_pack(store, name) for name in names]
    for own in stored:
        if own.status == "running":
            raise UserMistake(f"run {own.header.run} is still under way", remedy="wait until it has ended")
        fault = unanswered(own)
        if fault is not None:
            raise type(fault)(f"run {own.header.run} answered nothing: {fault.message}", remedy=fault.remedy)
    return stored
