"""Whether a column's mean differs the way that was published: shares of processors that are known."""

from __future__ import annotations

import pytest

from fake_trials import untrue
from observed_windows import seconds, ticks
from tlstax.records.trial import TrialRecord
from tlstax.results.rows import Row
from tlstax.study import Claim, Column, Part, ProcessorTable, load_study
from tlstax.topics.tables.differences import load_differences, said, sentence_of, verdict_of
from tlstax.topics.tables.measured import Measured
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


def differences(
    *records: TrialRecord, claims: tuple[Claim, ...] = HIGHER, parts: tuple[Part, ...] = (ENGINE,)
) -> list[Row]:
    return list(load_differences(table_of(*claims), Measured(STUDY, parts, records)))


def here(*records: TrialRecord, claims: tuple[Claim, ...] = HIGHER) -> Row:
    (part,) = differences(*records, claims=claims)
    return part


PLAIN = tuple(watched(*system(10.0), block=block) for block in range(3))
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
    part = here(*PLAIN, *ENCRYPTED)
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
    found = here(*PLAIN, *ENCRYPTED, claims=LOWER)
    assert found.caveats[0] == "CPU use: %system is lower with TLS on average (8 beside 10)"
    assert found.judgement == "wrong"
    less = [watched(*system(7.0), tls="1.3", block=block) for block in range(3)]
    assert here(*PLAIN, *less, claims=LOWER).judgement == "right"
    assert here(*PLAIN, *less).judgement == "wrong"


def test_only_means_that_the_text_has_for_two_sides_and_that_differ_are_asked_of() -> None:
    assert differences(claims=(claim("plain", 10.0), claim("TLS", 10.0))) == []
    assert differences(claims=(claim("plain", 10.0),)) == []
    assert differences(claims=(claim("TLS", 10.0), claim("old TLS", 11.0))) == []
    assert differences(claims=(claim("plain", 10.0), claim("TLS", 12.0, kind="highest"))) == []
    several = (
        *HIGHER,
        claim("old TLS", 9.0),
        claim("TLS", 0.5, column="user"),
        claim("plain", 0.25, column="user"),
    )
    assert [
        (row.outcome, row.more["side"], row.more["published_points"]) for row in differences(claims=several)
    ] == [
        ("machine_system_percent", "TLS", 2.5),
        ("machine_system_percent", "old TLS", -1.0),
        ("machine_user_percent", "TLS", 0.25),
    ]


def test_the_column_that_was_published_is_measured() -> None:
    idle = (claim("plain", 90.0, column="idle"), claim("TLS", 87.0, column="idle"))
    part = here(*PLAIN, *ENCRYPTED, claims=idle)
    assert part.judgement == "right"
    assert part.known.point == pytest.approx(-3.0)


def test_each_part_is_judged_by_its_own_trials_of_the_table() -> None:
    elsewhere = watched(*system(90.0), tls="1.3", workload="people-insert")
    slapped = [
        watched(*system(each), tls=tls, block=block, client="mysqlslap-9.7")
        for tls, each in (("off", 20.0), ("1.3", 19.0))
        for block in range(3)
    ]
    found = differences(*PLAIN, *ENCRYPTED, elsewhere, *slapped, parts=(ENGINE, OTHER))
    assert [(part.more["part"], part.judgement) for part in found] == [("a", "right"), ("b", "wrong")]
    assert verdict_of(found) == "right in some parts, wrong in others"


def test_a_part_that_cannot_tell_says_why() -> None:
    unrun = here(*PLAIN)
    assert (unrun.more["part"], unrun.judgement) == ("a", "not tested")
    assert said(unrun) == "not tested: it was not run"
    untrue_plain = [untrue(record, "it was not so") for record in PLAIN]
    assert said(here(*untrue_plain, *ENCRYPTED)) == "not tested: its trials are invalid"
    not_watched = "the processors were not watched in both of a block"
    assert said(here(*PLAIN, *map(unwatched, ENCRYPTED))) == f"not tested: {not_watched}"
    apart = here(PLAIN[0], ENCRYPTED[1])
    assert (said(apart), apart.interval, apart.noise_floor) == (f"not tested: {not_watched}", None, None)
    one = here(PLAIN[0], ENCRYPTED[0], PLAIN[1], unwatched(ENCRYPTED[1]))
    assert said(one) == "inconclusive: +2.90 points in one block alone"


def test_a_difference_within_what_the_control_strays_is_not_told() -> None:
    """The control strays by 3.5 in each block, with no scatter."""
    part = here(*BASELINE, *ENCRYPTED, *controls(13.5, 13.5, 13.5))
    assert part.noise_floor == pytest.approx(3.5)
    assert part.judgement == "inconclusive"
    assert said(part) == ("inconclusive: +3.0 points (+2.6 to +3.4), within the noise floor of ±3.5 points")
    near = here(*BASELINE, *ENCRYPTED, *controls(10.5, 10.5, 10.5))
    assert (near.noise_floor, near.judgement) == (pytest.approx(0.5), "right")
    assert said(near) == "right: +3.0 points (+2.6 to +3.4)"


def test_a_difference_of_the_published_size_may_be_ruled_out() -> None:
    """2.5 points more were published; none are seen, give or take less than half a point."""
    none = [watched(*system(each), tls="1.3", block=b) for b, each in enumerate((9.9, 10.0, 10.1))]
    part = here(*BASELINE, *none)
    assert part.judgement == "wrong"
    assert said(part).startswith("wrong: ")
    assert said(part).endswith(", which rules +2.50 points out")
    strayed = here(*BASELINE, *none, *controls(12.5, 12.5, 12.5))
    assert strayed.judgement == "inconclusive", "the control strays by as much"


def test_a_control_that_strays_both_ways_has_the_floor_of_its_scatter() -> None:
    """Off by −0.1, 0 and 0.1 from the baseline: nothing on average, give or take half an interval."""
    part = here(*BASELINE, *ENCRYPTED, *controls(9.9, 10.0, 10.1))
    assert part.noise_floor == pytest.approx(HALF, rel=1e-4)


def test_of_several_controls_the_farthest_counts_and_each_has_its_own_baseline() -> None:
    slapped = [watched(*system(20.0), block=b, role="baseline", client="mysqlslap-9.7") for b in range(3)]
    near, far = controls(10.5, 10.5, 10.5), controls(22.0, 22.0, 22.0, client="mysqlslap-9.7")
    for order in ((*near, *far), (*far, *near)):
        assert here(*BASELINE, *ENCRYPTED, *slapped, *order).noise_floor == pytest.approx(2.0)


def test_what_says_nothing_of_noise_is_passed_over() -> None:
    def floor(*more: TrialRecord) -> float | None:
        return here(*BASELINE, *ENCRYPTED, *more).noise_floor

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
    assert here(*records).noise_floor == pytest.approx(0.5)
    no_ticks = (
        *BASELINE,
        *ENCRYPTED,
        *controls(10.5, 10.5),
        watched(*seconds(ticks()), block=2, role="control"),
    )
    assert here(*no_ticks).noise_floor == pytest.approx(0.5)
