"""What was planted is what was counted, over what the baseline cost; and what a campaign says of its runs."""

from __future__ import annotations

import math
from typing import Any

import planted
import pytest

from fake_slices import SERVER_US, in_turns, slices_of
from fake_trials import fake_header
from tlstax.records.trial import StoredRun, Trial, TrialRecord, Verdict
from tlstax.records.window import Burned
from tlstax.study import Case, Role

TEN_PER_CENT_NS = round(100 * SERVER_US)
CLOCK_NS = 200
"""What reading the clock is charged to each call, in every case."""


def record(burn: str, role: Role, block: int, burned_ns: int, verdict: str = "valid") -> TrialRecord:
    """A trial of six slices of 50 operations, each of which burned this much; the watched part far more."""
    levels: dict[str, Any] = {"burn": burn, "fault": "burn", "tls": "off", "resumption": "off"}
    levels |= {"workload": "point-select"}
    made = in_turns(
        Trial(block=block, position=0, case=Case(levels=levels, role=role)), slices_of([(50, 1.0)] * 6)
    )
    seen = Burned(
        calls=(1000, *[50] * 6),
        asked_ns=(10**9, *[50 * burned_ns] * 6),
        burned_ns=(10**9, *[50 * burned_ns] * 6),
        cpu_ns=(10**9, *[50 * (burned_ns + CLOCK_NS)] * 6),
    )
    return made.model_copy(update={"burned": seen, "verdict": Verdict.model_validate({"value": verdict})})


def stored(*trials: TrialRecord) -> StoredRun:
    return StoredRun(header=fake_header(), status="complete", trials=trials)


def test_what_was_planted_is_counted_in_the_slices_and_set_against_the_baseline() -> None:
    run = stored(
        record("off", "baseline", 0, 0),
        record("2000ns", "treatment", 0, TEN_PER_CENT_NS),
        record("off", "baseline", 1, 0),
        record("2000ns", "treatment", 1, 2 * TEN_PER_CENT_NS),
        record("2000ns", "treatment", 2, 9 * TEN_PER_CENT_NS),
        record("off", "baseline", 3, 0, "invalid"),
        record("2000ns", "treatment", 3, 9 * TEN_PER_CENT_NS),
    )
    ratio, extra_ns = planted.planted_ratio(run, "2000ns")
    assert ratio == pytest.approx(math.sqrt(1.1 * 1.2))
    assert extra_ns == pytest.approx(1.5 * TEN_PER_CENT_NS)


def test_a_trial_without_a_count_ends_the_campaign() -> None:
    base = record("off", "baseline", 0, 0)
    run = stored(base, record("2000ns", "treatment", 0, 1).model_copy(update={"burned": None}))
    with pytest.raises(SystemExit, match="no count"):
        planted.planted_ratio(run, "2000ns")


def test_a_control_has_nothing_planted() -> None:
    run = stored(record("off", "baseline", 0, 0), record("off", "control", 0, 0))
    finding = {
        "outcome": planted.OUTCOME,
        "role": "control",
        "case": {"burn": "off"},
        "ratio": {"low": 0.99, "point": 1.0, "high": 1.01},
    }
    others = [{**finding, "role": "baseline"}, {**finding, "outcome": "ops_per_s"}]
    (one,) = planted.found_in({"findings": [*others, finding]}, run)
    assert (one.name, one.planted, one.extra_ns) == (planted.AGAIN, 1.0, 0.0)
    assert one.words().endswith("nothing found")


def found(name: str, low: float, high: float, ratio: float) -> planted.Planted:
    return planted.Planted(name, low, math.sqrt(low * high), high, ratio, 100.0)


def test_a_cost_is_found_above_one_and_held_within_its_interval() -> None:
    good = found("400ns", 1.005, 1.015, 1.01)
    assert (good.is_found, good.is_alarm, good.holds) == (True, True, True)
    below = found("400ns", 0.98, 0.99, 1.01)
    assert (below.is_found, below.is_alarm, below.holds) == (False, True, False)
    assert below.words().endswith("LOST, NOT HELD")
    around = found(planted.NOTHING, 0.99, 1.01, 1.0)
    assert (around.is_found, around.is_alarm, around.holds) == (False, False, True)


def tallies(runs: int, bad: dict[str, int]) -> dict[str, planted.Tally]:
    """Tallies of runs that went well but for as many of each amount as `bad` says."""
    made = {name: planted.Tally() for name in (planted.NOTHING, planted.AGAIN, "1%", "3%", "10%", "30%")}
    for name, tally in made.items():
        is_nothing = name in (planted.NOTHING, planted.AGAIN)
        for number in range(runs):
            is_above = (number < bad.get(name, 0)) == is_nothing
            tally.add(found(name, 1.001 if is_above else 0.99, 1.02, 1.0 if is_nothing else 1.01))
    return made


def wrong(runs: int, bad: dict[str, int], invalid: int = 0) -> list[str]:
    return list(planted._wrong(tallies(runs, bad), runs, invalid))


def test_one_false_alarm_and_two_lost_in_twenty_are_as_they_are_to_be() -> None:
    assert wrong(20, {"control": 1, "0 ns": 1, "1%": 2, "30%": 2}) == []
    assert wrong(20, {"control": 2}) == ["control: 2 false alarms"]
    assert wrong(20, {"0 ns": 3}) == ["0 ns: 3 false alarms"]
    assert wrong(20, {"1%": 3}) == ["1% was found in 17"]
    assert wrong(1, {"control": 1}) == ["control: 1 false alarms"]
    assert wrong(20, {}, invalid=4) == ["4 trials were not valid"]


def test_what_is_found_and_not_held_is_said() -> None:
    made = tallies(20, {})
    made["10%"] = planted.Tally()
    for number in range(20):
        made["10%"].add(found("2000ns", 1.2 if number < 3 else 1.05, 1.3, 1.1))
    assert list(planted._wrong(made, 20, 0)) == ["10% was held in 17"]
