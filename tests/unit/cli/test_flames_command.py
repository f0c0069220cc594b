"""`tlstax flames`: which graph is drawn, where it goes, and what cannot be drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from fake_sampled_runs import SIGN, SQL, profiled_run
from fake_trials import fake_run
from kept_runs import keep
from tlstax.records.trial import StoredRun
from tlstax.store import Store
from typed import status_of

TLS = "tls=1.3,resumption=off,workload=point-select"


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path))
    monkeypatch.setenv("NO_COLOR", "1")
    keep_run(tmp_path, profiled_run())
    return tmp_path


def keep_run(folder: Path, stored: StoredRun) -> None:
    with Store.open(folder / "store.sqlite") as store:
        keep(store, stored, stored.header.run)


def test_the_default_is_the_costliest_treatment_against_its_baseline(
    kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kept.exists()
    assert status_of(monkeypatch, "flames", "--folded") == 0
    lines = capsys.readouterr().out.splitlines()
    # TLS 1.3 reconnecting costs 1,450 µs of the server, plaintext 190.
    assert f"{SIGN} 0 870000" in lines
    assert f"{SQL} 114000 290000" in lines


def test_a_case_is_drawn_by_itself_or_against_another(
    kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kept.exists()
    for against, expected in (
        ((), f"{SQL} 5720"),
        (("--against", "baseline"), f"{SQL} 15600 5720"),
        (("--against", "tls=1.2,workload=point-select"), f"{SQL} 5640 5720"),
        (("--against", "control,workload=point-select"), f"{SQL} 15600 5720"),
    ):
        assert status_of(monkeypatch, "flames", "last", "--case", TLS, *against, "--folded") == 0
        assert expected in capsys.readouterr().out.splitlines()


def test_the_picture_goes_to_a_file_with_its_title(
    kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tlstax.cli.flames_command.draw", lambda graph: f"<svg>{graph.title}</svg>")
    path = kept / "flames.svg"
    assert status_of(monkeypatch, "flames", "--case", TLS, "--side", "client", "-o", str(path)) == 0
    out, err = capsys.readouterr()
    assert path.read_text() == (
        "<svg>Client: TLS 1.3, point selects on kept connections, 8 connections</svg>"
    )
    assert out == ""
    assert "10.9 µs of CPU time per operation; 200 samples in 2 blocks" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--side", "servers"), "--side: 'servers' is not a side; choose one of server, client"),
        (("--case", "tls=1.4"), "1.4"),
        (("--case", "tls=1.1"), "no such case"),
        (("--case", "tsl=1.3"), "did you mean 'tls'?"),
        (("--case", "workload=reconnect"), "--case 'workload=reconnect' may be 4 cases"),
        (("--case", TLS, "--against", "tls=1.2"), "--against 'tls=1.2' may be 2 cases"),
        (("--case", TLS, "--against", TLS), "a case does not differ from itself"),
        (("20000101",), "no run"),
    ],
)
def test_what_cannot_be_chosen_is_told(
    kept: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    said: str,
) -> None:
    assert kept.exists()
    assert status_of(monkeypatch, "flames", *arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1


def test_a_run_without_samples_says_how_to_have_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path))
    keep_run(tmp_path, fake_run(number_of_blocks=1))
    assert status_of(monkeypatch, "flames") == 2
    assert "was not profiled; measure it again with --profile" in capsys.readouterr().err


def test_a_picture_is_not_for_a_terminal(
    kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kept.exists()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert status_of(monkeypatch, "flames") == 2
    assert "name a file, such as -o flames.svg" in capsys.readouterr().err
