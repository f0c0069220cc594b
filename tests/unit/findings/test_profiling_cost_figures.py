"""What was sampled of a run and what that cost, in figures worked out by hand from a few trials."""

from __future__ import annotations

from math import exp, log
from typing import Any

import pytest

from intervals import known
from sampled_trials import INVALID, measured, profile, run_of, sampled
from tlstax.findings.explain.profiling_cost import caveats_of_profiling, profiling
from tlstax.records.trial import TrialRecord, Verdict
from tlstax.results.document import Profiling, TrialCounts
from tlstax.study import Case

PLAIN = Case(levels={"tls": "off"}, role="baseline")
TLS = Case(levels={"tls": "1.3"}, role="treatment")

USER = "main [mysqld];work [mysqld]"
NAMED = "main [mysqld];tcp_sendmsg [kernel]"
NAMELESS = "main [mysqld];[unknown] [kernel]"


def found(*records: TrialRecord) -> Profiling:
    told = profiling(run_of(*records))
    assert told is not None
    return told


def test_a_run_without_sampled_trials_has_nothing_to_tell() -> None:
    assert profiling(run_of(measured(PLAIN, 0))) is None
    assert caveats_of_profiling(None) == ()


def test_what_was_sampled_is_counted() -> None:
    told = found(
        sampled(PLAIN, 0, profile({USER: 3, NAMED: 4}, lost=2, event="cpu-clock")),
        sampled(PLAIN, 1, profile({USER: 5}, {USER: 7}, lost=3)),
        sampled(PLAIN, 2, profile({USER: 1}), verdict=INVALID),
        sampled(PLAIN, 3, None, verdict=Verdict(value="unknown"), why_no_profile="perf was killed"),
        sampled(PLAIN, 4, None, why_no_profile="perf did not answer"),
        sampled(PLAIN, 5, None, why_no_profile="perf did not answer"),
    )
    assert told.trials == TrialCounts(valid=4, invalid=1, unknown=1)
    assert (told.profiles, told.samples, told.lost) == (3, 20, 5)
    assert (told.event, told.frequency_hz) == ("cpu-clock", 1000)
    assert (told.kernel, told.kernel_names, told.sides) == (True, True, ("server", "client"))
    assert told.why_none == ("perf did not answer (2)", "perf was killed")
    assert told.costs == {}


def test_without_any_profile_there_is_nothing_but_the_reason() -> None:
    told = found(sampled(PLAIN, 0, None, why_no_profile="perf is not there"))
    assert (told.profiles, told.event, told.frequency_hz, told.samples, told.lost) == (0, "", 0, 0, 0)
    assert (told.kernel, told.kernel_names, told.sides) == (False, False, ())
    assert (told.why_none, told.coverage, told.costs) == (("perf is not there",), {}, {})


@pytest.mark.parametrize(
    ("server", "client", "names"),
    [
        ({USER: 1}, None, False),
        ({NAMELESS: 1}, None, False),
        ({NAMELESS: 1, NAMED: 1}, None, True),
        (None, {USER: 1, NAMED: 1}, True),
        ({NAMELESS: 1}, {NAMELESS: 1}, False),
    ],
    ids=["user space", "nameless", "one named", "the client's", "nameless on both sides"],
)
def test_the_kernels_functions_have_names_where_any_has(
    server: dict[str, int] | None, client: dict[str, int] | None, names: bool
) -> None:
    assert found(sampled(PLAIN, 0, profile(server, client))).kernel_names is names


def test_the_sides_are_those_that_any_profile_shows() -> None:
    assert found(sampled(PLAIN, 0, profile({USER: 1}))).sides == ("server",)
    assert found(sampled(PLAIN, 0, profile(None, {USER: 1}))).sides == ("client",)
    both = found(sampled(PLAIN, 0, profile(None, {USER: 1})), sampled(PLAIN, 1, profile({USER: 1})))
    assert both.sides == ("server", "client")


def test_coverage_is_samples_by_those_that_the_cpu_time_should_have_given() -> None:
    """1000 operations of 500 µs and 300 µs are 500 and 300 samples at 1000 Hz; 3/4 of them in user space."""
    told = found(
        sampled(PLAIN, 0, profile({USER: 200}, {USER: 30}), server_us=500, client_us=300),
        sampled(PLAIN, 1, profile({USER: 100}, kernel=False), server_us=200),
        sampled(PLAIN, 2, profile({USER: 900}), server=None),
        sampled(PLAIN, 3, None),
    )
    assert told.coverage == pytest.approx({"server": 300 / (500 + 150), "client": 30 / 300})


def test_what_is_covered_of_no_cpu_time_is_not_told() -> None:
    assert found(sampled(PLAIN, 0, profile({USER: 9}), server=None, done=None)).coverage == {}


def test_a_cost_is_pooled_over_cases_and_its_interval_is_over_blocks() -> None:
    """Block 0 does 0.8 and 0.5 as much, block 1 0.9 and 0.4; t(1) at 98.75 % is 25.4517."""
    told = found(
        sampled(PLAIN, 2, None, ops_per_s=1.0),
        sampled(PLAIN, 3, profile(), ops_per_s=1.0, verdict=INVALID),
        sampled(PLAIN, 4, profile(), ops_per_s=1.0),
        sampled(TLS, 5, profile(), ops_per_s=1.0),
        sampled(PLAIN, 0, profile(), 200, 30, ops_per_s=800),
        sampled(PLAIN, 1, profile(), 200, 30, ops_per_s=900),
        sampled(TLS, 0, profile(), 400, 30, ops_per_s=500),
        sampled(TLS, 1, profile(), 400, 30, ops_per_s=400),
        *(measured(case, block) for case in (PLAIN, TLS) for block in (0, 1)),
        *(measured(PLAIN, block, server_us=1.0) for block in (2, 3)),
        measured(PLAIN, 4, verdict=INVALID),
    )
    mean, half = log(0.8 * 0.5 * 0.9 * 0.4) / 4, 25.45170 * log(0.4 / 0.36) / 4
    speed = told.costs["ops_per_s"]
    assert (speed.point, speed.blocks, speed.confidence) == (pytest.approx(exp(mean)), 2, 0.95)
    assert (speed.low, speed.high) == pytest.approx((exp(mean - half), exp(mean + half)), rel=1e-5)
    assert told.costs["server_cpu_us_per_op"].point == pytest.approx(8**0.5)
    assert told.costs["client_cpu_us_per_op"].point == pytest.approx(3.0)


def test_a_cost_that_one_of_the_two_does_not_know_is_left_out() -> None:
    told = found(
        measured(PLAIN, 0, server=None),
        measured(PLAIN, 1),
        sampled(PLAIN, 0, profile(), 200),
        sampled(PLAIN, 1, profile(), 300),
    )
    assert (told.costs["server_cpu_us_per_op"].point, told.costs["server_cpu_us_per_op"].blocks) == (
        pytest.approx(3.0),
        1,
    )
    assert told.costs["ops_per_s"].blocks == 2
    bare = found(measured(PLAIN, 0, server=None), sampled(PLAIN, 0, profile()))
    assert set(bare.costs) == {"ops_per_s", "client_cpu_us_per_op"}


def caveats(**changes: Any) -> tuple[str, ...]:
    """Of profiles that lack nothing, but for these changes."""
    whole = Profiling(
        trials=TrialCounts(valid=8, invalid=0, unknown=0),
        profiles=8,
        event="cycles",
        frequency_hz=1000,
        kernel=True,
        kernel_names=True,
        sides=("server", "client"),
        coverage={},
        samples=9900,
        lost=0,
    )
    return caveats_of_profiling(whole.model_copy(update=changes))


SLOW = "sampling slowed the profiled trials down a lot: they may spend their time on other things"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        (
            {"trials": TrialCounts(valid=5, invalid=2, unknown=1)},
            "3 profiled trials not valid, and what was sampled there left out",
        ),
        (
            {"trials": TrialCounts(valid=7, invalid=1, unknown=0)},
            "1 profiled trial not valid, and what was sampled there left out",
        ),
        (
            {"why_none": ("it was killed (2)", "it did not answer")},
            "profiled trials without a profile: it was killed (2); it did not answer",
        ),
        ({"sides": ("client",)}, "only the client was sampled: the server's process is out of reach"),
        ({"sides": ("server",)}, None),
        (
            {"kernel": False, "kernel_names": False},
            "only user space was sampled: the profiles lack the kernel",
        ),
        ({"profiles": 0, "kernel": False, "kernel_names": False}, None),
        (
            {"kernel_names": False},
            "the kernel's functions have no names in the profiles (`tlstax doctor` says why)",
        ),
        ({"lost": 100}, None),
        ({"lost": 1}, None),
        ({"samples": 0}, None),
        ({"lost": 1100}, "perf lost 10 % of the samples"),
        ({"samples": 99, "lost": 1}, None),
        ({"samples": 0, "lost": 1}, "perf lost 100 % of the samples"),
        ({"costs": {"ops_per_s": known(0.8, 0.7, 0.9, 6)}}, None),
        ({"costs": {"ops_per_s": known(0.79, 0.7, 0.9, 6)}}, SLOW),
        ({"costs": {"server_cpu_us_per_op": known(0.5, 0.4, 0.6, 6)}}, None),
    ],
)
def test_what_the_profiles_lack_is_said(changes: dict[str, Any], words: str | None) -> None:
    assert caveats(**changes) == (() if words is None else (words,))
