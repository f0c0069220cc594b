"""What ratios of neighbouring slices promise, held against simulated sittings in which the truth is known."""

from math import exp, log, log1p, sqrt

import numpy as np
import pytest

from fake_slices import in_turns
from simulated_slices import KINDS, Sitting, blocks_of, closed_loop, costs, totals_of
from simulated_studies import Array, Design, run
from tlstax.plan.order import cases
from tlstax.records.trial import Trial, TrialRecord
from tlstax.records.window import Slices
from tlstax.stats.estimates import estimates
from tlstax.stats.slices import FEWEST_OPERATIONS
from tlstax.stats.stopping import Stop, decide
from tlstax.study import Study

STUDIES = 400
RUN = Design(most_blocks=12, precision=0.005)
"""A default run: a few blocks of one sitting, which its budget ends if its precision does not."""


def _beyond_chance(rate: float) -> float:
    """The largest share that chance makes of this rate among STUDIES, at three standard deviations."""
    return rate + 3 * sqrt(rate * (1 - rate) / STUDIES)


@pytest.mark.parametrize("connections", [0.003, 0.008])
@pytest.mark.parametrize("kind", KINDS)
def test_the_interval_keeps_its_promise_and_equal_cases_are_not_told_apart(
    kind: str, connections: float
) -> None:
    """Coverage, bias and false alarms, run until ±0.5 % is known or 12 blocks are over, from 5 blocks on."""
    found = costs(Sitting(kind, connections=connections), effect=0.0, studies=STUDIES, blocks=12, seed=11)
    values = blocks_of(found)
    results = run(RUN, values)
    assert results.blocks.min() >= 5
    assert results.excludes_one() <= _beyond_chance(0.05)
    assert results.told_apart() <= _beyond_chance(0.025)
    assert abs(values[..., 1:].mean()) < 0.001, "the bias is below a tenth of a per cent"


@pytest.mark.parametrize("kind", ["bursts", "long bursts"])
def test_neighbours_are_several_times_as_sharp_as_totals_where_bursts_are(kind: str) -> None:
    found = costs(Sitting(kind, connections=0.003), effect=0.0, studies=100, blocks=12, seed=12)
    assert blocks_of(found)[..., 1:].std() * 4 < totals_of(found)[..., 1:].std()


def test_what_bursts_do_to_one_case_alone_is_mostly_left_out() -> None:
    """One slice in ten of this case is hit and takes e times as long on average, and none of the other."""
    found = costs(Sitting("noise", cases=2), effect=0.0, studies=200, blocks=12, seed=13)
    found[..., 1] += KINDS["bursts"](np.random.default_rng(14), found.shape)[..., 1]
    bias = blocks_of(found)[..., 1].mean()
    assert 0.0 < bias < 0.01
    assert totals_of(found)[..., 1].mean() > 10 * bias


@pytest.mark.parametrize("kind", KINDS)
def test_one_per_cent_is_found_in_five_minutes(kind: str) -> None:
    """With a spread of 1.2 % or so from block to block; a block takes six seconds, so there are fifty."""
    sitting = Sitting(kind, rounds=60, connections=0.006)
    values = blocks_of(costs(sitting, effect=0.01, studies=40, blocks=50, seed=15))
    assert 0.008 < values[..., 1].std() < 0.02
    assert run(Design(most_blocks=50, precision=0.004), values).told_apart() >= 0.9


@pytest.mark.parametrize("effect", [0.0, 0.02, -0.05])
def test_whole_counts_of_slices_that_are_all_as_long_bias_little(effect: float) -> None:
    """As in an open loop: forty operations or so, less what is not finished; many pairs are tied."""
    found = costs(Sitting("noise", rounds=60), effect=effect, studies=100, blocks=12, seed=18)
    counts = np.floor(40 * np.exp(-found) + np.random.default_rng(19).random(found.shape))
    assert abs(blocks_of(-np.log(counts))[..., -1].mean() - log1p(effect)) < 0.003


@pytest.mark.parametrize(("operations", "cost", "most"), [(4, 1.0, 0.004), (5, 1.1, 0.004), (13, 3.0, 0.005)])
def test_few_operations_bias_nothing_beyond_half_a_per_cent(
    operations: float, cost: float, most: float
) -> None:
    """The slower case has FEWEST_OPERATIONS or so in a slice; with one or two it would be far off."""
    off, fewest = _off(operations, cost)
    assert fewest >= FEWEST_OPERATIONS
    assert abs(off) < most


def test_fewer_operations_would_bias_a_ratio() -> None:
    off, fewest = _off(1.2, 3.0)
    assert fewest < FEWEST_OPERATIONS
    assert abs(off) > 0.05


def _off(operations: float, cost: float) -> tuple[float, float]:
    """How far the median of pairs is off, and the operations of the median slice of the slower case."""
    random = np.random.default_rng(16)
    (own, own_s), (other, other_s) = (
        closed_loop(operations, each, slices=60_000, random=random) for each in (cost, 1.0)
    )
    return float(np.median(np.log(own / own_s) - np.log(other / other_s))) + log(cost), float(np.median(own))


@pytest.mark.parametrize("effect", [0.0, 0.03])
def test_the_simulation_and_the_program_give_the_same_answers(effect: float) -> None:
    """The restated median of pairs is the program's own, in what stops a study and in what it tells."""
    found = costs(Sitting("bursts", rounds=15), effect=effect, studies=1, blocks=12, seed=17)
    expected = run(RUN, blocks_of(found))
    study, records, stopped_at = _run_for_real(found[0])
    assert stopped_at == expected.blocks[0]
    shown = [e for e in estimates(study, records) if e.comparison.case.role == "treatment"]
    for name in ("server_cpu_us_per_op", "latency_mean_us"):
        (ratio,) = (e.ratio for e in shown if e.outcome == name)
        assert ratio is not None
        assert log(ratio.point) == pytest.approx(expected.logs[0, 1])
        assert log1p(ratio.half_width or 0.0) == pytest.approx(expected.halves[0, 1])


def _run_for_real(found: Array) -> tuple[Study, list[TrialRecord], int]:
    """The same slices as trials of a study, decided after every block by the program itself."""
    study = Study(
        name="s",
        title="",
        question="",
        factors={"tls": ("off", "1.3")},
        baseline={"tls": "off"},
        deciding_outcome="server_cpu_us_per_op",
        precision=RUN.precision,
        budget_s=RUN.most_blocks,
    )
    records: list[TrialRecord] = []
    for block, measured in enumerate(found):
        for position, case in enumerate(cases(study)):
            records.append(
                in_turns(Trial(block=block, position=position, case=case), _slices(measured[:, position]))
            )
        if isinstance(decide(study, records, elapsed_s=block + 1), Stop):
            return study, records, block + 1
    raise AssertionError("the budget must end every study")


def _slices(logs: Array) -> Slices:
    """A hundred operations in every slice, at these costs."""
    each = tuple(100 * exp(cost) for cost in logs)
    return Slices(
        sitting=0,
        length_s=0.005,
        took_s=1.0,
        rounds=tuple(range(len(logs))),
        operations=(100,) * len(logs),
        elapsed_s=tuple(cost / 1000 for cost in each),
        latency_sum_s=tuple(cost / 1000 for cost in each),
        client_cpu_us=each,
        server_cpu_us=each,
    )
