"""Profiled trials tell what sampling costs, and nothing else of a run changes by them."""

from __future__ import annotations

import csv
import io
import json
from itertools import islice
from random import Random

import pytest

from fake_trials import fake_record, tax_truth, whole_tax
from profiled_runs import PROFILE, SLOWED, profiled_run, profiled_study, without_profiled
from tlstax.findings.core.stopping import decide
from tlstax.observers.profiler import Sampling, sampling_of
from tlstax.plan.order import blocks, cases, plan
from tlstax.profiles.stacks import SideProfile
from tlstax.records.trial import StoredRun
from tlstax.report.formats.render import render
from tlstax.run.progress import Outlook
from tlstax.run.resume import slim
from tlstax.topics.answer.document import document
from tlstax.topics.answer.export import exported

RUN = profiled_run()
STUDY = profiled_study()
NAMELESS = SideProfile(stacks={"clone [libc.so.6];[unknown] [kernel]": 9})


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
def test_every_report_says_what_sampling_costs_and_shows_and_differs_in_nothing_else(name: str) -> None:
    told, alone = render(RUN, document(RUN), name, verbose=True), _rendered_alone(name)
    assert told != alone
    if name == "csv":
        both = [list(csv.DictReader(io.StringIO(text))) for text in (told, alone)]
        costs = [row for row in both[0] if row["role"] == "profiling"]
        assert {row["outcome"]: round(float(row["ratio"]), 3) for row in costs} == {
            "ops_per_s": SLOWED,
            "server_cpu_us_per_op": 1.25,
            "client_cpu_us_per_op": 1.25,
        }
        others = [row for row in both[0] if row["topic"] not in {"profiling", "explain"}]
        assert [{name: row[name] for name in both[1][0]} for row in others] == both[1]
    elif name == "json":
        documents = json.loads(told), json.loads(alone)
        topics = documents[0]["topics"]
        assert topics.pop("profiling")["rows"][0]["value"] == 100 * len(RUN.profiled)
        assert topics.pop("explain")["rows"]
        assert documents[0] == documents[1]
    else:
        words = " ".join(told.split())
        assert words.count("samples of user space and kernel") == 1
        assert "−20.0 %" in words


def _rendered_alone(name: str) -> str:
    alone = without_profiled(RUN)
    return render(alone, document(alone), name, verbose=True)


def test_the_export_has_the_profiles() -> None:
    trials = exported(RUN).trials
    profiled = [trial for trial in trials if trial.profiled]
    assert len(profiled) * 2 == len(trials)
    assert all(trial.profile == PROFILE for trial in profiled)
    assert all(trial.profile is None for trial in trials if not trial.profiled)


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (profiled_run(None, why_none="perf did not answer"), "without a profile: perf did not answer (60)"),
        (profiled_run(PROFILE.model_copy(update={"server": None})), "only the client was sampled"),
        (profiled_run(PROFILE.model_copy(update={"kernel": False})), "only user space was sampled"),
        (profiled_run(PROFILE.model_copy(update={"lost": 50})), "perf lost 33 % of the samples"),
        (
            profiled_run(
                PROFILE.model_copy(
                    update={"server": SideProfile(stacks={"[unknown] [kernel]": 9}), "client": None}
                )
            ),
            "the kernel's functions have no names",
        ),
    ],
)
def test_what_profiles_lack_is_said_once(run: StoredRun, words: str) -> None:
    caveats = document(run).caveats
    assert sum(words in caveat for caveat in caveats) == 1, caveats


def test_a_trial_without_profile_or_without_its_twin_tells_no_cost() -> None:
    (none,) = document(profiled_run(None, why_none="perf was killed")).topics["profiling"].rows
    assert none.more["profiles"] == 0
    alone = document(RUN.model_copy(update={"trials": RUN.profiled}))
    assert not alone.topics["profiling"].of("ops_per_s")
    assert not alone.findings


def test_how_much_of_the_cpu_time_has_samples() -> None:
    found = document(RUN).topics["profiling"].of(role="coverage")
    used_s = sum(r.server.cpu.total_us for r in RUN.profiled if r.server and r.server.cpu) / 1e6
    covered = {row.word("side"): row.value for row in found}
    assert covered["server"] == pytest.approx(90 * len(RUN.profiled) / (999 * used_s))
    assert set(covered) == {"server", "client"}


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
