"""Cases that differ in one factor alone: which are contrasted, and what is said of them, by hand."""

from __future__ import annotations

from math import exp, expm1

import pytest

from tlstax.results.rows import Row
from tlstax.stats.contrasts import CONTRASTED, contrasts, counterpart
from tlstax.stats.series import Series
from tlstax.study import Case, Contrast, Study, load_study
from tlstax.study.factors import CaseLevels

BY_KEY = Contrast(factor="certificate", baseline="rsa-2048", within={"workload": "reconnect"})
TWIN = Contrast(factor="instance", baseline=1)
STUDY = load_study("pool-or-reconnect").model_copy(update={"contrasts": (TWIN, BY_KEY)})
WIGGLE = (-0.01, 0.0, 0.01)
HALF = 6.20535 * 0.0057735
"""Half an interval of three blocks that wiggle so: t(2) at 97.5 % times their standard error."""


def levels_of(certificate: str, *, instance: int = 1, workload: str = "reconnect") -> CaseLevels:
    return CaseLevels.of(
        {
            "server": "a",
            "instance": instance,
            "tls": "1.3",
            "certificate": certificate,
            "workload": workload,
            "connections": 8,
        }
    )


BASE, LONGER = levels_of("rsa-2048"), levels_of("rsa-4096")
SECOND = levels_of("rsa-2048", instance=2)


def series_of(
    speeds: list[tuple[CaseLevels, dict[int, float]]],
    *,
    study: Study = STUDY,
    outcome: str = "ops_per_s",
) -> Series:
    return Series(
        study=study,
        cases={levels: Case(levels=levels, role="treatment") for levels, _ in speeds},
        values={levels: {b: {outcome: v} for b, v in blocks.items()} for levels, blocks in speeds},
        controls={},
    )


def wiggling(point: float, blocks: int = 3) -> dict[int, float]:
    return {block: point * exp(WIGGLE[block]) for block in range(blocks)}


STEADY = {0: 1000.0, 1: 1000.0, 2: 1000.0, 3: 9.0}


def of_keys(*speeds: tuple[CaseLevels, dict[int, float]]) -> Row:
    (found,) = [each for each in contrasts(series_of(list(speeds))) if each.word("factor") == "certificate"]
    return found


def test_a_contrast_is_the_ratio_in_the_blocks_that_both_have() -> None:
    found = of_keys((BASE, STEADY), (LONGER, wiggling(500.0)))
    assert (found.role, found.word("factor")) == ("contrast", "certificate")
    assert (found.outcome, found.unit) == ("ops_per_s", "1/s")
    assert (found.case, found.baseline) == (LONGER, BASE)
    assert (found.value, found.baseline_value) == pytest.approx((500.0, 1000.0))
    ratio = found.ratio
    assert ratio.point == pytest.approx(0.5)
    assert (ratio.low, ratio.high) == pytest.approx((0.5 * exp(-HALF), 0.5 * exp(HALF)), rel=1e-5)
    assert (ratio.blocks, ratio.confidence) == (3, 0.95)
    assert (found.noise_floor, found.word("noise_from"), found.judgement) == (None, "", "lower")


def test_it_is_judged_by_the_twins() -> None:
    """The twin is 25 % off, and so twice that in the floor: half as fast is less than that."""
    twin = dict.fromkeys(range(3), 1250.0)
    found = of_keys((BASE, STEADY), (LONGER, wiggling(700.0)), (SECOND, twin))
    assert found.noise_floor == pytest.approx(1.25**2 - 1)
    assert found.word("noise_from") == "the twins of a"
    assert found.judgement == "inconclusive"
    assert of_keys((BASE, STEADY), (LONGER, wiggling(500.0)), (SECOND, twin)).judgement == "lower"


def test_twins_are_contrasts_themselves() -> None:
    (found,) = contrasts(series_of([(BASE, STEADY), (SECOND, wiggling(1010.0))]))
    assert (found.word("factor"), found.case, found.baseline) == ("instance", SECOND, BASE)
    assert found.ratio.point == pytest.approx(1.01)
    assert found.noise_floor == pytest.approx(max(1.01**2 - 1, expm1(HALF)), rel=1e-4)


def test_every_outcome_worth_it_is_contrasted_in_order() -> None:
    speeds = [(BASE, STEADY), (LONGER, wiggling(500.0))]
    both = series_of(speeds)
    values = {
        at: {block: dict.fromkeys(["server_rss_bytes", *reversed(CONTRASTED)], 5.0) for block in blocks}
        for at, blocks in both.values.items()
    }
    found = list(contrasts(Series(study=STUDY, cases=both.cases, values=values, controls={})))
    assert [each.outcome for each in found] == list(CONTRASTED)
    assert {each.judgement for each in found} == {"alike"}
    assert {each.outcome: each.unit for each in found}["server_cpu_us_per_op"] == "us"


def test_without_a_block_in_common_nothing_is_said() -> None:
    assert list(contrasts(series_of([(BASE, {0: 5.0}), (LONGER, {1: 5.0})]))) == []


def test_a_study_without_contrasts_has_none() -> None:
    study = STUDY.model_copy(update={"contrasts": ()})
    assert list(contrasts(series_of([(BASE, STEADY), (LONGER, STEADY)], study=study))) == []


def test_which_case_another_is_contrasted_with() -> None:
    both = series_of([(BASE, STEADY), (LONGER, STEADY)])
    assert counterpart(both, BY_KEY, LONGER) == BASE
    assert counterpart(both, BY_KEY, BASE) is None, "the baseline itself"
    assert counterpart(both, BY_KEY, LONGER.without("certificate")) is None
    assert counterpart(both, BY_KEY, levels_of("rsa-4096", workload="point-select")) is None
    assert counterpart(both, BY_KEY, levels_of("rsa-4096", instance=2)) is None, "its counterpart is not run"
