"""What was sampled of a run and what that cost, by hand; and that nothing else of a run changes by it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from itertools import islice
from math import exp, log
from random import Random
from typing import Any

import pytest

import golden
from fake_trials import fake_record, tax_truth, whole_tax
from intervals import known
from profiled_runs import PROFILE, profiled_run, profiled_study, without_profiled
from sampled_trials import INVALID, measured, profile, run_of, sampled
from tlstax.observers.profiler import Sampling, sampling_of
from tlstax.plan.order import blocks, cases, plan
from tlstax.records.profiles.stacks import Side
from tlstax.records.trial import TrialRecord, Verdict
from tlstax.report.formats.render import render
from tlstax.results.interval import Interval
from tlstax.results.rows import Row, Told
from tlstax.run.progress import Outlook
from tlstax.run.resume import slim
from tlstax.stats.pooling import Pooling
from tlstax.stats.stopping import decide
from tlstax.study import Case
from tlstax.topics.answer.document import document
from tlstax.topics.answer.export import exported
from tlstax.topics.core.topic import Run
from tlstax.topics.profiling import TOPIC, caveats_of

PLAIN = Case(levels={"tls": "off"}, role="baseline")
TLS = Case(levels={"tls": "1.3"}, role="treatment")

USER = "main [mysqld];work [mysqld]"
NAMED = "main [mysqld];tcp_sendmsg [kernel]"
NAMELESS = "main [mysqld];[unknown] [kernel]"


def found(*records: TrialRecord) -> Told:
    return TOPIC.told(Run(run_of(*records)))


def sampled_of(told: Told) -> Row:
    """The row of what was sampled."""
    (row,) = told.of(role="profiles")
    return row


def coverage(told: Told) -> dict[str, float | None]:
    return {row.word("side"): row.value for row in told.of(role="coverage")}


def costs(told: Told) -> dict[str, Interval | None]:
    return {row.outcome: row.interval for row in told.of(role="")}


def test_a_run_without_sampled_trials_has_nothing_to_tell() -> None:
    assert found(measured(PLAIN, 0)).rows == ()


def test_what_was_sampled_is_counted() -> None:
    told = found(
        sampled(PLAIN, 0, profile({USER: 3, NAMED: 4}, lost=2, event="cpu-clock")),
        sampled(PLAIN, 1, profile({USER: 5}, {USER: 7}, lost=3)),
        sampled(PLAIN, 2, profile({USER: 1}), verdict=INVALID),
        sampled(PLAIN, 3, None, verdict=Verdict(value="unknown"), why_no_profile="perf was killed"),
        sampled(PLAIN, 4, None, why_no_profile="perf did not answer"),
        sampled(PLAIN, 5, None, why_no_profile="perf did not answer"),
    )
    row = sampled_of(told)
    assert row.value == 20
    assert row.more == {
        "trials_valid": 4,
        "trials_invalid": 1,
        "trials_unknown": 1,
        "profiles": 3,
        "samples_lost": 5,
        "event": "cpu-clock",
        "frequency_hz": 1000,
        "kernel": True,
        "kernel_names": True,
    }
    assert set(coverage(told)) == {"server", "client"}
    assert "profiled trials without a profile: perf did not answer (2); perf was killed" in row.caveats
    assert costs(told) == {}


def test_without_any_profile_there_is_nothing_but_the_reason() -> None:
    told = found(sampled(PLAIN, 0, None, why_no_profile="perf is not there"))
    (row,) = told.rows
    assert row.value == 0
    nothing = {"profiles": 0, "samples_lost": 0, "event": None, "frequency_hz": None}
    trials = {"trials_valid": 1, "trials_invalid": 0, "trials_unknown": 0}
    assert row.more == {**trials, **nothing, "kernel": False, "kernel_names": False}
    assert row.caveats == ("profiled trials without a profile: perf is not there",)
    assert told.sentences == ("none: 1 trial besides, of which nothing could be sampled",)


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
    assert sampled_of(found(sampled(PLAIN, 0, profile(server, client)))).more["kernel_names"] is names


def test_the_sides_are_those_that_any_profile_shows() -> None:
    assert set(coverage(found(sampled(PLAIN, 0, profile({USER: 1}))))) == {"server"}
    assert set(coverage(found(sampled(PLAIN, 0, profile(None, {USER: 1}))))) == {"client"}
    both = found(sampled(PLAIN, 0, profile(None, {USER: 1})), sampled(PLAIN, 1, profile({USER: 1})))
    assert list(coverage(both)) == ["server", "client"]


def test_coverage_is_samples_by_those_that_the_cpu_time_should_have_given() -> None:
    """1000 operations of 500 µs and 300 µs are 500 and 300 samples at 1000 Hz; 3/4 of them in user space."""
    told = found(
        sampled(PLAIN, 0, profile({USER: 200}, {USER: 30}), server_us=500, client_us=300),
        sampled(PLAIN, 1, profile({USER: 100}, kernel=False), server_us=200),
        sampled(PLAIN, 2, profile({USER: 900}), server=None),
        sampled(PLAIN, 3, None),
    )
    assert coverage(told) == pytest.approx({"server": 300 / (500 + 150), "client": 30 / 300})


def test_what_is_covered_of_no_cpu_time_is_not_told() -> None:
    lost: dict[str, Any] = {"server": None, "done": None}
    assert coverage(found(sampled(PLAIN, 0, profile({USER: 9}), **lost))) == {"server": None}
    assert coverage(found(sampled(PLAIN, 0, profile(None, {USER: 9}), **lost))) == {"client": None}


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
    speed = costs(told)["ops_per_s"]
    assert speed is not None
    assert (speed.point, speed.blocks, speed.confidence) == (pytest.approx(exp(mean)), 2, 0.95)
    assert (speed.low, speed.high) == pytest.approx((exp(mean - half), exp(mean + half)), rel=1e-5)
    points = {name: cost.point for name, cost in costs(told).items() if cost is not None}
    assert points["server_cpu_us_per_op"] == pytest.approx(8**0.5)
    assert points["client_cpu_us_per_op"] == pytest.approx(3.0)


def test_a_cost_of_blocks_on_several_machines_is_pooled_over_these() -> None:
    rates, names = (800, 900, 500, 400), ("one", "other", "one", "other")
    pairs = [
        record.model_copy(update={"machine": names[block]})
        for block, rate in enumerate(rates)
        for record in (measured(PLAIN, block), sampled(PLAIN, block, profile(), ops_per_s=rate))
    ]
    logs = {block: log(rate / 1000) for block, rate in enumerate(rates)}
    apart = Pooling(0.95, dict(enumerate(names))).interval(logs)
    speed = costs(found(*pairs))["ops_per_s"]
    assert speed is not None
    assert (speed.low, speed.high) == pytest.approx((apart.low, apart.high))
    assert speed.low != pytest.approx(Pooling(0.95).interval(logs).low)


def test_a_cost_that_one_of_the_two_does_not_know_is_left_out() -> None:
    told = found(
        measured(PLAIN, 0, server=None),
        measured(PLAIN, 1),
        sampled(PLAIN, 0, profile(), 200),
        sampled(PLAIN, 1, profile(), 300),
    )
    known_costs = {name: (cost.point, cost.blocks) for name, cost in costs(told).items() if cost is not None}
    assert known_costs["server_cpu_us_per_op"] == (pytest.approx(3.0), 1)
    assert known_costs["ops_per_s"][1] == 2
    bare = found(measured(PLAIN, 0, server=None), sampled(PLAIN, 0, profile()))
    assert set(costs(bare)) == {"ops_per_s", "client_cpu_us_per_op"}


def caveats(
    sides: Sequence[Side] = ("server", "client"),
    why_none: Sequence[str] = (),
    speed: Interval | None = None,
    samples: float = 9900,
    **changes: Any,
) -> tuple[str, ...]:
    """Of profiles that lack nothing, but for these changes."""
    whole = {"trials_valid": 8, "trials_invalid": 0, "trials_unknown": 0, "profiles": 8, "samples_lost": 0}
    row = Row(value=samples, more={**whole, "kernel": True, "kernel_names": True, **changes})
    return caveats_of(row, sides, why_none, speed)


SLOW = "sampling slowed the profiled trials down a lot: they may spend their time on other things"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        (
            {"trials_valid": 5, "trials_invalid": 2, "trials_unknown": 1},
            "3 profiled trials not valid, and what was sampled there left out",
        ),
        (
            {"trials_valid": 7, "trials_invalid": 1},
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
        ({"samples_lost": 100}, None),
        ({"samples_lost": 1}, None),
        ({"samples": 0}, None),
        ({"samples_lost": 1100}, "perf lost 10 % of the samples"),
        ({"samples": 99, "samples_lost": 1}, None),
        ({"samples": 0, "samples_lost": 1}, "perf lost 100 % of the samples"),
        ({"speed": known(0.8, 0.7, 0.9, 6)}, None),
        ({"speed": known(0.79, 0.7, 0.9, 6)}, SLOW),
    ],
)
def test_what_the_profiles_lack_is_said(changes: dict[str, Any], words: str | None) -> None:
    assert caveats(**changes) == (() if words is None else (words,))


RUN = profiled_run()
STUDY = profiled_study()


def test_what_a_run_shows_of_its_sampling() -> None:
    golden.check("profiling", RUN, TOPIC)


def test_each_case_is_profiled_once_in_every_block_somewhere_in_it() -> None:
    some = list(islice(blocks(STUDY, 5), 40))
    for block in some:
        keys = [(trial.case.key(), trial.profiled) for trial in block]
        assert sorted(keys) == sorted((case.key(), on) for case in cases(STUDY) for on in (False, True))
        assert [trial.position for trial in block] == list(range(2 * len(cases(STUDY))))
    first = sum(block[0].profiled for block in some)
    assert 0 < first < len(some)


def test_without_profile_the_order_is_one_draw_a_case() -> None:
    plain, generator = whole_tax(), Random(7)  # noqa: S311 (an order, not a secret)
    for block in islice(blocks(plain, 7), 3):
        draws = [(generator.random(), place) for place in range(len(cases(plain)))]
        assert [trial.case for trial in block] == [cases(plain)[place] for _, place in sorted(draws)]
        assert not any(trial.profiled for trial in block)


def test_a_plan_counts_the_profiled_trials_and_their_time() -> None:
    plain, profiled = plan(whole_tax()), plan(STUDY)
    assert (plain.profiled, profiled.profiled * 2) == (0, profiled.trials)
    assert profiled.block_s > 2 * plain.block_s - 2 * len(plain.cases) * plain.trial_duration_s
    assert profiled.blocks < plain.blocks
    assert profiled.blocks * profiled.block_s <= STUDY.budget_s


def test_progress_says_profiled() -> None:
    trials = [trial for block in islice(blocks(STUDY, 5), 1) for trial in block]
    outlook = Outlook(STUDY, 0.1, 0.0, 0.0)
    for trial in trials:
        step = outlook.step(trial, 0.0)
        assert step.label.endswith(", profiled") is trial.profiled
        assert step.of == len(trials)


def test_nothing_is_estimated_from_profiled_trials() -> None:
    told, alone = document(RUN), document(without_profiled(RUN))
    sampled = {"profiling", "explain"}
    assert told.topics.keys() - alone.topics.keys() == sampled
    others = {name: topic for name, topic in told.topics.items() if name not in sampled}
    assert told.model_copy(update={"topics": others}) == alone
    assert told.trials.valid == len(RUN.measured) < len(RUN.trials)
    assert decide(STUDY, RUN.measured, 1.0) == decide(STUDY, without_profiled(RUN).trials, 1.0)


@pytest.mark.parametrize("name", ["terminal", "md", "html", "csv", "json"])
def test_every_report_says_what_sampling_costs_and_differs_in_nothing_else(name: str) -> None:
    alone = without_profiled(RUN)
    texts = [render(run, document(run), name, verbose=True) for run in (RUN, alone)]
    if name == "csv":
        both = [list(csv.DictReader(io.StringIO(text))) for text in texts]
        others = [row for row in both[0] if row["topic"] not in {"profiling", "explain"}]
        assert [{name: row[name] for name in both[1][0]} for row in others] == both[1]
    elif name == "json":
        documents = [json.loads(text) for text in texts]
        assert documents[0]["topics"].pop("profiling")["rows"][0]["value"] == 100 * len(RUN.profiled)
        assert documents[0]["topics"].pop("explain")["rows"]
        assert documents[0] == documents[1]
    else:
        words = " ".join(texts[0].split())
        assert words.count("samples of user space and kernel") == 1
        assert "−20.0 %" in words
        assert "samples of user space" not in texts[1]


def test_what_profiles_lack_is_a_caveat_of_the_run() -> None:
    caveats_of_run = document(profiled_run(PROFILE.model_copy(update={"lost": 50}))).caveats
    assert [caveat for caveat in caveats_of_run if "perf lost" in caveat] == ["perf lost 33 % of the samples"]


def test_the_export_has_the_profiles() -> None:
    trials = exported(RUN).trials
    profiled = [trial for trial in trials if trial.profiled]
    assert len(profiled) * 2 == len(trials)
    assert all(trial.profile == PROFILE for trial in profiled)
    assert all(trial.profile is None for trial in trials if not trial.profiled)


def test_a_profile_is_not_kept_in_memory() -> None:
    record = next(record for record in RUN.trials if record.trial.profiled)
    assert slim(record, STUDY).profile is None
    assert fake_record(record.trial, tax_truth(record.trial.case)).trial.profiled


@pytest.mark.parametrize(
    ("told", "sampling"),
    [
        ("cpu-clock\n", Sampling("cpu-clock", kernel=True, processors=True)),
        ("cpu-clock:uH\n# Tip: use 'perf evlist -v'\n", Sampling("cpu-clock", kernel=False, processors=True)),
        ("cycles:P\n", Sampling("cycles", kernel=True, processors=True)),
        ("cycles:Pu\n", Sampling("cycles", kernel=False, processors=True)),
        ("cpu_core/cycles/u\n", Sampling("cycles", kernel=False, processors=True)),
        ("", None),
        ("dummy:HG\n", None),
    ],
)
def test_what_is_sampled_is_read_from_perf(told: str, sampling: Sampling | None) -> None:
    assert sampling_of(told, processors=True) == sampling


def test_what_perf_is_asked_for() -> None:
    assert Sampling("cpu-clock", kernel=True, processors=True).asked == "cpu-clock:I"
    assert Sampling("cpu-clock", kernel=True, processors=False).asked == "cpu-clock"
    assert Sampling("cycles", kernel=True, processors=True).asked == "cycles"
    assert Sampling("cycles", kernel=False, processors=False).asked == "cycles:u"
