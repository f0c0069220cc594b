"""What an upgrade of a driver is made of: chains of made-up cases whose times are known block by block."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from fake_driver_cases import NEW, OLD, OTHER, STUDY, driver_case
from tlstax.results.rows import Row
from tlstax.stats.series import Series
from tlstax.study import Case, Published, Study
from tlstax.topics.drivers.defaults import Observed
from tlstax.topics.drivers.splits import (
    ASKING,
    ENCRYPTION,
    VERSION,
    Split,
    rows,
    sentence,
    splits_of,
    table,
    us_per_op,
)

Us = tuple[float, ...]
"""What an operation takes, in each block."""

Measured = tuple[Case, str, Us]

BASELINE, UPGRADED = driver_case(OLD), driver_case(NEW)
OFF = driver_case(NEW, useSSL="false")
LEAN = driver_case(NEW, useSSL="false", useLocalSessionState="true")

CHAIN: tuple[Measured, ...] = (
    (BASELINE, "never", (60.0, 60.0, 60.0)),
    (UPGRADED, "always", (125.0, 127.0, 126.0)),
    (OFF, "never", (80.0, 80.0, 83.0)),
    (LEAN, "never", (75.0, 76.0, 77.0)),
)
"""Encryption takes 45, 47 and 43 µs, asking 5, 4 and 6, the newer driver 15, 16 and 17."""

HALF = 6.20535 / 3**0.5
"""Half an interval of three blocks that scatter by 1: t(2) at 98.75 % times their standard error."""


def series_of(*measured: Measured, study: Study = STUDY) -> Series:
    values = {
        case.levels: {
            block: {"ops_per_s": int(case.levels["connections"]) * 1e6 / us} for block, us in enumerate(times)
        }
        for case, _, times in measured
    }
    cases = {case.levels: case for case, _, _ in measured}
    return Series(study=study, cases=cases, values=values, controls={})


def seen_in(*measured: Measured) -> dict[tuple[tuple[str, object], ...], Observed]:
    return {case.levels: Observed(encrypts, (), trials=3) for case, encrypts, _ in measured}


def splits(*measured: Measured, study: Study = STUDY) -> list[Split]:
    return splits_of(list(rows(series_of(*measured, study=study), seen_in(*measured))))


def only(*measured: Measured, study: Study = STUDY) -> Split:
    (split,) = splits(*measured, study=study)
    return split


def kinds(*measured: Measured) -> list[str]:
    return [part.outcome for part in only(*measured).parts]


def ends(row: Row | None) -> tuple[float, float | None, float | None, int]:
    assert row is not None
    known = row.known
    assert known.confidence == 0.95
    return known.point, known.low, known.high, known.blocks


def around(point: float, half: float) -> object:
    return pytest.approx((point, point - half, point + half, 3), rel=1e-5)


def published(split: Split) -> list[float | None]:
    """What was published of the whole, then the share of each part."""
    shares = [split.shares.get(part.outcome) for part in split.parts]
    of_parts = [share.number("published") if share is not None else None for share in shares]
    return [split.operation.number("published"), *of_parts]


def test_an_upgrade_is_split_into_parts_that_add_up() -> None:
    split = only(*CHAIN)
    operation = split.operation
    assert (operation.label, operation.unit) == ("Connector/J 8.0.16", "us")
    assert (operation.case, operation.baseline) == (UPGRADED.levels, BASELINE.levels)
    assert (operation.value, operation.baseline_value) == pytest.approx((126.0, 60.0))
    assert ends(split.together) == around(66.0, HALF)
    assert [part.outcome for part in split.parts] == [ENCRYPTION, ASKING, VERSION]
    encryption, statements, version = split.parts
    assert ends(encryption) == around(45.0, 2 * HALF)
    assert ends(statements) == around(5.0, HALF)
    assert ends(version) == around(16.0, HALF)
    assert [(part.case, part.baseline) for part in split.parts] == [
        (UPGRADED.levels, OFF.levels),
        (OFF.levels, LEAN.levels),
        (LEAN.levels, BASELINE.levels),
    ]
    assert {(part.role, part.unit, part.label, part.of) for part in split.parts} == {
        ("driver split", "us", "Connector/J 8.0.16", "value")
    }


def test_each_part_has_its_share_and_the_whole_is_a_ratio_too() -> None:
    split = only(*CHAIN)
    assert list(split.shares) == [ENCRYPTION, ASKING, VERSION]
    for share, planted, part in zip(
        split.shares.values(), (45 / 66, 5 / 66, 16 / 66), split.parts, strict=True
    ):
        known = share.known
        assert known.low is not None
        assert known.high is not None
        assert known.point == pytest.approx(planted)
        assert known.low < planted < known.high
        assert (share.role, share.unit, share.case) == ("driver split share", "1", part.case)
    ratio = split.operation.known
    assert (split.operation.of, ratio.point) == ("ratio", pytest.approx((125 * 127 * 126) ** (1 / 3) / 60))
    assert (ratio.blocks, ratio.confidence) == (3, 0.95)
    assert sentence(split, STUDY).startswith(
        "from Connector/J 5.1.6 to Connector/J 8.0.16 an operation takes 2.10 times as long"
    )
    assert published(split) == [None] * 4


def test_only_blocks_that_the_whole_chain_has_count() -> None:
    """A fourth block in which two of the cases were valid changes nothing."""
    longer = [(case, how, (*us, 1000.0) if case in (BASELINE, OFF) else us) for case, how, us in CHAIN]
    assert only(*longer) == only(*CHAIN)
    apart = {
        BASELINE.levels: {9: {"ops_per_s": 1.0}},
        UPGRADED.levels: {0: {"ops_per_s": 1.0}},
    }
    planned = series_of(*CHAIN[:2]).cases
    clear = dict.fromkeys(planned, Observed("never", (), trials=1))
    assert not list(rows(Series(STUDY, planned, apart, {}), clear))


def test_the_label_names_another_workload() -> None:
    other = [
        (driver_case(str(c.levels["client"]), workload="words-execute"), how, us) for c, how, us in CHAIN[:1]
    ]
    newer = driver_case(NEW, workload="words-execute")
    split = only(*other, (newer, "never", (70.0, 71.0, 72.0)))
    assert split.operation.label == "Connector/J 8.0.16, words-execute"
    assert sentence(split, STUDY).startswith(
        "from Connector/J 5.1.6 to Connector/J 8.0.16, words-execute an "
    )


def test_chains_stay_on_their_server_and_workload() -> None:
    """Elsewhere there is no older driver: its own parts alone are told."""
    away, away_off = (
        driver_case(NEW, server="mysql-9.7"),
        driver_case(NEW, server="mysql-9.7", useSSL="false"),
    )
    here, there = splits(
        *CHAIN, (away, "always", (100.0, 101.0, 102.0)), (away_off, "never", (60.0, 60.0, 60.0))
    )
    assert here == only(*CHAIN)
    assert (there.operation.baseline_value, there.operation.interval, there.together) == (None, None, None)
    assert published(there) == [None, None]
    assert (there.operation.value, there.operation.blocks) == (pytest.approx(101.0), 3)
    assert there.operation.baseline == away_off.levels
    (part,) = there.parts
    assert (part.outcome, there.shares) == (ENCRYPTION, {})
    assert ends(part) == around(41.0, HALF)
    assert sentence(there, STUDY) == (
        "Connector/J 8.0.16, mysql-9.7: of what an operation takes, encryption is 41 µs (37 to 45 µs)"
    )


def test_each_driver_is_split_with_cases_of_its_own() -> None:
    other = driver_case(OTHER)
    first, second = splits(*CHAIN, (other, "never", (61.0, 63.0, 62.0)))
    assert first == only(*CHAIN)
    assert second.operation.case == other.levels
    assert [part.outcome for part in second.parts] == [VERSION]
    assert ends(second.together) == around(2.0, HALF)


def test_a_driver_in_the_clear_has_no_encryption_to_turn_off() -> None:
    assert kinds(CHAIN[0], (UPGRADED, "never", (70.0, 71.0, 72.0)), CHAIN[2]) == [VERSION]


def test_of_several_ways_to_turn_tls_off_the_one_of_fewest_options_is_taken() -> None:
    """LEAN is in the clear as well, with one option more."""
    for order in (CHAIN, CHAIN[::-1]):
        assert only(*order).parts[0].baseline == OFF.levels


def test_a_driver_that_was_told_not_to_ask_has_no_statements_to_lose() -> None:
    assert kinds(CHAIN[0], CHAIN[1], CHAIN[3]) == [ENCRYPTION, VERSION]
    assert kinds(CHAIN[0], CHAIN[1], CHAIN[2]) == [ENCRYPTION, VERSION]


def test_only_cases_that_encrypt_alike_are_taken_from_one_another() -> None:
    asks_less = driver_case(NEW, useLocalSessionState="true")
    old, us = (BASELINE, "never", (60.0, 60.0, 60.0)), (70.0, 71.0, 72.0)
    plain: Measured = (UPGRADED, "never", us)
    assert kinds(old, plain, (asks_less, "never", us)) == [ASKING, VERSION]
    assert kinds(old, plain, (asks_less, "always", us)) == [VERSION]
    assert not splits((BASELINE, "never", us), (UPGRADED, "always", us))
    assert not splits((BASELINE, "sometimes", us), (UPGRADED, "sometimes", us), (OFF, "never", us))
    assert kinds((BASELINE, "always", us), (UPGRADED, "always", us)) == [VERSION]
    old_is_encrypted = only((BASELINE, "always", us), *CHAIN[1:])
    assert [part.outcome for part in old_is_encrypted.parts] == [ENCRYPTION, ASKING]
    assert old_is_encrypted.together is None


def test_cases_that_were_told_of_tls_or_not_observed_are_in_no_chain() -> None:
    told, engine = driver_case(NEW, tls="off"), driver_case("engine")
    measured: list[Measured] = [*CHAIN, (told, "never", (9.0,) * 3), (engine, "never", (9.0,) * 3)]
    found = series_of(*measured, (driver_case(OTHER), "never", (9.0,) * 3))
    assert splits_of(list(rows(found, seen_in(*measured)))) == [only(*CHAIN)]


def test_a_whole_that_may_be_nothing_has_no_shares() -> None:
    old: Measured = (BASELINE, "never", (60.0, 60.0))
    unsure = only(old, (UPGRADED, "never", (50.0, 71.0)))
    assert unsure.together is not None
    assert unsure.together.known.point == pytest.approx(0.5)
    assert unsure.shares == {}
    one = only((BASELINE, "never", (60.0,)), (UPGRADED, "always", (80.0,)), (OFF, "never", (65.0,)))
    assert [ends(share) for share in one.shares.values()] == [
        (pytest.approx(0.75), None, None, 1),
        (pytest.approx(0.25), None, None, 1),
    ]
    assert only((BASELINE, "never", (64.0,)), (UPGRADED, "never", (64.0,))).shares == {}


def test_the_time_of_an_operation_is_that_on_each_connection() -> None:
    def times(case: Case, values: Mapping[int, Mapping[str, float]]) -> dict[int, float]:
        return us_per_op(Series(STUDY, {}, {case.levels: values}, {}), case)

    counted = {0: {"ops_per_s": 1000.0}, 1: {"ops_per_s": 0.0}, 2: {"total_s": 1.0}, 3: {"ops_per_s": 0.5}}
    assert times(UPGRADED, counted) == {0: 1000.0, 3: 2e6}
    assert times(driver_case(NEW, connections=4), counted) == {0: 4000.0, 3: 8e6}
    assert times(Case(levels={"client": NEW}, role="treatment"), counted) == {0: 1000.0, 3: 2e6}
    assert us_per_op(Series(STUDY, {}, {}, {}), UPGRADED) == {}


def figure(case: Case, value: float, *, outcome: str = "total_s") -> Published:
    return Published(
        label=f"{value}", value=value, unit="s", source="somebody", outcome=outcome, beside=case.levels
    )


def with_figures(*figures: Published) -> Split:
    return only(*CHAIN, study=STUDY.model_copy(update={"published": figures}))


OF_CHAIN = (figure(UPGRADED, 48.0), figure(OFF, 24.0), figure(LEAN, 20.0), figure(BASELINE, 16.0))


def test_published_times_are_split_the_same_way() -> None:
    """By hand: of 32 s more, encryption is 24, asking 4 and the driver 4."""
    split = with_figures(*OF_CHAIN)
    assert published(split) == [3.0, 0.75, 0.125, 0.125]
    assert sentence(split, STUDY).endswith(
        "; published: 3.00 times as long, of that encryption 75 % and all the rest 25 %"
    )
    (rest,) = (
        row for row in table([split], STUDY).lines(roomy=True) if row[0].strip() == "all but encryption"
    )
    assert rest[1:] == ["", "", "25"]


@pytest.mark.parametrize(
    ("missing", "known"),
    [
        (0, [None, None, None, None]),
        (1, [3.0, None, None, 0.125]),
        (2, [3.0, 0.75, None, None]),
        (3, [None, None, None, None]),
    ],
)
def test_what_was_not_published_has_no_share(missing: int, known: list[float | None]) -> None:
    assert published(with_figures(*OF_CHAIN[:missing], *OF_CHAIN[missing + 1 :])) == known


def test_figures_of_something_else_are_passed_over() -> None:
    absolute = Published(label="a", value=7.0, unit="s", source="somebody", outcome="total_s")
    speed = figure(UPGRADED, 9.0, outcome="ops_per_s")
    assert with_figures(absolute, speed, *OF_CHAIN) == with_figures(*OF_CHAIN)


def test_where_no_difference_was_published_there_are_no_shares_of_it() -> None:
    assert published(with_figures(figure(UPGRADED, 16.0), *OF_CHAIN[1:])) == [1.0, None, None, None]


def test_a_published_share_stands_where_the_whole_may_be_nothing() -> None:
    study = STUDY.model_copy(update={"published": OF_CHAIN})
    unsure = only((BASELINE, "never", (60.0, 60.0)), (UPGRADED, "never", (50.0, 71.0)), study=study)
    assert (published(unsure), unsure.shares[VERSION].interval) == ([3.0, 1.0], None)
    assert unsure.published_encryption is None


def test_without_an_older_driver_no_published_whole_stands_beside() -> None:
    study = STUDY.model_copy(update={"published": OF_CHAIN[:2]})
    split = only(CHAIN[1], CHAIN[2], study=study)
    assert (split.together, split.operation.number("published")) == (None, None)
