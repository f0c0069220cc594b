"""Published statements put to the test: what each server shows of them, and the verdict.

Where one server has run both sides, their values are compared directly, block by block. TLS libraries each
have a process of their own, and processes differ, and have their turns at other times: so what is compared is
each process's ratio to its own baseline (plaintext, where the library has no part), where that was measured.
Where no server has run both, servers of one family (mysql, mariadb) are compared, by such ratios alone: what
the servers differ by otherwise is in both terms of them.

"The best of several" is a trap: the largest of five noisy numbers is larger than the largest of two even
when all are alike (the winner's curse). So the best of each side is never chosen by the values that are
then compared: for each block it is chosen by the mean over all other blocks, and the chosen ones'
values of this block are compared. With one library on a side nothing is chosen.

A statement of libraries is told in plaintext apart, where they must not matter. Any other is told of all
cases alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, expm1, inf, log, log1p
from statistics import fmean
from typing import Literal, NamedTuple

from tlstax.results.document import RunDocument
from tlstax.results.interval import ClaimVerdict, Interval
from tlstax.results.rows import Row, Told
from tlstax.stats.contrasts import INSTANCE, MOST_TIMES, Floor, Twins, is_different, rooms, twins
from tlstax.stats.outcomes import OUTCOMES
from tlstax.stats.series import LADDER, Logs, Series, difference, pooled
from tlstax.stats.wording import change_words, mode_label, percent
from tlstax.study import Choice, Statement, within
from tlstax.study.factors import DISTANCE_FACTORS, CaseLevels
from tlstax.study.labels import way_words
from tlstax.support.text import counted, some_of, with_commas
from tlstax.topics.core import columns, figures
from tlstax.topics.core.columns import Column
from tlstax.topics.core.section import Block, Claim, Claims, Folded, Items, Section
from tlstax.topics.core.table import Table
from tlstax.topics.core.topic import Run, Topic

STATEMENT, CASE, PLAINTEXT = "statement", "statement case", "statement in plaintext"
"""Roles of rows: a statement with its verdict, the cases that it is judged by, and those in plaintext."""

SAYS, SERVERS, ACROSS, TO_OWN, CHOSEN = "statement", "servers", "across_servers", "to_own_baseline", "chosen"
SOURCE, NOISE_FROM, POOLED = columns.SOURCE.name, columns.NOISE_FROM.name, columns.POOLED.name

LIBRARY, SERVER = "tls_library", "server"

MOST_NAMED = 2
"""The most cases that came out one way that are named in the sentence, the clearest first."""

ACROSS_WORDS = (
    "compared across servers: only each library's ratio to its own server's plaintext, so what the servers "
    "make of TLS otherwise is in it too, and the same TLS weighs more on a server whose plaintext costs less"
)
TO_OWN_WORDS = "compared is what TLS costs over each library: its process's ratio to its own plaintext"
CHOSEN_WORDS = "the best of several was chosen by the other blocks than the one that is compared"

Outcome = Literal["held", "opposite", "alike", "inconclusive"]
OPEN: Outcome = "inconclusive"

Counts = Mapping[str, int]
"""How often each outcome came out, by its name."""

COUNTED: Mapping[Outcome, str] = {
    "held": "how often a statement held: over its cases, or of one case over single numbers of connections",
    "opposite": "how often the opposite was seen",
    "alike": "how often both were alike",
    "inconclusive": "how often nothing could be told",
}


class Step(NamedTuple):
    """A case at one step of its ladder, and what it is chosen by."""

    levels: CaseLevels
    logs: Logs


Candidates = Mapping[CaseLevels, Mapping[int, Step]]
"""Of one side, for each level of the statement's factor (or factors): the steps of its ladder."""


@dataclass(frozen=True)
class Sides:
    """The two sides of a statement under one workload and TLS mode, and the servers that they ran on."""

    levels: CaseLevels
    servers: tuple[str, ...]
    better: Candidates
    than: Candidates


@dataclass(frozen=True)
class Trier:
    """Puts one statement to the test: within each server or across servers, by values or by ratios.

    With `to_own` the ratios to each process's own baseline are compared, and `floors` are of such ratios.
    """

    series: Series
    statement: Statement
    across: bool
    to_own: bool
    floors: Twins

    def tried(self, *, baseline: bool | None) -> tuple[Row, ...]:
        """Every case that the statement bears on: those of the baseline (plaintext), or others; None: all."""
        found = (self._case(sides) for sides in self._sides(baseline=baseline))
        return tuple(case for case in found if case is not None)

    def _sides(self, *, baseline: bool | None) -> Iterator[Sides]:
        places: dict[CaseLevels, dict[str, dict[CaseLevels, dict[int, Step]]]] = {}
        factors = self.statement.factors()
        for case in self.series.cases.values():
            asked = baseline is None or (case.role == "baseline") is baseline
            if asked and case.levels.keys() >= set(factors) and self._bears(case.levels):
                level = case.levels.only(*factors)
                server = "" if SERVER in factors else str(case.levels.get(SERVER, ""))
                kept = case.levels.without(SERVER, LADDER, INSTANCE, *factors)
                steps = places.setdefault(kept, {}).setdefault(server, {}).setdefault(level, {})
                steps[int(case.levels.get(LADDER, 1))] = Step(case.levels, self._logs(case.levels))
        better_side, than_side = self.statement.sides()
        for place, servers in places.items():
            for one, other in self._pairs(list(servers)):
                better = _chosen(servers[one], better_side)
                than = _chosen(servers[other], than_side)
                if better and than:
                    named = tuple(dict.fromkeys(name for name in (one, other) if name))
                    yield Sides(place, named, better, than)

    def _bears(self, levels: CaseLevels) -> bool:
        """Twins are for the noise floor; counting them would count one server twice."""
        first = next((c.baseline for c in self.series.study.contrasts if c.factor == INSTANCE), None)
        return within(levels, self.statement.within) and levels.get(INSTANCE, first) == first

    def _pairs(self, servers: Sequence[str]) -> list[tuple[str, str]]:
        if not self.across:
            return [(server, server) for server in servers]
        return [(a, b) for a in servers for b in servers if a != b and family(a) == family(b)]

    def _logs(self, levels: CaseLevels) -> Logs:
        outcome = self.statement.outcome
        if not self.to_own:
            return self.series.logs(levels, outcome)
        return self.series.log_ratios(levels, self.series.own_baseline(levels), outcome)

    def _case(self, sides: Sides) -> Row | None:
        lower = bool(OUTCOMES[self.statement.outcome].lower_is_better)
        shared = _steps(sides.better) & _steps(sides.than)
        cells = [
            self._interval(_at(sides.better, {step}), _at(sides.than, {step}), lower_is_better=lower)
            for step in sorted(shared)
        ]
        whole = self._interval(_at(sides.better, shared), _at(sides.than, shared), lower_is_better=lower)
        if whole is None:
            return None
        floor, servers = self._floor(sides), " against ".join(sides.servers)
        away = way_words(sides.levels.only(*DISTANCE_FACTORS))
        return Row(
            role=CASE,
            outcome=self.statement.outcome,
            label=with_commas(servers, mode_label(sides.levels), *away),
            case=sides.levels,
            interval=whole,
            of="ratio",
            noise_floor=floor.relative,
            judgement=self._outcome(whole, floor),
            more={
                SAYS: self.statement.says,
                SERVERS: servers,
                ACROSS: self.across,
                TO_OWN: self.to_own,
                CHOSEN: max(len(sides.better), len(sides.than)) > 1,
                NOISE_FROM: floor.source,
                POOLED: tuple(sorted(shared)),
                **counts_of(self._outcome(cell, floor) for cell in cells if cell is not None),
            },
        )

    def _interval(self, better: Candidates, than: Candidates, *, lower_is_better: bool) -> Interval | None:
        one, other = (
            best_without_hindsight(
                {level: pooled({step: own.logs for step, own in at.items()}) for level, at in side.items()},
                lower_is_better=lower_is_better,
            )
            for side in (better, than)
        )
        ratios = {
            (a, b): self._ratios(better[a], than[b])
            for a, b in {(one[block], other[block]) for block in one.keys() & other.keys()}
        }
        both = ((block, ratios[one[block], other[block]]) for block in sorted(one.keys() & other.keys()))
        return self.series.interval({block: logs[block] for block, logs in both if block in logs})

    def _ratios(self, better: Mapping[int, Step], than: Mapping[int, Step]) -> Logs:
        """Ln of the ratio of two levels in each block, pooled over their ladders."""
        pairs = {step: (better[step], than[step]) for step in better}
        if self.to_own:
            return pooled({step: difference(own.logs, other.logs) for step, (own, other) in pairs.items()})
        ratios, outcome = self.series.log_ratios, self.statement.outcome
        return pooled({step: ratios(a.levels, b.levels, outcome) for step, (a, b) in pairs.items()})

    def _outcome(self, ratio: Interval, floor: Floor) -> Outcome:
        """What a ratio shows of the statement, which may say by how much, or that there is no difference."""
        statement = self.statement
        if statement.kind == "alike":
            return _alike(ratio, statement.by)
        lower = bool(OUTCOMES[statement.outcome].lower_is_better)
        beyond = _beyond(ratio, 1 / statement.by if lower else statement.by)
        judged = _better(beyond, floor, lower_is_better=lower)
        if judged != "inconclusive" or statement.by > 1.0:
            return judged
        if statement.kind == "no worse":
            return _no_worse(ratio, statement.alike_within, floor, lower_is_better=lower)
        return _equivalent(ratio, statement.alike_within, floor)

    def _floor(self, sides: Sides) -> Floor:
        """The largest of the floors that hold for the servers of both sides."""
        floors = [self.floors.floor({**sides.levels, SERVER: server}) for server in sides.servers or ("",)]
        return max(floors, key=lambda floor: floor.relative or 0.0)


def rows(run: Run) -> Iterator[Row]:
    """What the run says of each statement of its study, in the study's order; nothing where it has none.

    The row of a `statement` has the verdict as its judgement, and counts its cases by their outcomes. Each
    `statement case` is what one server, or one pair of servers, shows under one workload and TLS mode: the
    ratio of the better side to the other, pooled over connections, with `to_own_baseline` of each side's
    ratio to its own process's baseline, as it always is `across_servers`; it counts its single numbers of
    connections. A case `in plaintext` is the same where a TLS library must not matter.
    """
    for statement in run.study.statements:
        yield from statement_rows(run.series, statement)


def statement_rows(series: Series, statement: Statement) -> tuple[Row, ...]:
    """The same of one statement: its own row first."""
    cases, plaintext = _tried(series, statement)
    counts = counts_of(case.judgement for case in cases)
    across = any(case.more[ACROSS] for case in cases)
    own = Row(
        role=STATEMENT,
        outcome=statement.outcome,
        label=statement.says,
        judgement=verdict_of(statement, counts),
        caveats=(
            *([ACROSS_WORDS] if across else []),
            *([TO_OWN_WORDS] if not across and any(case.more[TO_OWN] for case in cases) else []),
            *([CHOSEN_WORDS] if any(case.more[CHOSEN] for case in cases) else []),
            *_of_chance(cases),
            *_of_floor(cases),
            *_of_plaintext(plaintext),
        ),
        more={SAYS: statement.says, SOURCE: statement.source, ACROSS: across, **counts},
    )
    return own, *cases, *(case.model_copy(update={"role": PLAINTEXT}) for case in plaintext)


def _tried(series: Series, statement: Statement) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """The cases that a statement is judged by, and those of plaintext, where it is of libraries."""
    direct = Trier(series, statement, across=False, to_own=False, floors=twins(series, statement.outcome))
    if statement.factor != LIBRARY:
        return direct.tried(baseline=None), ()
    floors = twins(series, statement.outcome, to_own_baseline=True)
    cases = (
        Trier(series, statement, across=False, to_own=True, floors=floors).tried(baseline=False)
        or direct.tried(baseline=False)
        or Trier(series, statement, across=True, to_own=True, floors=floors).tried(baseline=False)
    )
    return cases, direct.tried(baseline=True)


def family(server: str) -> str:
    """What a server is a version of: "mysql" of "mysql-8.0.33"."""
    return server.partition("-")[0]


def best_without_hindsight(
    candidates: Mapping[CaseLevels, Logs], *, lower_is_better: bool
) -> dict[int, CaseLevels]:
    """In each block, the candidate that is the best by its mean over the other blocks.

    Only blocks that all candidates have; a block alone leaves nothing to choose by unless there is
    one candidate only. Candidates without any value do not take part.
    """
    measured = {level: logs for level, logs in candidates.items() if logs}
    if not measured:
        return {}
    if len(measured) == 1:
        ((level, logs),) = measured.items()
        return dict.fromkeys(logs, level)
    shared = set.intersection(*(set(logs) for logs in measured.values()))
    sign = -1 if lower_is_better else 1
    found = {}
    for block in sorted(shared) if len(shared) > 1 else ():
        others = shared - {block}
        means = {level: sign * fmean(logs[b] for b in others) for level, logs in measured.items()}
        found[block] = max(means, key=means.__getitem__)
    return found


def counts_of(outcomes: Iterable[str]) -> dict[str, int]:
    """How often each came out."""
    every = list(outcomes)
    return {outcome: every.count(outcome) for outcome in COUNTED}


def _chosen(levels: Mapping[CaseLevels, dict[int, Step]], wanted: Mapping[str, Choice]) -> Candidates:
    """Of these levels the wanted ones that have values, each with the steps that have any."""
    found = {
        level: {step: own for step, own in steps.items() if own.logs}
        for level, steps in levels.items()
        if within(dict(level), wanted)
    }
    return {level: steps for level, steps in found.items() if steps}


def _steps(candidates: Candidates) -> set[int]:
    """The steps that all candidates have."""
    return set.intersection(*(set(steps) for steps in candidates.values()))


def _at(candidates: Candidates, steps: set[int]) -> Candidates:
    return {level: {step: by_step[step] for step in steps} for level, by_step in candidates.items()}


def _beyond(ratio: Interval, claimed: float) -> Interval:
    """The ratio to what is claimed of it: above 1 where it is more."""
    return ratio.each(lambda value: value / claimed)


def _alike(ratio: Interval, by: float) -> Outcome:
    """Alike is shown, and not just unlike not shown: the whole interval lies within the allowed factor."""
    if ratio.between is None:
        return "inconclusive"
    low, high = ratio.between
    if 1 / by < low and high < by:
        return "held"
    return "opposite" if low >= by or high <= 1 / by else "inconclusive"


def _equivalent(ratio: Interval, within: float, floor: Floor) -> Outcome:
    """Whether no difference that counts is left: the whole interval lies within the factor.

    Where twins differ by as much as that, one of them may hide what the other would show.
    """
    shown = _alike(ratio, within) == "held" and not _hides(floor, within)
    return "alike" if shown else "inconclusive"


def _no_worse(ratio: Interval, within: float, floor: Floor, *, lower_is_better: bool) -> Outcome:
    """Whether it is ruled out that the first is worse by as much as counts: a test of non-inferiority."""
    if ratio.between is None or _hides(floor, within):
        return "inconclusive"
    low, high = ratio.between
    shown = high < within if lower_is_better else low > 1 / within
    return "held" if shown else "inconclusive"


def _hides(floor: Floor, within: float) -> bool:
    """Whether equal things differ by as much as counts."""
    return (floor.relative or 0.0) >= within - 1


def _better(ratio: Interval, floor: Floor, *, lower_is_better: bool) -> Outcome:
    if not is_different(ratio, floor.relative):
        return "inconclusive"
    return "held" if (ratio.point < 1) == lower_is_better else "opposite"


def verdict_of(statement: Statement, counts: Counts) -> ClaimVerdict:
    """The verdict from in how many cases (a server, a workload, a TLS mode) the statement held.

    "Better" holds where it held in every case, and does not where it held in none and the opposite was
    seen, or both sides were alike in more than half of the cases. "Best in most cases" holds where it held in
    more than half of all cases, and does not where the opposite was seen, or both were alike, in half of them
    or more, so that the rest cannot be most. What held in some case but not in that many held in part.
    """
    number = sum(counts.values())
    if not number:
        return "inconclusive"
    holds = counts["held"] == number
    fails = counts["held"] == 0 and (counts["opposite"] > 0 or 2 * counts["alike"] > number)
    if statement.kind == "best":
        holds, fails = 2 * counts["held"] > number, 2 * (counts["opposite"] + counts["alike"]) >= number
    if holds:
        return "held"
    if fails:
        return "did not hold"
    return "held in part" if counts["held"] else "inconclusive"


def by_statement(shown: Sequence[Row]) -> list[list[Row]]:
    """The rows of each statement, its own first."""
    starts = [place for place, row in enumerate(shown) if row.role == STATEMENT]
    return [list(shown[start:end]) for start, end in zip(starts, [*starts[1:], len(shown)], strict=True)]


def verdict_line(row: Row) -> str:
    """The statement, who made it, and the verdict."""
    return f"“{row.label}” ({row.word(SOURCE)}): {row.judgement}"


def verdict_lines(document: RunDocument) -> list[str]:
    """The same of every statement of a run."""
    return [verdict_line(row) for row in document.rows_of(TOPIC.name, role=STATEMENT)]


def notes(document: RunDocument) -> list[str]:
    """What to bear in mind of each statement, the statement named once."""
    own = document.rows_of(TOPIC.name, role=STATEMENT)
    return [f"“{row.label}”: {'; '.join(row.caveats)}" for row in own if row.caveats]


def sentences(run: Run, shown: Sequence[Row]) -> Iterator[str]:
    """The verdict on each statement, in how many cases it held, and what would tell of the others."""
    for statement, (own, *cases) in zip(run.study.statements, by_statement(shown), strict=True):
        judged = [case for case in cases if case.role == CASE]
        yield f"{verdict_line(own)}: {_sentence(statement, judged)}"


def _sentence(statement: Statement, cases: Sequence[Row]) -> str:
    """What the cases show, and what would tell more; of single numbers of connections too."""
    if not cases:
        return "nothing that was measured bears on it"
    otherwise = "less" if statement.by > 1 else "the opposite"
    if statement.kind == "alike":
        otherwise = "a larger difference"
    within = f"alike within {percent(statement.alike_within - 1)}"
    held, opposite, alike, inconclusive = counts_of(case.judgement for case in cases).values()
    words = [
        f"it held in {held} of {counted(len(cases), 'case')} pooled over connections{_named(cases, 'held')}",
        f"{otherwise} was seen in {opposite or 'none'}{_named(cases, 'opposite')}",
    ]
    if alike:
        words.append(f"{alike} {_were(alike)} {within}{_named(cases, 'alike')}")
    if inconclusive:
        words.append(f"{inconclusive} inconclusive{bound_words(cases)}")
        words += what_would_tell(statement, cases)
    held, opposite, alike, inconclusive = (
        sum(round(case.number(outcome) or 0) for case in cases) for outcome in COUNTED
    )
    number = counted(held + opposite + alike + inconclusive, "single case")
    same = f", {alike} {_were(alike)} {within}" if alike else ""
    single = f"it held in {held}, {otherwise} in {opposite}{same}, {inconclusive} inconclusive"
    return f"{'; '.join(words)}. Of {number}, not pooled, {single}"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _named(cases: Sequence[Row], outcome: str) -> str:
    """The clearest cases of one outcome, in brackets."""
    found = sorted(
        (case for case in cases if case.judgement == outcome), key=lambda case: -abs(log(case.ratio.point))
    )
    if not found:
        return ""
    words = some_of([f"{case.label}: {change_words(case.ratio)}" for case in found], MOST_NAMED)
    return f" ({'; '.join(words)})"


def _of_chance(cases: Sequence[Row]) -> list[str]:
    if len(cases) < 2:
        return []
    share = 1 - cases[0].ratio.confidence
    return [
        f"of {len(cases)} comparisons of equal things up to {percent(share)} would seem to differ by chance"
    ]


def _of_floor(cases: Sequence[Row]) -> list[str]:
    """By what the differences were judged, one sentence for each source of the floor."""
    floors: dict[str, list[float]] = {}
    for case in cases:
        if case.noise_floor is not None:
            floors.setdefault(case.word(NOISE_FROM), []).append(case.noise_floor)
    if cases and not floors:
        return ["no twin was run: how much two processes of one kind differ is not known"]
    return [f"noise floor from {source}: {_span(values)}" for source, values in floors.items()]


def _span(values: Sequence[float]) -> str:
    low, high = percent(min(values)), percent(max(values))
    return f"\N{PLUS-MINUS SIGN}{low}" if low == high else f"\N{PLUS-MINUS SIGN}{low} to {high}"


def _of_plaintext(plaintext: Sequence[Row]) -> list[str]:
    told = [case for case in plaintext if case.judgement in ("held", "opposite")]
    if told:
        words = "; ".join(f"{case.label}: {change_words(case.ratio)}" for case in told)
        return [
            f"in plaintext, where the TLS library must not matter, it seems to ({words}): something else "
            "differs between these processes, so differences of that size under TLS prove nothing"
        ]
    if not plaintext:
        return []
    return ["in plaintext, where the TLS library must not matter, no difference was seen"]


def bound_words(cases: Sequence[Row]) -> str:
    """How large a difference may be hidden where none was told, in brackets; empty if none is ruled out."""
    ends = [
        max(abs(log(case.ratio.low)), abs(log(case.ratio.high)))
        for case in cases
        if case.judgement == OPEN and case.ratio.low and case.ratio.high
    ]
    if not ends or max(ends) > log(10):
        return ""
    return f" (a difference above {percent(expm1(max(ends)))} is ruled out there)"


def what_would_tell(statement: Statement, cases: Sequence[Row]) -> Iterator[str]:
    """What more would tell of the cases that are inconclusive; nothing where there is none.

    More blocks, where the interval is too wide, as many as the ratios that were seen would take. Where twins
    or the control differ by as much as the ratio, how many is not known: what they differ by may be chance,
    which more blocks would take away, or the luck of a process, which they would not.
    """
    inconclusive = [case for case in cases if case.judgement == OPEN]
    needed = [times_needed(statement, case) for case in inconclusive if case.ratio.half_width is not None]
    reached = [times for times in needed if times is not None and times <= MOST_TIMES]
    hidden = sum(times is None for times in needed)
    if len(needed) < len(inconclusive):
        yield "one block shows no scatter, and more blocks would tell"
    if reached:
        what = "them" if len(reached) == len(inconclusive) else f"{len(reached)} of them"
        yield f"about {max(reached):.0f} times as many blocks would tell {what}"
    if far := len(needed) - len(reached) - hidden:
        yield f"{far} would take more than {MOST_TIMES} times as many"
    if hidden:
        yield f"in {hidden} equal things differ by as much: more blocks show whether by chance"


def times_needed(statement: Statement, case: Row) -> float | None:
    """How many times the blocks of a case would answer it, if its ratio stays as it is.

    An interval's half-width falls with the square root of the number of blocks. It has to be shorter than
    the way from the ratio to the next line that it must not hold: no difference, the factor that is claimed,
    or that within which both are alike. Infinite where the ratio lies on the line or has no interval; None
    where twins or the control hide it.
    """
    ratio, floor = case.ratio, case.noise_floor or 0.0
    if ratio.half_width is None:
        return inf
    room = max(_room(statement, ratio, floor), default=0.0)
    if room <= 0.0:
        return None if floor else inf
    return max(2.0, ceil((log1p(ratio.half_width) / room) ** 2))


def _room(statement: Statement, ratio: Interval, floor: float) -> Iterator[float]:
    """How far the ratio lies from each line, on a logarithmic scale, where crossing it would be an answer."""
    size = abs(log(ratio.point))
    if statement.kind == "alike":
        yield abs(log(statement.by) - size)
        return
    if statement.by > 1.0:
        beyond = min(abs(log(ratio.point) - log(statement.by)), abs(log(ratio.point) + log(statement.by)))
        yield beyond if expm1(beyond) > floor else 0.0
        return
    yield from rooms(ratio, floor, statement.alike_within)


def sections(told: Told, _: RunDocument) -> Iterator[Section]:
    """Each statement, judged, with every case that it is judged by; the page alone has that."""
    claims = map(_claim, by_statement(told.rows), told.sentences)
    yield Section((Claims(tuple(claims)),), told.title)


def _claim(rows: Sequence[Row], sentence: str) -> Claim:
    own, *cases = rows
    across = " · compared across servers" if own.more[ACROSS] else ""
    table = Table("", CASE_HEADS, tuple(map(_case_line, cases)), (), of_words=True, literal=True)
    folded: tuple[Block, ...] = (Folded("Every case of it", (table,)),) if cases else ()
    return Claim(
        says=f"“{own.label}”",
        verdict=f"Here: {own.judgement}",
        lines=(sentence.removeprefix(f"{verdict_line(own)}: "),),
        source=f"{own.word(SOURCE)}{across}",
        blocks=(*folded, Items(own.caveats)),
    )


def _case_line(case: Row) -> tuple[str, ...]:
    floor = figures.NOTHING if case.noise_floor is None else f"±{percent(case.noise_floor)}"
    counts = ", ".join(case.word(outcome) for outcome in COUNTED)
    return case.label, change_words(case.ratio), floor, case.judgement, counts


CASE_HEADS = (
    "Ratio, pooled",
    "Noise floor",
    "Outcome",
    "Single numbers of connections: held, opposite, alike, inconclusive",
)

COLUMNS = (
    Column(SAYS, "TEXT", "the published statement that a row is of"),
    columns.SOURCE,
    Column(
        SERVERS, "TEXT", "the server that ran both sides of a statement, or both servers, the better's first"
    ),
    Column(ACROSS, "INTEGER", "whether the two sides of a statement ran on two servers"),
    Column(TO_OWN, "INTEGER", "whether each side is taken as its ratio to its own process's baseline"),
    Column(CHOSEN, "INTEGER", "whether the best of several is compared, chosen by other blocks"),
    columns.NOISE_FROM,
    columns.POOLED,
    *(Column(outcome, "INTEGER", meaning) for outcome, meaning in COUNTED.items()),
)

TOPIC = Topic(
    "statements", "What others published, and what was seen here", rows, sections, sentences, COLUMNS
)
