"""Where no control ran, the nearest one's floor holds: most levels shared, then the largest floor."""

from __future__ import annotations

from math import exp

from intervals import known
from tlstax.results.interval import Interval
from tlstax.stats.contrasts import nearest
from tlstax.study.factors import CaseLevels

CASE = CaseLevels.of({"workload": "reconnect", "server": "mysql-9.7", "connections": 8})


def known_to(half_width: float) -> Interval:
    return known(1.0, exp(-half_width), exp(half_width), 8)


ONE_BLOCK = known(1.0, None, None, 1)


def with_levels(**levels: str | int) -> CaseLevels:
    return CASE | levels


def test_its_own_control_is_the_nearest_however_small_its_floor() -> None:
    own, other = known_to(0.001), known_to(0.1)
    assert nearest(CASE, {with_levels(connections=64): other, CASE: own}) is own


def test_another_that_shares_as_much_and_has_more_does_not_take_its_place() -> None:
    own, other = known_to(0.001), known_to(0.1)
    assert nearest(CASE, {with_levels(tls_library="openssl-3.5.5"): other, CASE: own}) is own


def test_of_two_alike_the_first_will_do() -> None:
    first, second = known(1.0, 0.98, 1 / 0.98, 8), known(1.001, 0.98, 1 / 0.98, 8)
    assert nearest(CASE, {with_levels(connections=1): first, with_levels(connections=64): second}) is first


def test_then_the_one_that_shares_most_levels() -> None:
    close, far = known_to(0.01), known_to(0.1)
    controls = {with_levels(connections=64): close, with_levels(connections=64, server="mariadb-11.8"): far}
    assert nearest(CASE, controls) is close
    assert nearest(CASE, dict(reversed(controls.items()))) is close


def test_of_several_as_near_the_one_with_the_largest_floor() -> None:
    quiet, noisy = known_to(0.01), known_to(0.02)
    controls = {with_levels(connections=1): quiet, with_levels(connections=64): noisy}
    assert nearest(CASE, controls) is noisy
    assert nearest(CASE, dict(reversed(controls.items()))) is noisy


def test_a_control_of_one_block_has_no_floor_and_stands_behind_one_that_has() -> None:
    quiet = known_to(0.01)
    controls = {with_levels(connections=1): quiet, with_levels(connections=64): ONE_BLOCK}
    assert nearest(CASE, controls) is quiet
    assert nearest(CASE, dict(reversed(controls.items()))) is quiet
    assert nearest(CASE, {with_levels(connections=64): ONE_BLOCK}) is ONE_BLOCK


def test_no_floor_is_carried_from_one_workload_to_another() -> None:
    elsewhere = {with_levels(workload="point-select"): known_to(0.01)}
    assert nearest(CASE, elsewhere) is None
    assert nearest(CASE, {}) is None
    far = known_to(0.02)
    assert nearest(CASE, {**elsewhere, with_levels(server="mariadb-11.8", connections=64): far}) is far


def test_a_study_of_one_workload_needs_none_named() -> None:
    floor = known_to(0.01)
    assert nearest(CaseLevels.of({"server": "mysql-9.7"}), {with_levels(): floor}) is floor
