"""`tlstax self-bench` is a study in short: options change that, and without a sysbench the others compete."""

from __future__ import annotations

from typing import Any

import pytest

from tlstax.cli import self_bench_command as module
from tlstax.cli.progress import ProgressLine
from tlstax.cli.self_bench_command import SelfBenchOptions
from tlstax.run.preparing import Request
from tlstax.study.needs import clients
from tlstax.support.errors import MachineFault


def request(monkeypatch: pytest.MonkeyPatch, *, sysbench: bool = True, **typed: Any) -> Request:
    """The run that these options ask for, on a machine with or without sysbench."""

    def obtain(name: str, _: object) -> None:
        assert name == "sysbench"
        if not sysbench:
            raise MachineFault("sysbench cannot be fetched", remedy="install it")

    monkeypatch.setattr(module, "obtain_client", obtain)
    return module._request(SelfBenchOptions(**typed), ProgressLine(quiet=True))


def cells(found: Request) -> set[tuple[object, ...]]:
    names = ("workload", "tls", "resumption", "connections")
    return {tuple(case[name] for name in names) for case in found.study.included()}


def test_unasked_it_is_the_whole_study(monkeypatch: pytest.MonkeyPatch) -> None:
    found = request(monkeypatch)
    assert found.study.name == "self-bench"
    assert clients(found.study) == ("engine", "sysbench", "floor")
    assert len(cells(found)) == 2 * 2 * 4 + 4
    assert found.changes.set == ()
    assert found.study.budget_s == 600


def test_its_options_are_changes_of_the_study_and_are_kept_for_a_run_that_is_resumed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    typed = {"workload": "reconnect", "tls": "off,1.3-resumed", "connections": "8,64", "budget": "2m"}
    found = request(monkeypatch, **typed, seed=7, beside_others=True, client_cpus="1", server_cpus="0")
    # What is resumed is set beside what is not, and there is none of that under TLS here.
    assert found.changes.set == ("workload=reconnect", "tls=off,1.3,1.3-resumed", "connections=8,64")
    assert (found.changes.budget, found.study.budget_s) == ("2m", 120)
    assert (found.changes.client_cpus, found.changes.server_cpus) == ("1", "0")
    assert (found.seed, found.beside_others) == (7, True)
    assert {cell[:3] for cell in cells(found)} == {
        ("reconnect", "off", "off"),
        ("reconnect", "1.3", "off"),
        ("reconnect", "1.3", "on"),
    }


def test_without_a_sysbench_the_others_compete_and_it_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = request(monkeypatch, sysbench=False, connections="8")
    assert clients(found.study) == ("engine", "floor")
    assert found.changes.set == ("connections=8", "client=engine,floor")
    assert "no sysbench to compare with: sysbench cannot be fetched; install it" in capsys.readouterr().err


def test_another_library_is_for_those_who_can_load_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = request(monkeypatch, client_tls_library="openssl-3.4", tls="1.3")
    libraries = {case["client"]: case["client_tls_library"] for case in found.study.included()}
    assert libraries == {"engine": "openssl-3.4", "floor": "openssl-3.4", "sysbench": "own"}
