"""Whether times differ the way that was published: right, wrong or not told, and what is said of a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from intervals import known
from tlstax.results.interval import Interval
from tlstax.results.rows import Row
from tlstax.study import Column, Part, TimeRow, TimeTable
from tlstax.support.grouping import grouped
from tlstax.topics.tables.differences import answer_to, said, sentence_of, time_differences, verdict_of
from tlstax.topics.tables.measured import RATIO, Shown

INCONCLUSIVE = "inconclusive"


@pytest.mark.parametrize(
    ("ends", "floor", "published", "answer"),
    [
        ((1.2, 1.1, 1.3), None, 1.01, "right"),
        ((1.2, 1.1, 1.3), None, 0.99, "wrong"),
        ((0.8, 0.7, 0.9), None, 0.99, "right"),
        ((1.0, 0.9, 1.1), None, 1.1, INCONCLUSIVE),
        ((1.0, 0.9, 1.1), None, 0.9, INCONCLUSIVE),
        ((1.0, 0.9, 1.1), None, 1.1001, "wrong"),
        ((1.0, 0.9, 1.1), None, 0.8999, "wrong"),
        ((1.0, 0.9, 1.1), 0.25, 1.25, INCONCLUSIVE),
        ((1.0, 0.9, 1.1), 0.2499, 1.25, "wrong"),
        ((1.0, 0.9, 1.1), 0.25, 0.8, INCONCLUSIVE),
        ((1.2, 1.1, 1.3), 0.25, 1.3, INCONCLUSIVE),
        ((1.0, None, None), None, 5.0, INCONCLUSIVE),
    ],
)
def test_a_ratio(
    ends: tuple[float, float | None, float | None], floor: float | None, published: float, answer: str
) -> None:
    assert answer_to(known(*ends, 3), floor, published=published, is_ratio=True) == answer


@pytest.mark.parametrize(
    ("ends", "floor", "published", "answer"),
    [
        ((0.5, 0.25, 0.75), None, 9.0, "right"),
        ((0.5, 0.25, 0.75), None, 0.5, "right"),
        ((0.5, 0.25, 0.75), None, -0.5, "wrong"),
        ((-0.5, -0.75, -0.25), None, -9.0, "right"),
        ((0.5, 0.25, 0.75), 0.5, 0.5, INCONCLUSIVE),
        ((0.5, 0.25, 0.75), 0.5, 0.8, "wrong"),
        ((0.0, -1.0, 1.0), None, 1.0, INCONCLUSIVE),
        ((0.0, -1.0, 1.0), None, -1.0, INCONCLUSIVE),
        ((0.0, -1.0, 1.0), None, 1.1, "wrong"),
        ((0.0, -1.0, 1.0), 1.1, 1.1, INCONCLUSIVE),
        ((0.0, -1.0, 1.0), 1.0, -1.1, "wrong"),
        ((2.0, None, None), None, 5.0, INCONCLUSIVE),
    ],
)
def test_a_difference(
    ends: tuple[float, float | None, float | None], floor: float | None, published: float, answer: str
) -> None:
    assert answer_to(known(*ends, 3), floor, published=published, is_ratio=False) == answer


PLAIN, TLS, OLD = "plain", "TLS", "old TLS"
VALID, NOT_RUN = Shown(standing="valid", trials=3, ran="TLSv1.3"), Shown(standing="not run")
INVALID = Shown(standing="invalid", trials=3, ran="TLSv1.3")

LONGER, SHORTER, ALIKE = known(1.2, 1.1, 1.3, 3), known(0.8, 0.75, 0.85, 3), known(1.0, 0.9, 1.1, 3)
WIDE = known(1.0, 0.8, 1.25, 3)


@dataclass(frozen=True)
class PartOfTime:
    """What a part measured of TLS; the older TLS takes as long as nothing that was published."""

    ratio: Interval | None
    key: str = "a"
    first: Shown = VALID
    other: Shown = VALID
    floor: float | None = None

    def rows(self, label: str) -> Iterator[Row]:
        """The same of a line."""
        ratios = {} if self.ratio is None else {TLS: self.ratio, OLD: known(1.0, 0.99, 1.01, 3)}
        for side, shown in {PLAIN: self.first, TLS: self.other, OLD: VALID}.items():
            place = {"published_table": "VI", "part": self.key, "side": side}
            yield shown.row({}, label, place)
            if side in ratios:
                yield Row(
                    role=RATIO,
                    outcome="round_s",
                    label=label,
                    interval=ratios[side],
                    of="ratio",
                    noise_floor=self.floor,
                    more=place,
                )


part = PartOfTime
Line = tuple[TimeRow, tuple[PartOfTime, ...]]


def line(label: str, *parts: PartOfTime, tls: float = 12.0, **more: float) -> Line:
    """A line that has 10 s without TLS, and so many with it."""
    return TimeRow(label=label, values={PLAIN: 10.0, TLS: tls, **more}), parts


def differences(*lines: Line) -> list[list[Row]]:
    """What all parts say of each difference."""
    table = TimeTable(
        number="VI",
        title="Mean times",
        source="somebody",
        outcome="round_s",
        sides=tuple(Column(name=name, levels={"tls": name}) for name in (PLAIN, TLS, OLD)),
        rows=tuple(row for row, _ in lines),
    )
    parts = [Part(key=own.key, title=own.key, within={"client": "engine"}) for own in lines[0][1]]
    rows = [row for line, own in lines for each in own for row in each.rows(line.label)]
    found = time_differences(table, parts, rows)
    return list(grouped(found, lambda row: (row.label, row.more["side"])).values())


def only(*lines: Line) -> list[Row]:
    (one,) = differences(*lines)
    return one


def test_a_line_is_told_as_it_was_published() -> None:
    (here,) = only(line("SELECT", part(LONGER, floor=0.05)))
    assert (here.role, here.label, here.outcome) == ("table, difference", "SELECT", "round_s")
    assert here.more == {
        "published_table": "VI",
        "part": "a",
        "side": TLS,
        "against": PLAIN,
        "published": 1.2,
    }
    assert here.caveats == (
        "SELECT takes longer with TLS (12 s beside 10 s, +20 %)",
        "right: +20 % (+10 to +30 %)",
    )
    assert (verdict_of([here]), sentence_of([here])) == ("right", "right: +20 % (+10 to +30 %)")
    assert (here.of, here.interval, here.blocks) == ("ratio", LONGER, 3)
    assert (here.judgement, here.noise_floor) == ("right", 0.05)


def test_what_was_published_as_shorter_is_right_where_it_is_shorter() -> None:
    (shorter,) = only(line("SELECT", part(SHORTER), tls=5.0))
    assert shorter.caveats[0] == "SELECT takes shorter with TLS (5 s beside 10 s, \N{MINUS SIGN}50 %)"
    assert shorter.judgement == "right"
    assert verdict_of(only(line("SELECT", part(LONGER), tls=5.0))) == "wrong"
    assert verdict_of(only(line("SELECT", part(SHORTER)))) == "wrong"


def test_within_the_noise_floor_nothing_is_told() -> None:
    (here,) = only(line("SELECT", part(LONGER, floor=0.25)))
    assert (here.judgement, here.interval, here.noise_floor) == ("inconclusive", LONGER, 0.25)
    assert said(here) == ("inconclusive: +20 % (+10 to +30 %), within the noise floor of ±25 %")
    (unclear,) = only(line("SELECT", part(ALIKE, floor=0.25)))
    assert said(unclear) == "inconclusive: +0 % (\N{MINUS SIGN}10 to +10 %)"


def test_what_was_published_may_be_ruled_out_though_no_difference_is_seen() -> None:
    (here,) = only(line("SELECT", part(ALIKE)))
    assert here.judgement == "wrong"
    assert said(here) == "wrong: +0 % (\N{MINUS SIGN}10 to +10 %), which rules +20 % out"
    (near,) = only(line("SELECT", part(ALIKE), tls=10.9))
    assert near.judgement == "inconclusive", "+9 % may be the truth"
    (within_floor,) = only(line("SELECT", part(ALIKE, floor=0.2000001)))
    assert within_floor.judgement == "inconclusive", "the control strays by as much"
    (once,) = only(line("SELECT", part(known(1.0, None, None, 1))))
    assert once.judgement == "inconclusive"


def test_a_part_whose_sides_are_not_what_they_are_called_tests_nothing() -> None:
    (unrun,) = only(line("SELECT", part(LONGER, other=NOT_RUN)))
    assert (unrun.judgement, said(unrun)) == ("not tested", "not tested: it was not run")
    (untrue,) = only(line("SELECT", part(LONGER, first=INVALID)))
    assert (untrue.more["part"], said(untrue)) == ("a", "not tested: TLS was compared with TLS")
    (apart,) = only(line("SELECT", part(None, key="b")))
    assert (apart.more["part"], apart.interval) == ("b", None)
    assert said(apart) == "not tested: no block has both of them"


def test_parts_answer_one_by_one() -> None:
    found = only(line("SELECT", part(LONGER), part(SHORTER, key="b"), part(None, key="c")))
    assert [here.judgement for here in found] == ["right", "wrong", "not tested"]
    assert verdict_of(found) == "right in some parts, wrong in others"
    assert sentence_of(found).startswith("right: (a) +20 %")


def test_a_line_that_does_not_differ_or_lacks_the_side_is_no_difference() -> None:
    assert differences(line("SELECT", part(LONGER), tls=10.0)) == []
    sides = [
        (one[0].label, one[0].more["side"])
        for one in differences(line("SELECT", part(LONGER), **{OLD: 30.0}))
    ]
    assert sides == [("SELECT", TLS), ("SELECT", OLD)]


def test_all_lines_come_before_each_of_them() -> None:
    lines = (
        line("SELECT", part(LONGER), part(LONGER, key="b")),
        line("INSERT", part(SHORTER), part(WIDE, key="b"), tls=9.0),
    )
    everything, select, insert = differences(*lines)
    assert (select[0].label, insert[0].label) == ("SELECT", "INSERT")
    first = everything[0]
    assert (first.label, first.outcome, first.interval) == ("Mean times", "round_s", None)
    assert first.more == {"published_table": "VI", "part": "a", "side": TLS, "against": PLAIN}
    assert {here.caveats[0] for here in everything} == {"Mean times: 1 of 2 take longer with TLS"}
    assert [(here.more["part"], here.judgement, said(here)) for here in everything] == [
        ("a", "right", "right: as published in 2 (SELECT, INSERT)"),
        (
            "b",
            "inconclusive",
            "inconclusive: as published in 1 (SELECT), inconclusive in 1 (INSERT)",
        ),
    ]
    assert verdict_of(everything) == "right"
    assert sentence_of(everything) == (
        "right: (a) as published in 2 (SELECT, INSERT); inconclusive: (b) as published in 1 "
        "(SELECT), inconclusive in 1 (INSERT)"
    )


def together(*parts: PartOfTime) -> tuple[str, str]:
    """The answer of all lines, one for each of these parts, and its sentence."""
    lines = [line(f"L{place}", own) for place, own in enumerate(parts)]
    (here,) = differences(*lines)[0]
    return here.judgement, said(here)


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
    (here,) = differences(*lines)[0]
    assert (here.more["part"], said(here)) == ("z", "not tested: no block has both of them")
