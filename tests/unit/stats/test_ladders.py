"""Ratios pooled over the ladder of connections, to the baseline and along contrasts: by hand."""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, expm1

import pytest

from tlstax.results.rows import Row
from tlstax.stats.contrasts import CONTRASTED, pooled_ratios, without_ladder
from tlstax.stats.series import Series
from tlstax.study import Case, Contrast, Level, load_study
from tlstax.study.factors import CaseLevels

STUDY = load_study("pool-or-reconnect").model_copy(
    update={
        "baseline": {"tls": "off"},
        "contrasts": (Contrast(factor="instance", baseline=1), Contrast(factor="certificate", baseline="c1")),
    }
)
WIGGLE = (-0.01, 0.0, 0.01)
HALF = 6.20535 * 0.0057735
"""Half an interval of three blocks that wiggle so: t(2) at 97.5 % times their standard error."""


def levels_of(tls: str, connections: int, **more: Level) -> dict[str, Level]:
    plain: dict[str, Level] = {"server": "a", "workload": "w", "certificate": "c1", "instance": 1}
    return {**plain, "tls": tls, "connections": connections, **more}


def series_of(
    logs: list[tuple[dict[str, Level], float]], controls: list[tuple[dict[str, Level], float]] | None = None
) -> Series:
    """Cases with the logarithm of their speed; all but plaintext wiggle. Controls do not."""
    values = {}
    for levels, log_speed in logs:
        wiggle = (0.0,) * 3 if levels["tls"] == "off" else WIGGLE
        values[CaseLevels.of(levels)] = {b: {"ops_per_s": exp(log_speed + wiggle[b])} for b in range(3)}
    return Series(
        study=STUDY,
        cases={CaseLevels.of(levels): Case(levels=levels, role="treatment") for levels, _ in logs},
        values=values,
        controls={
            CaseLevels.of(levels): {b: {"ops_per_s": exp(log_speed)} for b in range(3)}
            for levels, log_speed in controls or []
        },
    )


PLAIN = [(levels_of("off", 1), 0.0), (levels_of("off", 8), 1.0)]
TLS = [(levels_of("1.3", 1), -0.3), (levels_of("1.3", 8), 0.9)]
"""A third slower on one connection and a tenth on eight: e^-0.2 together."""


def only(rows: Iterable[Row]) -> Row:
    (row,) = rows
    return row


def test_a_ladder_is_pooled_against_its_own_baseline() -> None:
    found = only(pooled_ratios(series_of([*PLAIN, *TLS])))
    assert (found.word("factor"), found.outcome, found.unit, found.more["pooled_connections"]) == (
        "",
        "ops_per_s",
        "1/s",
        (1, 8),
    )
    assert (found.role, found.case) == ("pooled", without_ladder(TLS[0][0]))
    assert found.baseline == without_ladder(PLAIN[0][0])
    ratio = found.ratio
    assert ratio.point == pytest.approx(exp(-0.2))
    assert (ratio.low, ratio.high) == pytest.approx((exp(-0.2 - HALF), exp(-0.2 + HALF)), rel=1e-5)
    assert (ratio.blocks, ratio.confidence) == (3, 0.95)
    assert (found.noise_floor, found.word("noise_from"), found.judgement) == (None, "", "lower")


def test_it_is_judged_by_all_controls_under_its_workload_pooled() -> None:
    """One control strays up by 30 %, another down by 10 %, on other servers: e^0.1 together."""
    controls = [(levels_of("off", 1), 0.3), (levels_of("off", 8), 0.9)]
    found = only(pooled_ratios(series_of([*PLAIN, *TLS], controls)))
    assert (found.noise_floor, found.word("noise_from")) == (pytest.approx(expm1(0.1)), "the controls")
    assert found.judgement == "lower"
    loud = [(levels_of("off", 1), 0.3), (levels_of("off", 8), 1.3)]
    louder = only(pooled_ratios(series_of([*PLAIN, *TLS], loud)))
    assert (louder.noise_floor, louder.judgement) == (pytest.approx(expm1(0.3)), "inconclusive")
    elsewhere = [(levels_of("off", 1, workload="v"), 0.0)]
    own = series_of([*PLAIN, *TLS, *elsewhere], [(levels_of("off", 1, workload="v"), 0.3)])
    assert only(pooled_ratios(own)).noise_floor is None


def test_along_a_contrast_it_is_judged_by_the_twins() -> None:
    other = [(levels_of("1.3", 1, certificate="c2"), 0.0), (levels_of("1.3", 8, certificate="c2"), 1.2)]
    twin = [(levels_of("1.3", 1, instance=2), -0.2), (levels_of("1.3", 8, instance=2), 1.0)]
    found = {each.word("factor"): each for each in pooled_ratios(series_of([*TLS, *other, *twin]))}
    assert set(found) == {"instance", "certificate"}
    contrast = found["certificate"]
    assert contrast.ratio.point == pytest.approx(exp(0.3))
    assert (contrast.case["certificate"], contrast.baseline["certificate"]) == ("c2", "c1")
    assert (contrast.noise_floor, contrast.word("noise_from")) == (
        pytest.approx(expm1(0.2)),
        "the twins of a",
    )
    assert contrast.judgement == "higher"
    assert found["instance"].ratio.point == pytest.approx(exp(0.1))
    assert found["instance"].judgement == "inconclusive"


def test_only_steps_that_both_have_are_contrasted() -> None:
    other = [(levels_of("1.3", 8, certificate="c2"), 1.2), (levels_of("1.3", 64, certificate="c2"), 1.2)]
    found = only(pooled_ratios(series_of([*TLS, *other])))
    assert (found.more["pooled_connections"], found.ratio.point) == ((8,), pytest.approx(exp(0.3)))


def test_a_study_of_one_number_of_connections_is_a_ladder_of_one_step() -> None:
    nameless = [(without_ladder(levels), log) for levels, log in (PLAIN[0], TLS[0])]
    assert only(pooled_ratios(series_of(nameless))).more["pooled_connections"] == (1,)


def test_every_outcome_has_its_ladders_and_what_was_not_measured_none() -> None:
    both = series_of([*PLAIN, *TLS])
    values = {at: {b: dict.fromkeys(CONTRASTED, 5.0) for b in range(3)} for at in both.values}
    found = pooled_ratios(Series(study=STUDY, cases=both.cases, values=values, controls={}))
    assert [each.outcome for each in found] == list(CONTRASTED)
    nothing = Series(study=STUDY, cases=both.cases, values={}, controls={})
    assert list(pooled_ratios(nothing)) == []


def test_the_baseline_is_no_ladder_of_its_own_where_it_has_no_other_factor() -> None:
    found = only(pooled_ratios(series_of([({"tls": "off"}, 0.0), ({"tls": "1.3"}, -0.3)])))
    assert (found.case, found.baseline) == ({"tls": "1.3"}, {"tls": "off"})
