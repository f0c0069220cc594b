"""Whether times differ the way that was published: ratios given by hand, and what is said of each line."""

from __future__ import annotations

from intervals import known
from tlstax.findings.published.time_differences import time_differences
from tlstax.results.interval import Interval
from tlstax.results.published_tables import (
    DifferenceResult,
    MeasuredTime,
    PartOfTime,
    Shown,
    TimeLine,
    TimeTableResult,
)
from tlstax.study import Column, TimeRow, TimeTable

PLAIN, TLS, OLD = "plain", "TLS", "old TLS"
VALID, NOT_RUN = Shown(standing="valid", trials=3, ran="TLSv1.3"), Shown(standing="not run")
INVALID = Shown(standing="invalid", trials=3, ran="TLSv1.3")

LONGER, SHORTER, ALIKE = known(1.2, 1.1, 1.3, 3), known(0.8, 0.75, 0.85, 3), known(1.0, 0.9, 1.1, 3)
WIDE = known(1.0, 0.8, 1.25, 3)


def part(
    ratio: Interval | None,
    *,
    key: str = "a",
    first: Shown = VALID,
    other: Shown = VALID,
    floor: float | None = None,
) -> PartOfTime:
    """What a part measured of TLS; the older TLS takes as long as nothing that was published."""
    ratios = {} if ratio is None else {TLS: ratio, OLD: known(1.0, 0.99, 1.01, 3)}
    shown = {PLAIN: first, TLS: other, OLD: VALID}
    sides = tuple(MeasuredTime(side=name, shown=each) for name, each in shown.items())
    return PartOfTime(part=key, sides=sides, ratios=ratios, noise_floor=floor)


def line(label: str, *parts: PartOfTime, tls: float = 12.0, **more: float) -> TimeLine:
    """A line that has 10 s without TLS, and so many with it."""
    published = {PLAIN: 10.0, TLS: tls, **more}
    ratios = {name: value / 10.0 for name, value in published.items() if name != PLAIN}
    return TimeLine(label=label, published=published, published_ratios=ratios, parts=parts)


def differences(*lines: TimeLine) -> list[DifferenceResult]:
    table = TimeTable(
        number="VI",
        title="Mean times",
        source="somebody",
        outcome="round_s",
        sides=tuple(Column(name=name, levels={"tls": name}) for name in (PLAIN, TLS, OLD)),
        rows=tuple(TimeRow(label=each.label, values=each.published) for each in lines),
    )
    return list(time_differences(TimeTableResult(published=table, lines=lines, reading="")))


def only(*lines: TimeLine) -> DifferenceResult:
    (one,) = differences(*lines)
    return one


def test_a_line_is_told_as_it_was_published() -> None:
    found = only(line("SELECT", part(LONGER, floor=0.05)))
    assert (found.table, found.label, found.outcome) == ("VI", "SELECT", "round_s")
    assert (found.side, found.against, found.published) == (TLS, PLAIN, (10.0, 12.0))
    assert found.says == "SELECT takes longer with TLS (12 s beside 10 s, +20 %)"
    assert (found.verdict, found.sentence) == ("right", "right: +20 % (+10 to +30 %)")
    (here,) = found.parts
    assert (here.part, here.answer, here.ratio, here.noise_floor) == ("a", "right", LONGER, 0.05)
    assert (here.difference, here.why, here.sentence) == (None, "", "right: +20 % (+10 to +30 %)")


def test_what_was_published_as_shorter_is_right_where_it_is_shorter() -> None:
    shorter = only(line("SELECT", part(SHORTER), tls=5.0))
    assert shorter.says == "SELECT takes shorter with TLS (5 s beside 10 s, \N{MINUS SIGN}50 %)"
    assert shorter.verdict == "right"
    assert only(line("SELECT", part(LONGER), tls=5.0)).verdict == "wrong"
    assert only(line("SELECT", part(SHORTER))).verdict == "wrong"


def test_within_the_noise_floor_nothing_is_told() -> None:
    (here,) = only(line("SELECT", part(LONGER, floor=0.25))).parts
    assert (here.answer, here.ratio, here.noise_floor) == ("inconclusive", LONGER, 0.25)
    assert here.sentence == ("inconclusive: +20 % (+10 to +30 %), within the noise floor of ±25 %")
    (unclear,) = only(line("SELECT", part(ALIKE, floor=0.25))).parts
    assert unclear.sentence == "inconclusive: +0 % (\N{MINUS SIGN}10 to +10 %)"


def test_what_was_published_may_be_ruled_out_though_no_difference_is_seen() -> None:
    (here,) = only(line("SELECT", part(ALIKE))).parts
    assert here.answer == "wrong"
    assert here.sentence == "wrong: +0 % (\N{MINUS SIGN}10 to +10 %), which rules +20 % out"
    (near,) = only(line("SELECT", part(ALIKE), tls=10.9)).parts
    assert near.answer == "inconclusive", "+9 % may be the truth"
    (within_floor,) = only(line("SELECT", part(ALIKE, floor=0.2000001))).parts
    assert within_floor.answer == "inconclusive", "the control strays by as much"
    (once,) = only(line("SELECT", part(known(1.0, None, None, 1)))).parts
    assert once.answer == "inconclusive"


def test_a_part_whose_sides_are_not_what_they_are_called_tests_nothing() -> None:
    (unrun,) = only(line("SELECT", part(LONGER, other=NOT_RUN))).parts
    assert (unrun.answer, unrun.why) == ("not tested", "it was not run")
    (untrue,) = only(line("SELECT", part(LONGER, first=INVALID))).parts
    assert (untrue.part, untrue.sentence) == ("a", "not tested: TLS was compared with TLS")
    (apart,) = only(line("SELECT", part(None, key="b"))).parts
    assert (apart.part, apart.why, apart.ratio) == ("b", "no block has both of them", None)
    assert apart.sentence == "not tested: no block has both of them"


def test_parts_answer_one_by_one() -> None:
    found = only(line("SELECT", part(LONGER), part(SHORTER, key="b"), part(None, key="c")))
    assert [here.answer for here in found.parts] == ["right", "wrong", "not tested"]
    assert found.verdict == "right in some parts, wrong in others"
    assert found.sentence.startswith("right: (a) +20 %")


def test_a_line_that_does_not_differ_or_lacks_the_side_is_no_difference() -> None:
    assert differences(line("SELECT", part(LONGER), tls=10.0)) == []
    sides = [(one.label, one.side) for one in differences(line("SELECT", part(LONGER), **{OLD: 30.0}))]
    assert sides == [("SELECT", TLS), ("SELECT", OLD)]


def test_all_lines_come_before_each_of_them() -> None:
    lines = (
        line("SELECT", part(LONGER), part(LONGER, key="b")),
        line("INSERT", part(SHORTER), part(WIDE, key="b"), tls=9.0),
    )
    everything, select, insert = differences(*lines)
    assert (select.label, insert.label) == ("SELECT", "INSERT")
    assert (everything.table, everything.label, everything.outcome) == ("VI", "Mean times", "round_s")
    assert (everything.side, everything.against, everything.published) == (TLS, PLAIN, None)
    assert everything.says == "Mean times: 1 of 2 take longer with TLS"
    assert [(here.part, here.answer, here.sentence) for here in everything.parts] == [
        ("a", "right", "right: as published in 2 (SELECT, INSERT)"),
        (
            "b",
            "inconclusive",
            "inconclusive: as published in 1 (SELECT), inconclusive in 1 (INSERT)",
        ),
    ]
    assert everything.verdict == "right"
    assert everything.sentence == (
        "right: (a) as published in 2 (SELECT, INSERT); inconclusive: (b) as published in 1 "
        "(SELECT), inconclusive in 1 (INSERT)"
    )


def together(*parts: PartOfTime) -> tuple[str, str]:
    """The answer of all lines, one for each of these parts, and its sentence."""
    lines = [line(f"L{place}", own) for place, own in enumerate(parts)]
    (here,) = differences(*lines)[0].parts
    return here.answer, here.sentence


def test_one_line_that_goes_the_other_way_makes_all_of_them_wrong() -> None:
    lines = (part(LONGER), part(SHORTER), part(ALIKE), part(WIDE), part(None))
    answer, sentence = together(*lines)
    assert answer == "wrong"
    assert sentence == (
        "wrong: as published in 1 (L0), otherwise in 2 (L1, L2), inconclusive in 1 (L3), not tested in 1 (L4)"
    )


def test_a_line_that_was_not_tested_leaves_all_of_them_open() -> None:
    assert together(part(LONGER), part(None)) == (
        "inconclusive",
        "inconclusive: as published in 1 (L0), not tested in 1 (L1)",
    )


def test_where_no_line_was_tested_the_first_reason_is_told() -> None:
    first_reason = part(LONGER, other=NOT_RUN)
    assert together(first_reason, part(None)) == ("not tested", "not tested: it was not run")
    lines = [line("L0", part(None, key="z")), line("L1", part(None, key="z"))]
    (here,) = differences(*lines)[0].parts
    assert (here.part, here.why) == ("z", "no block has both of them")
