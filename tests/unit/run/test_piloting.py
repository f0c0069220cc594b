"""The pilot measures where there is something to choose, and what it saw shares out the CPUs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fake_trials import fake_run, whole_tax
from tlstax.observers.machine import describe_machine, physical_cores
from tlstax.plan.cpu_shares import pilot_cases
from tlstax.records.beforehand import PilotLoad
from tlstax.records.trial import Machine, Trial, TrialRecord
from tlstax.records.window import ProcessUse, Window
from tlstax.run import pilot
from tlstax.run.pilot import balanced_by, load_of, measured
from tlstax.study import Case, Level, override
from tlstax.support.errors import Interrupted

TAX = whole_tax()
RECORD = next(record for record in fake_run(number_of_blocks=1).trials if record.verdict.value == "valid")


def machine_with(root: Path, number: int) -> Machine:
    """A machine of N CPUs, two threads a core: 0 and 1, 2 and 3, and so on."""
    for cpu in range(number):
        core = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
        core.mkdir(parents=True)
        (core / "thread_siblings_list").write_text(f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}\n")
    return describe_machine(set(range(number)), root)


def measuring(costs: dict[str, tuple[float, float]], asked: list[str]) -> pilot.Measure:
    """Says what each workload costs (client, server), and notes which cases it was asked for."""

    def measure(cases: Sequence[Case]) -> list[PilotLoad]:
        asked.extend(case.levels.workload for case in cases)
        return [
            PilotLoad(case=case.levels, client_busy_cpus=used[0], server_busy_cpus=used[1])
            for case in cases
            if (used := costs.get(case.levels.workload))
        ]

    return measure


def test_the_client_gets_what_its_dearest_case_needs(tmp_path: Path) -> None:
    machine, asked, said = machine_with(tmp_path, 16), list[str](), list[str]()
    cores = physical_cores(set(range(16)), tmp_path)
    assert (len(machine.server_cpus), len(machine.client_cpus)) == (12, 4)
    costs = {"point-select": (2.0, 8.0), "reconnect": (3.9, 4.8)}
    shared = balanced_by(pilot_cases(TAX), machine, cores, measuring(costs, asked), said.append)
    # 0.8125 for each of the server's: of eight cores five are busy 49 % with three, four with four 81 %.
    assert shared.server_cpus == tuple(range(6))
    assert shared.client_cpus == tuple(range(6, 16))
    assert shared.pilot is not None
    assert shared.pilot.client_cpus == machine.client_cpus
    assert len(shared.pilot.loads) == len(asked) == 8
    assert said == ["a pilot of 8 cases finds out how many CPUs the client needs"]


def test_the_client_gives_back_what_it_does_not_need(tmp_path: Path) -> None:
    machine, cores = machine_with(tmp_path, 16), physical_cores(set(range(16)), tmp_path)
    shared = balanced_by(pilot_cases(TAX), machine, cores, measuring({"point-select": (0.5, 12.0)}, []), str)
    assert shared.client_cpus == (14, 15)


@pytest.mark.parametrize(("cpus", "asks"), [(6, False), (8, True)])
def test_with_fewer_than_four_cores_there_is_no_pilot(tmp_path: Path, cpus: int, asks: bool) -> None:
    machine, asked = machine_with(tmp_path, cpus), list[str]()
    cores = physical_cores(set(range(cpus)), tmp_path)
    shared = balanced_by(pilot_cases(TAX), machine, cores, measuring({"reconnect": (1.0, 1.0)}, asked), str)
    assert bool(asked) is asks
    assert (shared.pilot is not None) is asks
    assert asks or shared == machine


def test_a_study_whose_cases_tell_nothing_has_no_pilot(tmp_path: Path) -> None:
    machine, asked = machine_with(tmp_path, 8), list[str]()
    study = override(TAX, "workload", ["insert"])
    cores = physical_cores(set(range(8)), tmp_path)
    assert (
        balanced_by(pilot_cases(study), machine, cores, measuring({"insert": (1.0, 1.0)}, asked), str)
        == machine
    )
    assert asked == []


def test_where_nothing_could_be_measured_the_shares_stay_and_the_report_says_so(tmp_path: Path) -> None:
    machine, cores = machine_with(tmp_path, 8), physical_cores(set(range(8)), tmp_path)
    shared = balanced_by(pilot_cases(TAX), machine, cores, measuring({}, []), str)
    assert (shared.server_cpus, shared.client_cpus) == (machine.server_cpus, machine.client_cpus)
    assert "could not measure anything" in shared.notes[-1]


def window(client_us: float | None, server_us: float | None, took_s: float = 0.5) -> Window:
    sides = (None if us is None else ProcessUse(cpu_total_us=us) for us in (client_us, server_us))
    return Window(took_s=took_s, **dict(zip(("client", "server"), sides, strict=True)))


def test_busy_cpus_are_cpu_time_over_time() -> None:
    load = load_of(RECORD.model_copy(update={"window": window(400_000.0, 1_250_000.0)}))
    assert load is not None
    assert (load.client_busy_cpus, load.server_busy_cpus) == (0.8, 2.5)
    assert load.case == RECORD.trial.case.levels


INVALID = RECORD.verdict.model_copy(update={"value": "invalid"})


@pytest.mark.parametrize(
    "changes",
    [
        {"window": None},
        {"window": window(4e5, None)},
        {"window": window(None, 4e5)},
        {"window": window(0.0, 4e5)},
        {"window": window(4e5, 1.0)},
        {"window": window(4e5, 4e5, took_s=0.0)},
        {"window": window(4e5, 4e5), "failure": "the client died"},
        {"window": window(4e5, 4e5), "verdict": INVALID},
    ],
)
def test_a_trial_that_failed_or_a_side_that_was_not_seen_is_no_load(changes: dict[str, Any]) -> None:
    assert load_of(RECORD.model_copy(update=changes)) is None


class Acting:
    """A bench whose trials are made up; notes the jobs, and what happened to its server."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, failing: tuple[str, ...] = ()) -> None:
        self.happened: list[str] = []
        self.failing = failing
        monkeypatch.setattr(pilot, "run_trial", self._run_trial)
        monkeypatch.setattr(pilot, "pilot_job", lambda trial, *_: trial)

    @contextmanager
    def opened(self, choice: object) -> Iterator[Any]:
        self.happened.append(f"started {choice.words()}")  # type: ignore[attr-defined]

        @contextmanager
        def using(_: object) -> Iterator[Any]:
            yield None

        def revive(_: object, failure: str, __: object) -> None:
            self.happened.append(failure or "alive")

        try:
            yield SimpleNamespace(using=using, revive=revive)
        finally:
            self.happened.append("stopped")

    def _run_trial(self, trial: Trial, *_: object) -> TrialRecord:
        failure = "it fell silent" if trial.case.levels.tls in self.failing else ""
        changes = {"trial": trial, "window": window(1e5, 4e5), "failure": failure}
        return RECORD.model_copy(update=changes)


def test_the_cases_run_on_one_server_which_is_gone_before_the_run_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    acting, cases = Acting(monkeypatch, failing=("1.2",)), pilot_cases(TAX)
    loads = measured(cases, TAX, acting.opened, str)
    tls: list[Level] = [load.case["tls"] for load in loads]
    assert acting.happened[0] == "started the default server"
    assert acting.happened[-1] == "stopped"
    assert acting.happened.count("it fell silent") == 2
    assert (len(loads), "1.2" in tls) == (6, False)


def test_a_pilot_that_is_interrupted_leaves_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    acting = Acting(monkeypatch)

    def interrupted(*_: object) -> None:
        raise Interrupted

    monkeypatch.setattr(pilot, "run_trial", interrupted)
    with pytest.raises(Interrupted):
        measured(pilot_cases(TAX), TAX, acting.opened, str)
    assert acting.happened == ["started the default server", "stopped"]
