"""Whether a published difference is right, wrong or inconclusive, by what was measured, and in words."""

from __future__ import annotations

from collections.abc import Sequence

from tlstax.findings.core import stats
from tlstax.findings.core.judgements import is_different
from tlstax.findings.core.wording import alike, percent, with_sign
from tlstax.results.interval import Interval
from tlstax.results.rows import Row
from tlstax.support.text import enumerated
from tlstax.topics.tables.sides import PART

DIFFERENCE = "table, difference"
"""The role of a row that says what a part tells of a published difference, in `judgement`.

Its first caveat is the difference in words, the second what the part says of it.
"""

ANSWERS = ("right", "wrong", "inconclusive", "not tested")


def said(here: Row) -> str:
    """What a part says of a difference: "right: +11.4 % (9.0 to 13.9 %)"."""
    return here.caveats[1]


def answer_to_ratio(ratio: Interval, floor: float | None, *, published: float) -> str:
    """Whether a ratio was distinguished from 1, and goes the way that was published.

    Where it was not, the published ratio may yet be ruled out, which is wrong then as well: there is no
    difference of that size here.
    """
    if is_different(ratio, floor):
        return "right" if (ratio.point > 1) == (published > 1) else "wrong"
    is_hidden = stats.relative_difference(published) <= (floor or 0.0)
    return "inconclusive" if is_hidden or _holds(ratio, published) else "wrong"


def answer_to_difference(found: Interval, floor: float | None, *, published: float) -> str:
    """The same of a difference, which is told from 0."""
    least = floor or 0.0
    if found.excludes_zero and abs(found.point) > least:
        return "right" if (found.point > 0) == (published > 0) else "wrong"
    is_hidden = abs(published) <= least
    return "inconclusive" if is_hidden or _holds(found, published) else "wrong"


def _holds(found: Interval, value: float) -> bool:
    """Whether a value may be the true one; any may, where there is no interval."""
    return found.low is None or found.high is None or found.low <= value <= found.high


def verdict_of(parts: Sequence[Row]) -> str:
    """The verdict over all parts: those with an answer must agree; a part that tests nothing has none."""
    answers = {here.judgement for here in parts}
    if {"right", "wrong"} <= answers:
        return "right in some parts, wrong in others"
    return next((answer for answer in ANSWERS if answer in answers), "not tested")


def sentence_of(parts: Sequence[Row]) -> str:
    """What the parts say, by their answers: "right: (b) and (c) +11 %; not tested: (a) it was not run"."""
    if len(parts) == 1:
        return said(parts[0])
    by_answer = []
    for answer in ANSWERS:
        details: dict[str, list[str]] = {}
        for here in parts:
            if here.judgement == answer:
                details.setdefault(said(here).partition(": ")[2], []).append(f"({here.word(PART)})")
        if details:
            named = (f"{enumerated(keys)} {words}" for words, keys in details.items())
            by_answer.append(f"{answer}: {', '.join(named)}")
    return "; ".join(by_answer)


def points_words(found: Interval) -> str:
    """A difference of percentages with its interval: "+3.4 points (2.9 to 3.9)"."""
    if found.low is None or found.high is None:
        return f"{with_sign(f'{found.point:.2f}')} points in one block alone"
    point, low, high = (with_sign(text) for text in alike(found.point, found.low, found.high))
    return f"{point} points ({low} to {high})"


def ruled_out(answer: str, published: str) -> str:
    """What a wrong answer says of the published difference; else empty."""
    return f", which rules {published} out" if answer == "wrong" else ""


def within_floor(floor: float | None, answer: str, *, is_clear: bool, unit: str) -> str:
    """Why a difference that is clear by its interval is not counted after all; else empty."""
    if answer != "inconclusive" or not is_clear or floor is None:
        return ""
    size = percent(floor) if unit == "%" else f"{floor:.2g} {unit}"
    return f", within the noise floor of ±{size}"
