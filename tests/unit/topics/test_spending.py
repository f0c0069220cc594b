"""What cases take, which kept ones belong to those that make connections, and how both are told: by hand."""

from __future__ import annotations

from math import log

import pytest

from intervals import known
from tlstax.stats.series import Series
from tlstax.study import Case, Level, load_study
from tlstax.study.factors import CaseLevels
from tlstax.topics.distance import spending

STUDY = load_study("tunnels").model_copy(
    update={"baseline": {"path": "direct", "tls": "off", "certificate": "rsa-2048", "instance": 1}}
)
PLAIN = CaseLevels.of(
    {
        "server": "a",
        "path": "direct",
        "tls": "off",
        "certificate": "rsa-2048",
        "instance": 1,
        "workload": "reconnect",
        "connections": 8,
    }
)


def levels_of(**more: Level) -> CaseLevels:
    return PLAIN | more


def test_twins_tell_nothing_of_their_own() -> None:
    nameless = PLAIN.without("instance")
    all_levels = [PLAIN, levels_of(instance=2), nameless, levels_of(tls="1.3")]
    cases = {levels: Case(levels=levels, role="treatment") for levels in all_levels}
    series = Series(study=STUDY, cases=cases, values={}, controls={})
    assert list(spending.first_processes(series)) == [PLAIN, nameless, levels_of(tls="1.3")]


def test_a_place_is_what_neighbours_share_whatever_they_do() -> None:
    more = levels_of(rounds=3, queries=5, protocol="text", rtt_ms=45)
    assert spending.place_of(more, STUDY) == {"server": "a", "rtt_ms": 45}
    assert spending.place_of(PLAIN, STUDY) == {"server": "a"}


def test_a_treatment_is_what_may_differ_from_the_baseline() -> None:
    few = spending.treatment_of(PLAIN.without("certificate"), STUDY)
    assert few == {"tls": "off", "path": "direct", "instance": 1}


def test_a_treatment_is_called_by_what_is_not_usual() -> None:
    first = levels_of(tls="1.3", certificate="rsa-4096", path="haproxy")
    assert spending.treatment_label(first, STUDY) == "TLS 1.3, RSA 4096 certificate, through HAProxy"
    assert spending.treatment_label(levels_of(tls="1.3"), STUDY) == "TLS 1.3, RSA 2048 certificate"
    by_path = STUDY.model_copy(update={"baseline": {"path": "direct"}})
    assert spending.treatment_label(PLAIN, by_path) == "the baseline"
    twin = spending.treatment_label(first | {"instance": 2}, STUDY)
    assert twin != "TLS 1.3, RSA 4096 certificate, through HAProxy", "a second process is not usual"


def test_the_round_trip_time_is_that_asked_for() -> None:
    assert (spending.rtt_of(PLAIN), spending.rtt_of(levels_of(rtt_ms=45))) == (0.0, 45.0)


KEPT = levels_of(workload="point-select")


def kept(**more: Level) -> CaseLevels:
    return KEPT | more


def test_the_kept_case_beside_has_the_same_treatment_and_as_many_connections() -> None:
    made = levels_of(tls="1.3")
    few, same, many = (kept(tls="1.3", connections=number) for number in (1, 8, 64))
    assert spending.kept_beside(made, [few, same, many], STUDY) is same
    assert spending.kept_beside(made, [many, few], STUDY) is few, "or the fewest"
    assert spending.kept_beside(made, [kept(), kept(tls="1.2")], STUDY) is None
    assert spending.kept_beside(made, [kept(tls="1.3", server="b")], STUDY) is None
    assert spending.kept_beside(made, [], STUDY) is None


def test_what_bears_on_the_handshake_alone_may_differ_where_nothing_is_alike() -> None:
    made = levels_of(tls="1.3", certificate="rsa-4096")
    other, own_key = kept(tls="1.3"), kept(tls="1.3", certificate="rsa-4096", connections=64)
    assert spending.kept_beside(made, [other], STUDY) is other
    assert spending.kept_beside(made, [other, own_key], STUDY) is own_key
    assert spending.kept_beside(made, [kept(path="haproxy", tls="1.3")], STUDY) is None


def test_a_study_of_one_number_of_connections_names_none() -> None:
    made = PLAIN.without("connections")
    one, two = kept(connections=1), kept(connections=2)
    assert spending.kept_beside(made, [two, one], STUDY) is one
    bare = KEPT.without("connections")
    assert spending.kept_beside(levels_of(connections=1), [bare, kept(connections=0)], STUDY) is bare
    assert spending.kept_beside(levels_of(connections=9), [kept(connections=2), bare], STUDY) is bare


def test_arithmetic_goes_block_by_block() -> None:
    values = {CaseLevels.of(PLAIN): {0: {"ops_per_s": 5.0}, 1: {"other": 1.0}, 2: {"ops_per_s": 7.0}}}
    series = Series(study=STUDY, cases={}, values=values, controls={})
    assert spending.column(series, PLAIN, "ops_per_s") == {0: 5.0, 2: 7.0}
    assert spending.column(series, KEPT, "ops_per_s") == {}
    one, other = {3: 8.0, 0: 2.0, 1: 0.0, 2: 2.0}, {0: 1.0, 1: 1.0, 2: 0.0, 3: 2.0, 4: 9.0}
    assert spending.log_quotients(one, other) == {0: log(2.0), 3: log(4.0)}
    assert spending.log_quotients({0: 0.5}, {0: 0.25}) == {0: log(2.0)}


Ends = float | None


@pytest.mark.parametrize(
    ("point", "low", "high", "words"),
    [
        (2.0, 1.96, 2.04, "2.00 (1.96 to 2.04)"),
        (340.2, 338.9, 341.5, "340.2 (338.9 to 341.5)"),
        (99.8, 99.5, 100.0, "99.8 (99.5 to 100.0)"),  # A two-hundredth of the largest: not narrower.
        (99.8, 99.502, 100.0, "100"),
        (-25.0, -25.06, -24.94, "−25.0 (−25.1 to −24.9)"),
        (25.0, 24.99, 25.01, "25.0"),
        (2.0, 1.9965, 2.0035, "2.00"),
        (0.5, 0.4999, 0.5001, "0.50"),
        (12345.6, 12344.0, 12347.0, "12346 (12344 to 12347)"),
        (3.0, None, None, "3.0 (one block alone)"),
        (3.0, 2.0, None, "3.0 (one block alone)"),
        (3.0, 1.0, 10.0, "3 (1 to 10)"),
        (3.0, 1.0, 10.1, "a number that is not known to a factor of ten of"),
        (3.0, 0.0, 20.0, "3 (0 to 20)"),
    ],
)
def test_a_number_has_as_many_digits_as_its_interval_deserves(
    point: float, low: Ends, high: Ends, words: str
) -> None:
    assert spending.number(known(point, low, high, 8)) == words


@pytest.mark.parametrize(
    ("point", "low", "high", "nothing", "roomy", "alone"),
    [
        (2.0, 1.96, 2.04, 0.0, "2.00 [1.96 … 2.04]", "2.00"),
        (0.01, -0.04, 0.06, 0.0, "? 0.01 [−0.04 … 0.06]", "? 0.01"),
        (-0.001, -0.004, 0.004, 0.0, "? 0.00", "? 0.00"),
        (-25.0, -25.06, -24.94, 0.0, "−25.00 [−25.06 … −24.94]", "−25.0"),
        (1.5, 1.4, 1.6, 1.0, "1.50× [1.40 … 1.60]", "1.50×"),
        (1.5, 0.9, 2.1, 1.0, "? 1.5× [0.9 … 2.1]", "? 1.5×"),
        (1.5, 1.0, 2.0, 1.0, "? 1.5× [1.0 … 2.0]", "? 1.5×"),
        (1.5, 1.0, 2.0, 2.0, "? 1.5 [1.0 … 2.0]", "? 1.5"),
        (1.5, 1.5, 1.5, None, "1.5", "1.50"),
        (0.01, -0.04, 0.06, None, "0.01 [−0.04 … 0.06]", "0.0100"),
        (3.0, None, None, 0.0, "3.00", "3.00"),
        (3.0, -1.0, None, 0.0, "3.00", "3.00"),
        (3.0, 1.0, 10.0, 0.0, "3 [1 … 10]", "3.00"),
        (3.0, 1.0, 10.1, 0.0, "too wide", "too wide"),
        (3.0, 0.0, 20.0, 0.0, "? 3 [0 … 20]", "? 3"),
    ],
)
def test_a_cell_has_as_many_digits_as_its_interval_deserves(  # noqa: PLR0913 (a row of the table)
    *, point: float, low: Ends, high: Ends, nothing: float | None, roomy: str, alone: str
) -> None:
    cell = spending.cell(known(point, low, high, 8), nothing=nothing)
    assert (cell.text(roomy=True), cell.text(roomy=False)) == (roomy, alone)


def test_what_is_not_known_or_far_is_told_too() -> None:
    assert spending.cell(None).text(roomy=True) == "–"
    assert spending.cell(known(0.5, -1, 2, 8)).text(roomy=False) == "? 0.5", "nothing is 0 unless it is said"
    assert tuple(map(spending.away, (0, 45, 44.6))) == ("on the same machine", "45 ms away", "44.6 ms away")
    assert spending.place_words("mysql-9.7", 45) == "mysql-9.7, 45 ms away"
    assert spending.place_words("", 0) == "on the same machine"
