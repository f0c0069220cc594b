"""What an upgrade of a driver is made of: chains of made-up cases whose times are known block by block."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from fake_driver_cases import NEW, OLD, OTHER, STUDY, driver_case
from tlstax.findings.core.series import Series, frozen
from tlstax.findings.drivers.defaults import Observed
from tlstax.findings.drivers.split import driver_splits, us_per_op
from tlstax.results.drivers import DriverSplit, Encrypts
from tlstax.results.interval import Interval
from tlstax.study import Case, Published, Study

Us = tuple[float, ...]
"""What an operation takes, in each block."""

Measured = tuple[Case, Encrypts, Us]

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
        frozen(case.levels): {
            block: {"ops_per_s": int(case.levels["connections"]) * 1e6 / us} for block, us in enumerate(times)
        }
        for case, _, times in measured
    }
    cases = {frozen(case.levels): case for case, _, _ in measured}
    return Series(study=study, cases=cases, values=values, controls={})


def seen_in(*measured: Measured) -> dict[tuple[tuple[str, object], ...], Observed]:
    return {frozen(case.levels): Observed(encrypts, (), trials=3) for case, encrypts, _ in measured}


def splits(*measured: Measured, study: Study = STUDY) -> tuple[DriverSplit, ...]:
    return driver_splits(series_of(*measured, study=study), seen_in(*measured))


def only(*measured: Measured, study: Study = STUDY) -> DriverSplit:
    (split,) = splits(*measured, study=study)
    return split


def kinds(*measured: Measured) -> list[str]:
    return [part.kind for part in only(*measured).parts]


def ends(found: Interval | None) -> tuple[float, float | None, float | None, int]:
    assert found is not None
    assert found.confidence == 0.95
    return found.point, found.low, found.high, found.blocks


def around(point: float, half: float) -> object:
    return pytest.approx((point, point - half, point + half, 3), rel=1e-5)


def test_an_upgrade_is_split_into_parts_that_add_up() -> None:
    split = only(*CHAIN)
    assert (split.driver, split.against) == ("Connector/J 8.0.16", "Connector/J 5.1.6")
    assert (split.case, split.baseline) == (UPGRADED.levels, BASELINE.levels)
    assert (split.us_per_op, split.baseline_us_per_op) == pytest.approx((126.0, 60.0))
    assert ends(split.extra_us_per_op) == around(66.0, HALF)
    encryption, statements, version = split.parts
    assert (encryption.kind, statements.kind, version.kind) == ("encryption", "statements", "driver version")
    assert ends(encryption.extra_us_per_op) == around(45.0, 2 * HALF)
    assert ends(statements.extra_us_per_op) == around(5.0, HALF)
    assert ends(version.extra_us_per_op) == around(16.0, HALF)
    lean = "Connector/J 8.0.16 with useLocalSessionState=true and useSSL=false"
    assert [part.labels for part in split.parts] == [
        ("Connector/J 8.0.16", "Connector/J 8.0.16 with useSSL=false"),
        ("Connector/J 8.0.16 with useSSL=false", lean),
        (lean, "Connector/J 5.1.6"),
    ]


def test_each_part_has_its_share_and_the_whole_is_a_ratio_too() -> None:
    split = only(*CHAIN)
    shares = [part.share for part in split.parts]
    for share, planted in zip(shares, (45 / 66, 5 / 66, 16 / 66), strict=True):
        assert share is not None
        assert share.low is not None
        assert share.high is not None
        assert share.point == pytest.approx(planted)
        assert share.low < planted < share.high
    assert split.time_ratio is not None
    assert split.time_ratio.point == pytest.approx((125 * 127 * 126) ** (1 / 3) / 60)
    assert (split.time_ratio.blocks, split.time_ratio.confidence) == (3, 0.95)
    assert split.sentence.startswith(
        "from Connector/J 5.1.6 to Connector/J 8.0.16 an operation takes 2.10 times as long"
    )
    assert (split.published_ratio, split.published_rest) == (None, None)


def test_only_blocks_that_the_whole_chain_has_count() -> None:
    """A fourth block in which two of the cases were valid changes nothing."""
    longer = [(case, how, (*us, 1000.0) if case in (BASELINE, OFF) else us) for case, how, us in CHAIN]
    assert only(*longer) == only(*CHAIN)
    apart = {
        frozen(BASELINE.levels): {9: {"ops_per_s": 1.0}},
        frozen(UPGRADED.levels): {0: {"ops_per_s": 1.0}},
    }
    planned = series_of(*CHAIN[:2]).cases
    clear = dict.fromkeys(planned, Observed("never", (), trials=1))
    assert driver_splits(Series(STUDY, planned, apart, {}), clear) == ()


def test_the_label_names_another_workload() -> None:
    other = [
        (driver_case(str(c.levels["client"]), workload="words-execute"), how, us) for c, how, us in CHAIN[:1]
    ]
    newer = driver_case(NEW, workload="words-execute")
    split = only(*other, (newer, "never", (70.0, 71.0, 72.0)))
    assert split.work == ", words-execute"
    assert split.label == "Connector/J 8.0.16, words-execute"
    assert only(*CHAIN).work == ""


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
    assert (there.against, there.baseline_us_per_op, there.extra_us_per_op) == ("", None, None)
    assert (there.time_ratio, there.published_ratio, there.published_rest) == (None, None, None)
    assert there.us_per_op == pytest.approx(101.0)
    assert there.baseline == away_off.levels
    (part,) = there.parts
    assert (part.kind, part.share) == ("encryption", None)
    assert ends(part.extra_us_per_op) == around(41.0, HALF)
    assert there.sentence == (
        "Connector/J 8.0.16, mysql-9.7: of what an operation takes, encryption is 41 µs (37 to 45 µs)"
    )


def test_each_driver_is_split_with_cases_of_its_own() -> None:
    other = driver_case(OTHER)
    first, second = splits(*CHAIN, (other, "never", (61.0, 63.0, 62.0)))
    assert first == only(*CHAIN)
    assert (second.driver, [part.kind for part in second.parts]) == ("Connector/J 8.0.33", ["driver version"])
    assert ends(second.extra_us_per_op) == around(2.0, HALF)


def test_a_driver_in_the_clear_has_no_encryption_to_turn_off() -> None:
    assert kinds(CHAIN[0], (UPGRADED, "never", (70.0, 71.0, 72.0)), CHAIN[2]) == ["driver version"]


def test_of_several_ways_to_turn_tls_off_the_one_of_fewest_options_is_taken() -> None:
    """LEAN is in the clear as well, with one option more."""
    for order in (CHAIN, CHAIN[::-1]):
        assert only(*order).parts[0].labels[1] == "Connector/J 8.0.16 with useSSL=false"


def test_a_driver_that_was_told_not_to_ask_has_no_statements_to_lose() -> None:
    assert kinds(CHAIN[0], CHAIN[1], CHAIN[3]) == ["encryption", "driver version"]
    assert kinds(CHAIN[0], CHAIN[1], CHAIN[2]) == ["encryption", "driver version"]


def test_only_cases_that_encrypt_alike_are_taken_from_one_another() -> None:
    asks_less = driver_case(NEW, useLocalSessionState="true")
    old, us = (BASELINE, "never", (60.0, 60.0, 60.0)), (70.0, 71.0, 72.0)
    plain: Measured = (UPGRADED, "never", us)
    assert kinds(old, plain, (asks_less, "never", us)) == ["statements", "driver version"]
    assert kinds(old, plain, (asks_less, "always", us)) == ["driver version"]
    assert splits((BASELINE, "never", us), (UPGRADED, "always", us)) == ()
    assert splits((BASELINE, "sometimes", us), (UPGRADED, "sometimes", us), (OFF, "never", us)) == ()
    both = only((BASELINE, "always", us), (UPGRADED, "always", us))
    assert [part.kind for part in both.parts] == ["driver version"]
    old_is_encrypted = only((BASELINE, "always", us), *CHAIN[1:])
    assert [part.kind for part in old_is_encrypted.parts] == ["encryption", "statements"]
    assert old_is_encrypted.against == ""


def test_cases_that_were_told_of_tls_or_not_observed_are_in_no_chain() -> None:
    told, engine = driver_case(NEW, tls="off"), driver_case("engine")
    measured: list[Measured] = [*CHAIN, (told, "never", (9.0,) * 3), (engine, "never", (9.0,) * 3)]
    found = series_of(*measured, (driver_case(OTHER), "never", (9.0,) * 3))
    assert driver_splits(found, seen_in(*measured)) == (only(*CHAIN),)


def test_a_whole_that_may_be_nothing_has_no_shares() -> None:
    old: Measured = (BASELINE, "never", (60.0, 60.0))
    unsure = only(old, (UPGRADED, "never", (50.0, 71.0)))
    assert unsure.extra_us_per_op is not None
    assert unsure.extra_us_per_op.point == pytest.approx(0.5)
    assert unsure.parts[0].share is None
    one = only((BASELINE, "never", (60.0,)), (UPGRADED, "always", (80.0,)), (OFF, "never", (65.0,)))
    assert [ends(part.share) for part in one.parts] == [
        (pytest.approx(0.75), None, None, 1),
        (pytest.approx(0.25), None, None, 1),
    ]
    nothing = only((BASELINE, "never", (64.0,)), (UPGRADED, "never", (64.0,)))
    assert nothing.parts[0].share is None


def test_the_time_of_an_operation_is_that_on_each_connection() -> None:
    def times(case: Case, values: Mapping[int, Mapping[str, float]]) -> dict[int, float]:
        return us_per_op(Series(STUDY, {}, {frozen(case.levels): values}, {}), case)

    counted = {0: {"ops_per_s": 1000.0}, 1: {"ops_per_s": 0.0}, 2: {"total_s": 1.0}, 3: {"ops_per_s": 0.5}}
    assert times(UPGRADED, counted) == {0: 1000.0, 3: 2e6}
    assert times(driver_case(NEW, connections=4), counted) == {0: 4000.0, 3: 8e6}
    assert times(Case(levels={"client": NEW}, role="treatment"), counted) == {0: 1000.0, 3: 2e6}
    assert us_per_op(Series(STUDY, {}, {}, {}), UPGRADED) == {}


def figure(case: Case, value: float, *, outcome: str = "total_s") -> Published:
    return Published(
        label=f"{value}", value=value, unit="s", source="somebody", outcome=outcome, beside=case.levels
    )


def with_figures(*figures: Published) -> DriverSplit:
    return only(*CHAIN, study=STUDY.model_copy(update={"published": figures}))


OF_CHAIN = (figure(UPGRADED, 48.0), figure(OFF, 24.0), figure(LEAN, 20.0), figure(BASELINE, 16.0))


def test_published_times_are_split_the_same_way() -> None:
    """By hand: of 32 s more, encryption is 24, asking 4 and the driver 4."""
    split = with_figures(*OF_CHAIN)
    assert split.published_ratio == 3.0
    assert [part.published_share for part in split.parts] == [0.75, 0.125, 0.125]
    assert split.published_rest == 0.25
    assert split.sentence.endswith(
        "; published: 3.00 times as long, of that encryption 75 % and all the rest 25 %"
    )


@pytest.mark.parametrize(
    ("missing", "ratio", "shares", "rest"),
    [
        (0, None, [None, None, None], None),
        (1, 3.0, [None, None, 0.125], None),
        (2, 3.0, [0.75, None, None], 0.25),
        (3, None, [None, None, None], None),
    ],
)
def test_what_was_not_published_has_no_share(
    missing: int, ratio: float | None, shares: list[float | None], rest: float | None
) -> None:
    split = with_figures(*OF_CHAIN[:missing], *OF_CHAIN[missing + 1 :])
    assert split.published_ratio == ratio
    assert [part.published_share for part in split.parts] == shares
    assert split.published_rest == rest


def test_figures_of_something_else_are_passed_over() -> None:
    absolute = Published(label="a", value=7.0, unit="s", source="somebody", outcome="total_s")
    speed = figure(UPGRADED, 9.0, outcome="ops_per_s")
    assert with_figures(absolute, speed, *OF_CHAIN) == with_figures(*OF_CHAIN)


def test_where_no_difference_was_published_there_are_no_shares_of_it() -> None:
    split = with_figures(figure(UPGRADED, 16.0), *OF_CHAIN[1:])
    assert (split.published_ratio, split.published_rest) == (1.0, None)
    assert [part.published_share for part in split.parts] == [None, None, None]


def test_without_encryption_nothing_published_is_apart_from_it() -> None:
    us = (70.0, 71.0, 72.0)
    study = STUDY.model_copy(update={"published": OF_CHAIN})
    split = only(CHAIN[0], (UPGRADED, "never", us), study=study)
    assert (split.published_ratio, split.parts[0].published_share) == (3.0, 1.0)
    assert split.published_rest is None


def test_without_an_older_driver_no_published_whole_stands_beside() -> None:
    study = STUDY.model_copy(update={"published": OF_CHAIN[:2]})
    split = only(CHAIN[1], CHAIN[2], study=study)
    assert (split.against, split.published_ratio, split.published_rest) == ("", None, None)
