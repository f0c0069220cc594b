"""What the parts of a run say of a published difference, as a verdict and in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from tlstax.findings.core.wording import alike, change_words, percent, with_sign
from tlstax.results.interval import Interval
from tlstax.results.published_tables import Answer, DifferenceHere, Verdict
from tlstax.support.text import enumerated

ANSWERS: tuple[Answer, ...] = ("right", "wrong", "inconclusive", "not tested")


def verdict_of(parts: Sequence[DifferenceHere]) -> Verdict:
    """The verdict over all parts: those with an answer must agree; a part that tests nothing has none."""
    answers = {here.answer for here in parts}
    if {"right", "wrong"} <= answers:
        return "right in some parts, wrong in others"
    return next((answer for answer in ANSWERS if answer in answers), "not tested")


def sentence_of(parts: Sequence[DifferenceHere]) -> str:
    """What the parts say, by their answers: "right: (b) and (c) +11 %; not tested: (a) it was not run"."""
    if len(parts) == 1:
        return parts[0].sentence
    by_answer = []
    for answer in ANSWERS:
        details: dict[str, list[str]] = {}
        for here in parts:
            if here.answer == answer:
                details.setdefault(here.sentence.partition(": ")[2], []).append(f"({here.part})")
        if details:
            named = (f"{enumerated(keys)} {words}" for words, keys in details.items())
            by_answer.append(f"{answer}: {', '.join(named)}")
    return "; ".join(by_answer)


def untested(part: str, why: str) -> DifferenceHere:
    """A part that cannot say anything about a difference."""
    return DifferenceHere(part=part, answer="not tested", why=why, sentence=f"not tested: {why}")


def ratio_words(ratio: Interval) -> str:
    """A ratio as a change with its interval: "+11.4 % (9.0 to 13.9 %)"."""
    return change_words(ratio)


def points_words(found: Interval) -> str:
    """A difference of percentages with its interval: "+3.4 points (2.9 to 3.9)"."""
    if found.low is None or found.high is None:
        return f"{with_sign(f'{found.point:.2f}')} points in one block alone"
    point, low, high = (with_sign(text) for text in alike(found.point, found.low, found.high))
    return f"{point} points ({low} to {high})"


def ruled_out(answer: Answer, published: str) -> str:
    """What a wrong answer says of the published difference; else empty."""
    return f", which rules {published} out" if answer == "wrong" else ""


def within_floor(floor: float | None, answer: Answer, *, is_clear: bool, unit: str) -> str:
    """Why a difference that is clear by its interval is not counted after all; else empty."""
    if answer != "inconclusive" or not is_clear or floor is None:
        return ""
    size = percent(floor) if unit == "%" else f"{floor:.2g} {unit}"
    return f", within the noise floor of ±{size}"
