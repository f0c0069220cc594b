"""What the numbers promise, held against thousands of simulated studies in which the truth is known."""

from math import exp, log, sqrt

import pytest

from fake_trials import Truth, fake_record
from simulated_studies import NOISES, Array, Design, measurements, run
from tlstax.plan.order import cases
from tlstax.records.trial import Trial, TrialRecord
from tlstax.stats import stats
from tlstax.stats.contrasts import is_different
from tlstax.stats.estimates import estimates
from tlstax.stats.stopping import Stop, decide
from tlstax.study import Study

STUDIES = 2500
ONE = Design(groups=1, treatments=1)
TAX = Design(groups=2, treatments=3)


def _beyond_chance(rate: float) -> float:
    """The largest share that chance makes of this rate among STUDIES, at three standard deviations."""
    return rate + 3 * sqrt(rate * (1 - rate) / STUDIES)


@pytest.mark.parametrize("sigma", [0.005, 0.015, 0.03, 0.06])
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("design", [ONE, TAX], ids=["one treatment", "tax"])
def test_what_is_equal_is_rarely_told_apart(design: Design, noise: str, sigma: float) -> None:
    """A/A studies: the interval misses 1 no oftener than promised; the judgement errs half as often at most.

    The noise levels reach from studies that stop at their minimum of blocks to those that their budget
    ends; in between, where the width decides, optional stopping does its worst. Where the control is
    quiet and the treatment is not, the noise floor is no help, and the judgement is only as good as the
    interval.
    """
    results = run(design, measurements(design, noise, sigma=sigma, effect=0.0, studies=STUDIES, seed=1))
    assert results.excludes_one() <= _beyond_chance(0.05)
    assert results.told_apart() <= _beyond_chance(0.05 if noise == "noisy treatments" else 0.025)


@pytest.mark.parametrize(("confidence", "minimum_blocks"), [(0.90, 5), (0.95, 3), (0.99, 5), (0.95, 10)])
def test_other_promises_are_kept_too(confidence: float, minimum_blocks: int) -> None:
    design = Design(confidence=confidence, minimum_blocks=minimum_blocks, most_blocks=100)
    for sigma in (0.01, 0.02, 0.03):
        results = run(
            design, measurements(design, "log-normal", sigma=sigma, effect=0.0, studies=STUDIES, seed=2)
        )
        assert results.excludes_one() <= _beyond_chance(1 - confidence)


def test_a_budget_that_ends_first_does_no_harm() -> None:
    design = Design(groups=2, treatments=3, most_blocks=8)
    results = run(design, measurements(design, "log-normal", sigma=0.03, effect=0.0, studies=STUDIES, seed=3))
    assert results.blocks.min() == 8
    assert results.excludes_one() <= _beyond_chance(0.05)


def test_the_plain_interval_would_break_its_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Why the stricter interval is there; and that these simulations would notice its absence."""
    only_the_control = Design(groups=1, treatments=1, precision=0.02)
    values = measurements(only_the_control, "log-normal", sigma=0.03, effect=0.0, studies=STUDIES, seed=4)
    values[..., 1] = values[..., 0]
    assert run(only_the_control, values).excludes_one() <= _beyond_chance(0.05)
    monkeypatch.setattr(stats, "ALPHA_SHARE", 1.0)
    assert run(only_the_control, values).excludes_one() > _beyond_chance(0.05)


@pytest.mark.parametrize("effect", [0.03, -0.03])
@pytest.mark.parametrize("design", [ONE, TAX], ids=["one treatment", "tax"])
def test_three_per_cent_are_found_at_two_per_cent_noise(design: Design, effect: float) -> None:
    """Run until ±2 % is reached, a planted 3 % is judged different in at least nine studies of ten."""
    results = run(
        design, measurements(design, "log-normal", sigma=0.02, effect=effect, studies=STUDIES, seed=5)
    )
    assert results.blocks.max() < design.most_blocks, "the budget must not be what ends these studies"
    assert results.told_apart() >= 0.9


def test_the_interval_holds_the_truth_as_often_as_promised_when_there_is_an_effect() -> None:
    results = run(ONE, measurements(ONE, "log-normal", sigma=0.03, effect=0.10, studies=STUDIES, seed=6))
    missed = abs(results.logs[:, 1] - log(1.10)) > results.halves[:, 1]
    assert missed.mean() <= _beyond_chance(0.05)


@pytest.mark.parametrize(("sigma", "effect"), [(0.01, 0.0), (0.02, 0.03), (0.02, -0.05), (0.05, 0.0)])
def test_the_simulation_and_the_program_give_the_same_answers(sigma: float, effect: float) -> None:
    """The restated rules are the program's own: it stops at the same block and judges alike."""
    design = Design(groups=2, treatments=1, most_blocks=30)
    studies = 5
    values = measurements(design, "log-normal", sigma=sigma, effect=effect, studies=studies, seed=7)
    expected = run(design, values)
    for number in range(studies):
        study, records, stopped_at = _run_for_real(design, values[number])
        assert stopped_at == expected.blocks[number]
        treatment = next(
            estimate
            for estimate in estimates(study, records)
            if estimate.outcome == "ops_per_s" and estimate.comparison.case.role == "treatment"
        )
        assert treatment.ratio is not None
        assert log(treatment.ratio.point) == pytest.approx(expected.logs[number, 1])
        control_log, control_half = expected.logs[number, 0], expected.halves[number, 0]
        assert treatment.noise_floor == pytest.approx(exp(max(abs(control_log), control_half)) - 1)
        least = max(expected.halves[number, 1], abs(control_log), control_half)
        apart = abs(expected.logs[number, 1]) > least
        assert is_different(treatment.ratio, treatment.noise_floor) == apart


def _run_for_real(design: Design, values: Array) -> tuple[Study, list[TrialRecord], int]:
    """The same measurements as trials of a study, decided after every block by the program itself."""
    study = Study(
        name="s",
        title="",
        question="",
        factors={"connections": tuple(range(1, design.groups + 1)), "tls": ("off", "1.3")},
        baseline={"tls": "off"},
        precision=design.precision,
        confidence=design.confidence,
        minimum_blocks=design.minimum_blocks,
        budget_s=design.most_blocks,
    )
    records: list[TrialRecord] = []
    for block, measured in enumerate(values):
        for position, (case, value) in enumerate(zip(cases(study), measured.ravel(), strict=True)):
            trial = Trial(block=block, position=position, case=case)
            truth = Truth(1000 * exp(value), {}, 1, 1)
            records.append(fake_record(trial, truth, duration_s=1000))
        if isinstance(decide(study, records, elapsed_s=block + 1), Stop):
            return study, records, block + 1
    raise AssertionError("the budget must end every study")
