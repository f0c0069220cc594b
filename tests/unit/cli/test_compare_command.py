"""`tlstax compare` and `tlstax check`: what is typed badly is one sentence, and a verdict is a status."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fake_trials import Truth, fake_run, tax_truth
from tlstax.cli.compare_command import CheckOptions, check_command, compare_command, limit_of
from tlstax.cli.kept import open_store
from tlstax.cli.pack_command import pack_command
from tlstax.records.trial import StoredRun
from tlstax.study import Case
from tlstax.support.errors import UserMistake

LIMIT = "server_cpu_us_per_op +8%"


@pytest.fixture(autouse=True)
def _three_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One, the same again, and one with a TLS that costs three tenths more."""
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path))
    with open_store() as store:
        for name, seed, factor in (("one", 1, 1.0), ("again", 2, 1.0), ("slower", 3, 1.3)):
            stored = run(seed, factor)
            header = stored.header.model_copy(update={"run": name})
            store.begin(header)
            store.add_trials(name, stored.trials)
            store.finish(name, "complete", "")


def run(seed: int, factor: float) -> StoredRun:
    def truth(case: Case) -> Truth:
        own = tax_truth(case)
        more = 1.0 if case.levels["tls"] == "off" else factor
        return replace(own, server_cpu_us_per_op=own.server_cpu_us_per_op * more)

    return fake_run(seed=seed, truth=truth, noise=0.002, invalid=False)


@pytest.mark.parametrize(("name", "status", "verdict"), [("again", 0, "PASS"), ("slower", 4, "FAIL")])
def test_a_verdict_is_a_status(
    name: str, status: int, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check_command(CheckOptions(run=name, against="one", limits=[LIMIT])) == status
    assert f"{verdict}: {name} beside one" in " ".join(capsys.readouterr().out.split())
    assert check_command(CheckOptions(run=name, against="one", limits=[LIMIT], json=True)) == status
    assert json.loads(capsys.readouterr().out)["verdict"] == verdict


def test_what_is_too_close_to_the_limit_is_inconclusive(capsys: pytest.CaptureFixture[str]) -> None:
    options = CheckOptions(run="slower", against="one", limits=["server_cpu_us_per_op +30 %"])
    assert check_command(options) == 5
    assert "could be up to +" in capsys.readouterr().out


def test_runs_stand_beside_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare_command(["one", "again", "slower"], "server_cpu_us_per_op", as_json=True) == 0
    beside = json.loads(capsys.readouterr().out)["beside"]
    assert [(own["against"], own["run"]) for own in beside] == [("one", "again"), ("one", "slower")]
    assert compare_command(["one", "slower"], None, as_json=False) == 0
    assert "higher" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("server_cpu_us_per_op", "not an outcome and a percentage"),
        ("+5%", "not an outcome and a percentage"),
        ("server_cpu +5%", "not an outcome"),
        ("server_cpu_us_per_op +5", "not an outcome and a percentage"),
        ("server_cpu_us_per_op +nan%", "not an outcome and a percentage"),
        ("server_cpu_us_per_op -100%", "nothing can fall by 100 % or more"),
        ("server_cpu_us_per_op -2e9%", "not an outcome and a percentage"),
    ],
)
def test_a_limit_that_is_none_is_said(text: str, words: str) -> None:
    with pytest.raises(UserMistake, match=words):
        limit_of(text)


def test_a_limit_may_be_a_fall() -> None:
    assert limit_of("server_cpu_us_per_op -2.5 %").most == -0.025
    assert limit_of("latency_p99_us 0%").most == 0


def test_what_cannot_be_compared_is_said() -> None:
    with pytest.raises(UserMistake, match="two runs or more"):
        compare_command(["one"], None, as_json=False)
    with pytest.raises(UserMistake, match="two runs or more"):
        compare_command(["one", "one"], None, as_json=False)
    with pytest.raises(UserMistake, match="there is no run 'two'"):
        compare_command(["one", "two"], None, as_json=False)
    with pytest.raises(UserMistake, match="not an outcome"):
        compare_command(["one", "again"], "speed", as_json=False)
    with pytest.raises(UserMistake, match="against itself"):
        check_command(CheckOptions(run="one", against="one", limits=[LIMIT]))


def test_a_run_that_is_named_twice_by_any_of_its_names_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="run again is named 2 times"):
        compare_command(["one", "again", "agai"], None, as_json=False)
    pack_command("one", tmp_path / "one.tlstax", with_names=True)
    with pytest.raises(UserMistake, match="run one is named 2 times"):
        compare_command(["one", str(tmp_path / "one.tlstax")], None, as_json=False)


def test_a_run_that_is_still_under_way_is_said() -> None:
    """It is as long as its writer has the store open."""
    with open_store() as store:
        store.begin(run(4, 1.0).header.model_copy(update={"run": "under-way"}))
        with pytest.raises(UserMistake, match="run under-way is still under way"):
            check_command(CheckOptions(run="under-way", against="one", limits=[LIMIT]))
        with pytest.raises(UserMistake, match="run under-way is still under way"):
            compare_command(["one", "under-way"], None, as_json=False)


def test_each_outcome_has_one_limit() -> None:
    with pytest.raises(UserMistake, match="server_cpu_us_per_op has 2 limits"):
        check_command(CheckOptions(run="again", against="one", limits=[LIMIT, "server_cpu_us_per_op +1%"]))


def test_a_limit_that_is_for_no_case_is_said_though_another_is_kept() -> None:
    """Else a gate would pass that looks at nothing."""
    with pytest.raises(UserMistake, match="no case that both runs have beside their baselines has path_cpu"):
        check_command(CheckOptions(run="again", against="one", limits=[LIMIT, "path_cpu_us_per_op +1%"]))
