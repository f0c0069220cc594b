"""`tlstax compare`: runs beside one another, and limits with statuses of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from tlstax.cli.asked_outcomes import asked_outcomes, limits_of
from tlstax.cli.export_command import run_or_pack
from tlstax.cli.read_app import CompareOptions
from tlstax.cli.streams import show_found, warn
from tlstax.records.trial import StoredRun
from tlstax.report.formats.terminal import printed_sections
from tlstax.results.document import GateResult, GateVerdict, Measure
from tlstax.run.early_abort import unanswered
from tlstax.stats.limits import Limits
from tlstax.store import open_store
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.topics.compare.compare import compared, gated, is_same_thing
from tlstax.topics.compare.text import gate_text, sections
from tlstax.topics.two_sides import gated_sides

STATUS: dict[GateVerdict, int] = {"PASS": 0, "FAIL": 4, "INCONCLUSIVE": 5}

MOST_AGAIN = 12
"""How many other runs of the same thing are read for each run: with more than a dozen it is well known."""


def compare_command(options: CompareOptions) -> int:
    """Show each run beside the first, or with limits which cases keep to them; the exit status.

    UserMistake for fewer runs than two, but where a limit is for the sides of one, and for more than two with
    limits.
    """
    limits = limits_of(options.limits, warn)
    if limits:
        return _gate(options, limits)
    if options.absolute:
        raise UserMistake("--absolute goes with a limit", remedy="give --max-regression 5%, or leave it out")
    if len(set(options.runs)) < 2:
        raise UserMistake("compare takes two runs or more", remedy="`tlstax runs list` shows all")
    stored = _loaded(options.runs)
    often = Counter(own.header.run for own in stored)
    for run, times in often.items():
        if times > 1:
            raise UserMistake(f"run {run} is named {times} times", remedy="name each run once")
    names = asked_outcomes(options.outcomes, stored[0].header.study)
    found = compared(stored, names, others=_same_again(stored))
    show_found(found, partial(printed_sections, sections(found)), as_json=options.json)
    return 0


def _gate(options: CompareOptions, limits: Limits) -> int:
    """Show which cases keep to the limits: 0 where all do, 4 where one does not, else 5."""
    if options.outcomes is not None:
        raise UserMistake(
            "--outcomes does not go with a limit, which names its outcome", remedy="leave it out"
        )
    found = _checked(options, limits)
    show_found(found, partial(gate_text, found), as_json=options.json)
    return STATUS[found.verdict]


def _checked(options: CompareOptions, limits: Limits) -> GateResult:
    """The second run beside the first; of one alone, B beside A in it."""
    if len(options.runs) == 1:
        if options.absolute:
            raise UserMistake("--absolute needs two runs", remedy="leave it out: values are compared anyway")
        return gated_sides(_loaded(options.runs)[0], limits)
    if len(options.runs) > 2:
        raise UserMistake(
            f"limits are for one run beside another, and {len(options.runs)} are named", remedy="name two"
        )
    against, run = _loaded(options.runs)
    if run.header.run == against.header.run:
        raise UserMistake(f"{run.header.run} cannot be checked against itself", remedy="name another run")
    measure: Measure = "itself" if options.absolute else "to the baseline"
    return gated(run, against, limits, others=_same_again([run, against]), measure=measure)


def _same_again(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """The newest other runs in the store of the same thing as each of these, of those that were completed.

    One that cannot be read is left out: it is not what was asked for.
    """
    again: dict[str, list[str]] = {own.header.run: [] for own in runs}
    studies = {own.header.study.name for own in runs}
    with open_store() as store:
        for summary in store.runs():
            if summary.status != "complete" or summary.study not in studies or summary.run in again:
                continue
            with suppress(MachineFault):
                header = store.header(summary.run)
                for own in runs:
                    names = again[own.header.run]
                    if len(names) < MOST_AGAIN and is_same_thing(own.header, header):
                        names.append(summary.run)
        found: list[StoredRun] = []
        for name in dict.fromkeys(name for names in again.values() for name in names):
            with suppress(MachineFault):
                found.append(store.load(name))
    return found


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
        if own.is_empty:
            raise UserMistake(f"run {own.header.run} measured nothing", remedy="name another run")
    return stored
