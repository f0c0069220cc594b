"""`tlstax compare`: what is typed badly is one sentence, and a verdict is a status."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from fake_trials import Truth, fake_run, tax_truth
from tlstax.cli.asked_outcomes import limits_of
from tlstax.cli.compare_command import compare_command
from tlstax.cli.export_command import pack_command
from tlstax.cli.options import LimitOptions
from tlstax.cli.read_app import CompareOptions
from tlstax.records.trial import StoredRun
from tlstax.store import open_store
from tlstax.study import Case
from tlstax.support.errors import UserMistake

LIMIT = "server_cpu_us_per_op +40%"
AT_MOST = LimitOptions(most=[LIMIT])


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store: one, the same five times again, and two of another version, of a costlier and a slower TLS."""
    folder = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TLSTAX_DATA", str(folder))
        with open_store() as store:
            for name, seed, version, factor, speed in (
                *((f"early{seed}", seed, "1", 1.0, 1.0) for seed in (5, 6, 7, 8)),
                ("one", 1, "1", 1.0, 1.0),
                ("again", 2, "1", 1.0, 1.0),
                ("slower", 3, "2", 2.0, 1.0),
                ("fewer", 4, "3", 1.0, 0.5),
            ):
                stored = run(seed, factor, speed)
                header = stored.header.model_copy(update={"run": name, "tlstax_version": version})
                store.begin(header)
                store.add_trials(name, stored.trials)
                store.finish(name, "complete", "")
    return folder


@pytest.fixture(autouse=True)
def _runs(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path))


def run(seed: int, factor: float, speed: float = 1.0) -> StoredRun:
    def truth(case: Case) -> Truth:
        own = tax_truth(case)
        if case.levels["tls"] == "off":
            return own
        return replace(
            own,
            server_cpu_us_per_op=own.server_cpu_us_per_op * factor,
            ops_per_s=own.ops_per_s * speed,
        )

    return fake_run(seed=seed, truth=truth, noise=0.002, invalid=False)


@pytest.mark.parametrize(("name", "status", "verdict"), [("again", 0, "PASS"), ("slower", 4, "FAIL")])
def test_a_verdict_is_a_status(
    name: str, status: int, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare_command(CompareOptions(runs=["one", name], limits=AT_MOST)) == status
    assert f"{verdict}: {name} beside one" in " ".join(capsys.readouterr().out.split())
    assert compare_command(CompareOptions(runs=["one", name], limits=AT_MOST, json=True)) == status
    assert json.loads(capsys.readouterr().out)["verdict"] == verdict


def test_what_is_too_close_to_the_limit_is_inconclusive(capsys: pytest.CaptureFixture[str]) -> None:
    options = CompareOptions(
        runs=["one", "slower"], limits=LimitOptions(most=["server_cpu_us_per_op +100 %"])
    )
    assert compare_command(options) == 5
    assert "could be up to +" in capsys.readouterr().out


def test_runs_stand_beside_the_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        compare_command(
            CompareOptions(runs=["one", "again", "slower"], outcomes="server_cpu_us_per_op", json=True)
        )
        == 0
    )
    beside = json.loads(capsys.readouterr().out)["beside"]
    assert [(own["against"], own["run"]) for own in beside] == [("one", "again"), ("one", "slower")]
    assert compare_command(CompareOptions(runs=["one", "slower"])) == 0
    assert re.search(r"TLS 1\.3, .* × +\+\d+\.\d % \[", capsys.readouterr().out), "a difference has no mark"


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
        limits_of(LimitOptions(most=[text]), print)


def test_a_limit_may_be_a_fall() -> None:
    typed = LimitOptions(most=["server_cpu_us_per_op -2.5 %", "latency_p99_us 0%"])
    assert [limit.most for limit in limits_of(typed, pytest.fail).named] == [-0.025, 0]


def test_what_cannot_be_compared_is_said() -> None:
    with pytest.raises(UserMistake, match="two runs or more"):
        compare_command(CompareOptions(runs=["one"]))
    with pytest.raises(UserMistake, match="two runs or more"):
        compare_command(CompareOptions(runs=["one", "one"]))
    with pytest.raises(UserMistake, match="there is no run 'two'"):
        compare_command(CompareOptions(runs=["one", "two"]))
    with pytest.raises(UserMistake, match="not an outcome"):
        compare_command(CompareOptions(runs=["one", "again"], outcomes="speed", json=False))
    with pytest.raises(UserMistake, match="against itself"):
        compare_command(CompareOptions(runs=["one", "one"], limits=AT_MOST))


def test_a_run_that_is_named_twice_by_any_of_its_names_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="run again is named 2 times"):
        compare_command(CompareOptions(runs=["one", "again", "agai"]))
    pack_command("one", tmp_path / "one.tlstax", with_names=True)
    with pytest.raises(UserMistake, match="run one is named 2 times"):
        compare_command(CompareOptions(runs=["one", str(tmp_path / "one.tlstax")]))


def test_a_run_that_is_still_under_way_is_said() -> None:
    """It is as long as its writer has the store open."""
    with open_store() as store:
        store.begin(run(4, 1.0).header.model_copy(update={"run": "under-way"}))
        with pytest.raises(UserMistake, match="run under-way is still under way"):
            compare_command(CompareOptions(runs=["one", "under-way"], limits=AT_MOST))
        with pytest.raises(UserMistake, match="run under-way is still under way"):
            compare_command(CompareOptions(runs=["one", "under-way"]))


def test_each_outcome_has_one_limit() -> None:
    with pytest.raises(UserMistake, match="server_cpu_us_per_op has several limits"):
        compare_command(
            CompareOptions(
                runs=["one", "again"], limits=LimitOptions(most=[LIMIT, "server_cpu_us_per_op +1%"])
            )
        )


def test_a_limit_that_is_for_no_case_is_said_though_another_is_kept() -> None:
    """Else a gate would pass that looks at nothing."""
    with pytest.raises(UserMistake, match="no case that both runs have beside their baselines has path_cpu"):
        compare_command(
            CompareOptions(runs=["one", "again"], limits=LimitOptions(most=[LIMIT, "path_cpu_us_per_op +1%"]))
        )


def checked(run: str, **typed: list[str]) -> int:
    return compare_command(CompareOptions(runs=["one", run], limits=LimitOptions(**typed)))


def test_a_fall_of_throughput_is_a_regression(capsys: pytest.CaptureFixture[str]) -> None:
    """A quarter fewer operations a second passed `--max 'ops_per_s +5%'`, and nobody said a word."""
    for typed in (["5%"], ["ops_per_s 5%"]):
        assert checked("fewer", max_regression=typed) == 4
        assert checked("again", max_regression=[text.replace("5", "40") for text in typed]) == 0
    assert checked("slower", max_regression=["9%"]) == 4, "a cost that rises is one as well"
    assert checked("fewer", least=["ops_per_s -5%"]) == 4
    assert "operations a second at least −5 %" in " ".join(capsys.readouterr().out.split())
    assert checked("again", least=["ops_per_s -40%"]) == 0


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"most": ["ops_per_s +5%"]}, "'ops_per_s 5%', or --min 'ops_per_s -5%'"),
        ({"least": ["latency_p99_us -5%"]}, "'latency_p99_us 5%', or --max 'latency_p99_us +5%'"),
    ],
)
def test_a_limit_on_the_better_side_is_told(typed: dict[str, list[str]], words: str) -> None:
    told: list[str] = []
    limits_of(LimitOptions(**typed), told.append)
    assert len(told) == 1
    assert words in told[0]


@pytest.mark.parametrize(
    "typed",
    [
        {"most": ["server_cpu_us_per_op +5%", "client_cpu_share +5%"], "least": ["ops_per_s -5%"]},
        {"max_regression": ["5%", "ops_per_s 3%"]},
    ],
)
def test_a_limit_on_the_worse_side_or_of_neither_is_not(typed: dict[str, list[str]]) -> None:
    limits_of(LimitOptions(**typed), pytest.fail)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"max_regression": ["5"]}, "not an outcome and a percentage"),
        ({"max_regression": ["ops_per_s -5%"]}, "has a sign"),
        ({"max_regression": ["+5%"]}, "has a sign"),
        ({"max_regression": ["5%", "4%"]}, "2 times for all main outcomes"),
        ({"max_regression": ["100%"]}, "nothing can fall by 100 % or more"),
        ({"max_regression": ["ops_per_s 100%"]}, "nothing can fall by 100 % or more"),
        ({"max_regression": ["server_cpu_share 5%"]}, "neither more nor less of server_cpu_share is better"),
        (
            {"max_regression": ["ops_per_s 5%"], "least": ["ops_per_s -3%"]},
            "several limits of how far it may fall",
        ),
        ({"least": ["-5%"]}, "not an outcome and a percentage"),
    ],
)
def test_a_limit_of_regressions_that_is_none_is_said(typed: dict[str, list[str]], words: str) -> None:
    with pytest.raises(UserMistake, match=words):
        limits_of(LimitOptions(**typed), print)


def test_without_a_limit_there_is_no_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert checked("slower") == 0
    assert "PASS" not in capsys.readouterr().out


def test_names_like_the_one_that_was_mistyped_are_offered() -> None:
    """It used to point to a document of 400 KB."""
    for text, name in (("server_cpu_us +5%", "server_cpu_us_per_op"), ("xyz +5%", "latency_p99_us")):
        with pytest.raises(UserMistake) as said:
            limits_of(LimitOptions(most=[text]), print)
        assert name in said.value.remedy
    with pytest.raises(UserMistake) as said:
        checked("again", most=["path_cpu_us_per_op +1%"])
    assert "server_cpu_us_per_op" in said.value.remedy


def test_other_runs_of_the_same_show_how_far_runs_differ(capsys: pytest.CaptureFixture[str]) -> None:
    """Of two runs alone little is told, and the sentence says what would tell more."""
    assert (
        compare_command(CompareOptions(runs=["one", "slower"], outcomes="server_cpu_us_per_op", json=True))
        == 0
    )
    (known,) = json.loads(capsys.readouterr().out)["beside"]
    assert sorted(known["same_again"]) == ["again", "early5", "early6", "early7", "early8"]
    with open_store() as store:
        for name in known["same_again"]:
            store.delete(name)
    assert (
        compare_command(CompareOptions(runs=["one", "slower"], outcomes="server_cpu_us_per_op", json=True))
        == 0
    )
    (alone,) = json.loads(capsys.readouterr().out)["beside"]
    assert alone["same_again"] == []
    for own, other in zip(known["changes"], alone["changes"], strict=True):
        assert own["interval"]["high"] < other["interval"]["high"]
    assert compare_command(CompareOptions(runs=["one", "slower"], limits=AT_MOST)) == 5
    said = " ".join(capsys.readouterr().out.split())
    assert "No other run of the same thing is known here" in said
    assert "`tlstax ab` can" in said


def test_another_run_that_cannot_be_read_is_in_nobodys_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "store.sqlite")) as connection, connection:
        connection.execute("UPDATE kept_runs SET header = x'00' WHERE run = 'early5'")
        connection.execute("UPDATE kept_trials SET record = x'00' WHERE run = 'early6'")
    assert (
        compare_command(CompareOptions(runs=["one", "slower"], outcomes="server_cpu_us_per_op", json=True))
        == 0
    )
    (known,) = json.loads(capsys.readouterr().out)["beside"]
    assert sorted(known["same_again"]) == ["again", "early7", "early8"]
