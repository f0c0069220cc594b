"""Whether a time table's sides differ the way that was published, line by line and in all lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlstax.findings.core.wording import signed_percent
from tlstax.findings.published.answers import answer_to_ratio
from tlstax.findings.published.sides import why_not_tested
from tlstax.findings.published.words import (
    ratio_words,
    ruled_out,
    sentence_of,
    untested,
    verdict_of,
    within_floor,
)
from tlstax.results.published_tables import (
    Answer,
    DifferenceHere,
    DifferenceResult,
    PartOfTime,
    TimeLine,
    TimeTableResult,
)


def time_differences(found: TimeTableResult) -> Iterator[DifferenceResult]:
    """For each side but the first: whether it takes longer in all lines, then in each of them."""
    first, *others = (column.name for column in found.published.sides)
    for name in others:
        lines = [line for line in found.lines if line.published_ratios.get(name, 1.0) != 1.0]
        results = [_of_line(found, line, name, first) for line in lines]
        if len(results) > 1:
            yield _of_all(found, results, name, first)
        yield from results


def _of_line(found: TimeTableResult, line: TimeLine, name: str, first: str) -> DifferenceResult:
    ratio = line.published_ratios[name]
    here = tuple(_here(part, name, first, ratio) for part in line.parts)
    longer = "longer" if ratio > 1 else "shorter"
    return DifferenceResult(
        table=found.published.number,
        label=line.label,
        says=f"{line.label} takes {longer} with {name} ({line.published[name]:g} s beside "
        f"{line.published[first]:g} s, {signed_percent(ratio - 1)})",
        outcome=found.published.outcome,
        side=name,
        against=first,
        published=(line.published[first], line.published[name]),
        verdict=verdict_of(here),
        sentence=sentence_of(here),
        parts=here,
    )


def _here(part: PartOfTime, name: str, first: str, published: float) -> DifferenceHere:
    sides = {measured.side: measured.shown for measured in part.sides}
    why = why_not_tested((sides[first], sides[name]))
    ratio = part.ratios.get(name)
    if why or ratio is None:
        return untested(part.part, why or "no block has both of them")
    answer = answer_to_ratio(ratio, part.noise_floor, published=published)
    why = within_floor(part.noise_floor, answer, is_clear=ratio.excludes_one, unit="%")
    why += ruled_out(answer, signed_percent(published - 1))
    return DifferenceHere(
        part=part.part,
        answer=answer,
        ratio=ratio,
        noise_floor=part.noise_floor,
        sentence=f"{answer}: {ratio_words(ratio)}{why}",
    )


def _of_all(
    found: TimeTableResult, results: Sequence[DifferenceResult], name: str, first: str
) -> DifferenceResult:
    """All lines together: whether each of them goes the way that was published."""
    longer = sum(result.published[1] > result.published[0] for result in results if result.published)
    parts = [here.part for here in results[0].parts]
    here = tuple(
        _all_here(part, [(result, result.parts[place]) for result in results])
        for place, part in enumerate(parts)
    )
    return DifferenceResult(
        table=found.published.number,
        label=found.published.title,
        says=f"{found.published.title}: {longer} of {len(results)} take longer with {name}",
        outcome=found.published.outcome,
        side=name,
        against=first,
        published=None,
        verdict=verdict_of(here),
        sentence=sentence_of(here),
        parts=here,
    )


def _all_here(part: str, lines: Sequence[tuple[DifferenceResult, DifferenceHere]]) -> DifferenceHere:
    """Right where every line goes the way that was published, wrong where one does not."""
    answers = [here.answer for _, here in lines]
    whys = list(dict.fromkeys(here.why for _, here in lines if here.answer == "not tested"))
    if whys and answers.count("not tested") == len(answers):
        return untested(part, whys[0])
    answer: Answer = "inconclusive"
    if "wrong" in answers:
        answer = "wrong"
    elif set(answers) == {"right"}:
        answer = "right"
    groups = {
        "as published": "right",
        "otherwise": "wrong",
        "inconclusive": "inconclusive",
        "not tested": "not tested",
    }
    counts = [
        f"{words} in {answers.count(of)} ({', '.join(r.label for r, here in lines if here.answer == of)})"
        for words, of in groups.items()
        if of in answers
    ]
    return DifferenceHere(part=part, answer=answer, sentence=f"{answer}: {', '.join(counts)}")
