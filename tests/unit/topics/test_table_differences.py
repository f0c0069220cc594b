"""Whether what was published to differ does so here: the means of processors' shares, and times."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from fake_trials import untrue
from intervals import known
from observed_windows import seconds, ticks
from tlstax.records.trial import TrialRecord
from tlstax.results.interval import Interval
from tlstax.results.rows import Row
from tlstax.study import Claim, Column, Part, ProcessorTable, TimeRow, TimeTable, load_study
from tlstax.support.grouping import grouped
from tlstax.topics.tables.differences import (
    answer_to,
    load_differences,
    said,
    sentence_of,
    time_differences,
    verdict_of,
)
from tlstax.topics.tables.measured import RATIO, Measured, Shown
from watched_trials import system, unwatched, watched

STUDY = load_study("crud-tls")
ROW = (100.0, 0.0, 0.0, 0.0, 0.0, 0.0)
ENGINE = Part(key="a", title="the engine", within={"client": "engine"})
OTHER = Part(key="b", title="the other", within={"client": "mysqlslap-9.7"})

HALF = 6.20535 * 0.1 / 3**0.5
"""Half an interval of three blocks that scatter by 0.1: t(2) at 98.75 % times their standard error."""


def claim(side: str, value: float, **more: str) -> Claim:
    fields = {"says": "so", "side": side, "column": "system", "kind": "mean", "value": value, **more}
    return Claim.model_validate(fields)


HIGHER = (claim("plain", 10.0), claim("TLS", 12.5))
LOWER = (claim("plain", 10.0), claim("TLS", 8.0))


def table_of(*claims: Claim) -> ProcessorTable:
    return ProcessorTable(
        number="II",
        title="CPU use",
        source="somebody",
        step_s=5,
        within={"workload": "people-select"},
        sides=(
            Column(name="plain", levels={"tls": "off"}),
            Column(name="TLS", levels={"tls": "1.3"}),
            Column(name="old TLS", levels={"tls": "1.2"}),
        ),
        rows={"plain": (ROW,), "TLS": (ROW,)},
        claims=claims,
    )


def of_loads(
    *records: TrialRecord, claims: tuple[Claim, ...] = HIGHER, parts: tuple[Part, ...] = (ENGINE,)
) -> list[Row]:
    return list(load_differences(table_of(*claims), Measured(STUDY, parts, records)))


def load_difference(*records: TrialRecord, claims: tuple[Claim, ...] = HIGHER) -> Row:
    (part,) = of_loads(*records, claims=claims)
    return part


UNENCRYPTED = tuple(watched(*system(10.0), block=block) for block in range(3))
ENCRYPTED = tuple(
    watched(*system(each), tls="1.3", block=block) for block, each in enumerate((12.9, 13.0, 13.1))
)
BASELINE = tuple(watched(*system(10.0), block=block, role="baseline") for block in range(3))


def controls(*per_cent: float, client: str = "engine") -> tuple[TrialRecord, ...]:
    return tuple(
        watched(*system(each), block=block, role="control", client=client)
        for block, each in enumerate(per_cent)
    )


def test_a_planted_difference_is_found_as_it_was_published() -> None:
    part = load_difference(*UNENCRYPTED, *ENCRYPTED)
    assert (part.role, part.label, part.outcome) == (
        "table, difference",
        "CPU use",
        "machine_system_percent",
    )
    assert part.caveats == (
        "CPU use: %system is higher with TLS on average (12.5 beside 10)",
        "right: +3.0 points (+2.6 to +3.4)",
    )
    assert part.more == {
        "published_table": "II",
        "part": "a",
        "side": "TLS",
        "against": "plain",
        "published_points": 2.5,
    }
    assert (part.judgement, part.noise_floor, part.unit) == ("right", None, "points")
    assert (verdict_of([part]), sentence_of([part])) == ("right", "right: +3.0 points (+2.6 to +3.4)")
    assert (part.known.point, part.known.blocks) == (pytest.approx(3.0), 3)
    assert part.known.confidence == 0.95
    assert part.known.low == pytest.approx(3.0 - HALF, rel=1e-4)


def test_what_was_published_as_lower_is_wrong_where_it_is_higher() -> None:
    found = load_difference(*UNENCRYPTED, *ENCRYPTED, claims=LOWER)
    assert found.caveats[0] == "CPU use: %system is lower with TLS on average (8 beside 10)"
    assert found.judgement == "wrong"
    less = [watched(*system(7.0), tls="1.3", block=block) for block in range(3)]
    assert load_difference(*UNENCRYPTED, *less, claims=LOWER).judgement == "right"
    assert load_difference(*UNENCRYPTED, *less).judgement == "wrong"


def test_only_means_that_the_text_has_for_two_sides_and_that_differ_are_asked_of() -> None:
    assert of_loads(claims=(claim("plain", 10.0), claim("TLS", 10.0))) == []
    assert of_loads(claims=(claim("plain", 10.0),)) == []
    assert of_loads(claims=(claim("TLS", 10.0), claim("old TLS", 11.0))) == []
    assert of_loads(claims=(claim("plain", 10.0), claim("TLS", 12.0, kind="highest"))) == []
    several = (
        *HIGHER,
        claim("old TLS", 9.0),
        claim("TLS", 0.5, column="user"),
        claim("plain", 0.25, column="user"),
    )
    assert [
        (row.outcome, row.more["side"], row.more["published_points"]) for row in of_loads(claims=several)
    ] == [
        ("machine_system_percent", "TLS", 2.5),
        ("machine_system_percent", "old TLS", -1.0),
        ("machine_user_percent", "TLS", 0.25),
    ]


def test_the_column_that_was_published_is_measured() -> None:
    idle = (claim("plain", 90.0, column="idle"), claim("TLS", 87.0, column="idle"))
    part = load_difference(*UNENCRYPTED, *ENCRYPTED, claims=idle)
    assert part.judgement == "right"
    assert part.known.point == pytest.approx(-3.0)


def test_each_part_is_judged_by_its_own_trials_of_the_table() -> None:
    elsewhere = watched(*system(90.0), tls="1.3", workload="people-insert")
    slapped = [
        watched(*system(each), tls=tls, block=block, client="mysqlslap-9.7")
        for tls, each in (("off", 20.0), ("1.3", 19.0))
        for block in range(3)
    ]
    found = of_loads(*UNENCRYPTED, *ENCRYPTED, elsewhere, *slapped, parts=(ENGINE, OTHER))
    assert [(part.more["part"], part.judgement) for part in found] == [("a", "right"), ("b", "wrong")]
    assert verdict_of(found) == "right in some parts, wrong in others"


def test_a_part_that_cannot_tell_says_why() -> None:
    unrun = load_difference(*UNENCRYPTED)
    assert (unrun.more["part"], unrun.judgement) == ("a", "not tested")
    assert said(unrun) == "not tested: it was not run"
    untrue_plain = [untrue(record, "it was not so") for record in UNENCRYPTED]
    assert said(load_difference(*untrue_plain, *ENCRYPTED)) == "not tested: its trials are invalid"
    not_watched = "the processors were not watched in both of a block"
    assert said(load_difference(*UNENCRYPTED, *map(unwatched, ENCRYPTED))) == f"not tested: {not_watched}"
    apart = load_difference(UNENCRYPTED[0], ENCRYPTED[1])
    assert (said(apart), apart.interval, apart.noise_floor) == (f"not tested: {not_watched}", None, None)
    one = load_difference(UNENCRYPTED[0], ENCRYPTED[0], UNENCRYPTED[1], unwatched(ENCRYPTED[1]))
    assert said(one) == "inconclusive: +2.90 points in one block alone"


def test_a_difference_within_what_the_control_strays_is_not_told() -> None:
    """The control strays by 3.5 in each block, with no scatter."""
    part = load_difference(*BASELINE, *ENCRYPTED, *controls(13.5, 13.5, 13.5))
    assert part.noise_floor == pytest.approx(3.5)
    assert part.judgement == "inconclusive"
    assert said(part) == ("inconclusive: +3.0 points (+2.6 to +3.4), within the noise floor of ±3.5 points")
    near = load_difference(*BASELINE, *ENCRYPTED, *controls(10.5, 10.5, 10.5))
    assert (near.noise_floor, near.judgement) == (pytest.approx(0.5), "right")
    assert said(near) == "right: +3.0 points (+2.6 to +3.4)"


def test_a_difference_of_the_published_size_may_be_ruled_out() -> None:
    """2.5 points more were published; none are seen, give or take less than half a point."""
    none = [watched(*system(each), tls="1.3", block=b) for b, each in enumerate((9.9, 10.0, 10.1))]
    part = load_difference(*BASELINE, *none)
    assert part.judgement == "wrong"
    assert said(part).startswith("wrong: ")
    assert said(part).endswith(", which rules +2.50 points out")
    strayed = load_difference(*BASELINE, *none, *controls(12.5, 12.5, 12.5))
    assert strayed.judgement == "inconclusive", "the control strays by as much"


def test_a_control_that_strays_both_ways_has_the_floor_of_its_scatter() -> None:
    """Off by −0.1, 0 and 0.1 from the baseline: nothing on average, give or take half an interval."""
    part = load_difference(*BASELINE, *ENCRYPTED, *controls(9.9, 10.0, 10.1))
    assert part.noise_floor == pytest.approx(HALF, rel=1e-4)


def test_of_several_controls_the_farthest_counts_and_each_has_its_own_baseline() -> None:
    slapped = [watched(*system(20.0), block=b, role="baseline", client="mysqlslap-9.7") for b in range(3)]
    near, far = controls(10.5, 10.5, 10.5), controls(22.0, 22.0, 22.0, client="mysqlslap-9.7")
    for order in ((*near, *far), (*far, *near)):
        assert load_difference(*BASELINE, *ENCRYPTED, *slapped, *order).noise_floor == pytest.approx(2.0)


def test_what_says_nothing_of_noise_is_passed_over() -> None:
    def floor(*more: TrialRecord) -> float | None:
        return load_difference(*BASELINE, *ENCRYPTED, *more).noise_floor

    strays = controls(19.0, 19.0, 19.0)
    assert floor(*(untrue(record, "it was not so") for record in strays)) is None
    assert floor(*(unwatched(record) for record in strays)) is None
    assert floor(strays[0]) is None, "one block alone shows no scatter"
    assert floor(*controls(19.0, 19.0, client="mysqlslap-9.7")) is None, "it has no baseline"
    of_tls = [watched(*system(19.0), tls="1.3", block=block, role="control") for block in range(3)]
    assert floor(*of_tls) is None, "the first side's control counts"
    inserts = [
        watched(*system(each), block=block, role=role, workload="people-insert")
        for each, role in ((10.0, "baseline"), (19.0, "control"))
        for block in range(3)
    ]
    assert floor(*inserts) is None, "another workload's does not"


def test_blocks_in_which_the_baseline_was_not_watched_do_not_count() -> None:
    """Only blocks 0 and 1 have both; in the others the control strayed far."""
    strays = controls(10.5, 10.5, 90.0, 90.0)
    records = (*BASELINE[:2], unwatched(BASELINE[2]), *ENCRYPTED, *strays)
    assert load_difference(*records).noise_floor == pytest.approx(0.5)
    no_ticks = (
        *BASELINE,
        *ENCRYPTED,
        *controls(10.5, 10.5),
        watched(*seconds(ticks()), block=2, role="control"),
    )
    assert load_difference(*no_ticks).noise_floor == pytest.approx(0.5)


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
    """A line that has 10 s without TLS, and N with it."""
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
