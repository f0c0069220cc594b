"""What drivers did when given no TLS options: did they encrypt, and with what; which statements they sent.

It is the server's word, asked on each connection before anything was measured, and not the driver's manual.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tlstax.records.trial import TrialRecord
from tlstax.results.rows import Row, Told
from tlstax.stats.series import Series
from tlstax.stats.stats import geometric_mean
from tlstax.study import Case, Study
from tlstax.study.client_kinds import kind_of
from tlstax.study.factors import CaseLevels
from tlstax.study.labels import driver_label, driver_words, shared_options
from tlstax.study.level_names import UNSET
from tlstax.support.grouping import grouped
from tlstax.support.text import enumerated
from tlstax.topics.core import columns
from tlstax.topics.core.columns import Column
from tlstax.topics.core.figures import NOTHING
from tlstax.topics.core.section import Block, Roomy
from tlstax.topics.core.table import Cell, Number, Table

DEFAULT, COMMAND = "driver default", "driver command"
"""Roles of rows."""

ENCRYPTS, TRIALS, KIND = "encrypts", "trials", "command"

COLUMNS = (
    Column(ENCRYPTS, "TEXT", "whether a driver encrypted by itself: always, never or sometimes"),
    Column(KIND, "TEXT", "the kind of statements, as the server counts them"),
    columns.TRIALS,
)

_OF_TLS = re.compile("ssl|tls|cipher|trust", re.IGNORECASE)
"""What the names of options hold that have to do with encryption, whatever the driver."""


@dataclass(frozen=True)
class Observed:
    """What the server reported of the connections of a case's valid trials.

    `encrypts` is "always", "never" or "sometimes", `negotiated` has each combination once. `commands_per_op`
    are its counters of commands ("select"), the most frequent first.
    """

    encrypts: str
    negotiated: tuple[str, ...]
    trials: int
    commands_per_op: dict[str, float] = field(default_factory=dict)


def observed(records: Iterable[TrialRecord]) -> dict[CaseLevels, Observed]:
    """For each case (controls with their baseline) with a valid trial whose connections were asked."""
    asked = (r for r in records if r.verdict.value == "valid" and r.ready is not None and r.ready.negotiated)
    cases = grouped(asked, lambda record: record.trial.case.levels)
    return {at: _observed(trials) for at, trials in cases.items()}


def _observed(trials: Sequence[TrialRecord]) -> Observed:
    views = [seen.server for record in trials if record.ready is not None for seen in record.ready.negotiated]
    encrypted = [view for view in views if view is not None]
    some = "sometimes" if len(encrypted) < len(views) else "always"
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
            counted.update(record.commands_in_window)
    if not operations:
        return {}
    return {name: times / operations for name, times in counted.most_common()}


def is_left_alone(case: Case) -> bool:
    """Whether the case has a driver that is given no TLS options but its own."""
    return case.levels.tls == UNSET and kind_of(case.levels.client).is_driver


def own_options(case: CaseLevels, study: Study) -> Mapping[str, str]:
    """The options of this case that not all cases of the study have alike."""
    shared = shared_options(study)
    return case.without(*shared).options


def rows(series: Series, observations: Mapping[CaseLevels, Observed]) -> Iterator[Row]:
    """Every case of a driver that was left alone and has a valid trial, in the plan's order.

    The value is the number of statements that the server counted for an operation, None where it was not
    watched; a row of the role "driver command" has the same of one kind of statements.
    """
    for case in series.cases.values():
        seen = observations.get(case.levels)
        if seen is None or not is_left_alone(case):
            continue
        blocks = series.values.get(case.levels, {}).values()
        statements = [values["statements_per_op"] for values in blocks if "statements_per_op" in values]
        common: dict[str, Any] = {
            "outcome": "statements_per_op",
            "unit": "1",
            "label": driver_label(case, series.study),
            "case": dict(case.levels),
        }
        yield Row(
            **common,
            role=DEFAULT,
            value=geometric_mean(statements) if statements else None,
            negotiated=", ".join(seen.negotiated) or "plaintext",
            more={ENCRYPTS: seen.encrypts, TRIALS: seen.trials},
        )
        for name, times in seen.commands_per_op.items() if statements else ():
            yield Row(**common, role=COMMAND, value=times, more={KIND: name})


def _default_words(row: Row) -> str:
    """Whether it encrypted, and with what: "encrypts (TLSv1.3 TLS_AES_256_GCM_SHA384)"."""
    how = f" ({_how(row)})"
    return {
        "always": f"encrypts{how}",
        "never": "does not encrypt",
        "sometimes": f"encrypts some connections{how} and not others",
    }[row.word(ENCRYPTS)]


def _how(row: Row) -> str:
    return " and ".join(row.negotiated.split(", "))


def sentences(shown: Sequence[Row], study: Study) -> Iterator[str]:
    """What drivers as they are do, those that do the same everywhere together."""
    left_alone = [row for row in shown if row.role == DEFAULT and not own_options(row.case, study)]
    by_driver = grouped(left_alone, lambda row: driver_words(row.case, study))
    for (does, how), drivers in grouped(by_driver, lambda driver: _everywhere(by_driver[driver])).items():
        verb = does
        if len(drivers) > 1:
            verb = does.replace("does not", "do not").replace("encrypts", "encrypt")
        options = by_driver[drivers[0]][0].case.options
        given = [name for name in options if _OF_TLS.search(name)]
        # A TLS option that all cases are given is no longer the driver's default.
        default = f" with {enumerated(given)} given" if given else " by default"
        yield f"{enumerated(drivers)} {verb}{default}{how}"


def _everywhere(several: Sequence[Row]) -> tuple[str, str]:
    """What a driver does, and how: on each server, where it is not the same everywhere."""
    by_words = grouped(several, _default_words)
    if len(by_words) == 1:
        verb, bracket, how = next(iter(by_words)).partition(" (")
        return verb, f"{bracket}{how}"
    servers = {
        words: enumerated(dict.fromkeys(str(row.case.get("server", "the server")) for row in own))
        for words, own in by_words.items()
    }
    if {row.word(ENCRYPTS) for row in several} == {"always"}:
        each = [f"{_how(own[0])} on {servers[words]}" for words, own in by_words.items()]
        return "encrypts", f" ({'; '.join(each)})"
    return "; ".join(f"{words} on {own}" for words, own in servers.items()), ""


def tables(told: Told) -> Iterator[Block]:
    """What each did; where there is room, with which cipher, and which statements it sent."""
    defaults, commands = told.of(role=DEFAULT), told.of(role=COMMAND)
    if not defaults:
        return
    lines: list[tuple[Cell, ...]] = []
    for row in defaults:
        versions = ", ".join(dict.fromkeys(words.partition(" ")[0] for words in row.negotiated.split(", ")))
        encrypted = {"never": "no", "sometimes": f"some: {versions}"}.get(row.word(ENCRYPTS), versions)
        lines.append((row.label, encrypted, Number(row.value, said="{:.2f}".format)))
    yield Table(
        title="What drivers did when nothing was said of TLS",
        heads=("encrypted", "statements\nan operation"),
        rows=lines,
        notes=(
            "The server's word for each connection, asked on that very connection. Statements are counted by "
            "the server over the window: what is more than the operation has, the driver sends by itself.",
        ),
        of="driver",
    )
    kinds = list(dict.fromkeys(row.word(KIND) for row in commands))
    sent = {(row.label, row.word(KIND)): Number(row.value, said="{:.2g}".format) for row in commands}
    lines = []
    for row in defaults:
        cipher = NOTHING if row.word(ENCRYPTS) == "never" else row.negotiated
        lines.append((row.label, cipher, *(sent.get((row.label, kind), NOTHING) for kind in kinds)))
    title = "Their ciphers, and the statements of an operation by kind"
    yield Roomy((Table(title, ("cipher", *kinds), lines, (), of="driver"),))
