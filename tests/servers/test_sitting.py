"""Cases take turns in short slices on real servers: what is kept of them, and what proves it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from statistics import mean

import psutil
import pytest

from processes import family
from tlstax.plan.sittings import FEWEST_ROUNDS
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.results.live import LiveRun
from tlstax.run.pipeline import run
from tlstax.run.preparing import Request
from tlstax.run.progress import Step
from tlstax.store import Store
from tlstax.study import Study
from tlstax.support.errors import Interrupted

IN_TURNS = "cases take turns"
CONNECTIONS = 4


class Watching:
    """Keeps a run's watcher quiet, and does something when turns begin for the first time."""

    def __init__(self, when_turns_begin: Callable[[], None] = lambda: None) -> None:
        self.labels: list[str] = []
        self._do = when_turns_begin

    def step(self, text: str) -> None: ...

    def warn(self, text: str) -> None: ...

    def noted(self, live: LiveRun) -> None: ...

    def close(self) -> None: ...

    def trial(self, step: Step) -> None:
        self.labels.append(step.label)
        if IN_TURNS in step.label and sum(IN_TURNS in label for label in self.labels) == 1:
            self._do()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store.sqlite") as opened:
        yield opened


def study(server: str, workload: str, **changed: object) -> Study:
    terms: dict[str, object] = {
        "name": "turns",
        "title": "Turns",
        "question": "Who works when?",
        "factors": {
            "tls": ("off", "1.2", "1.3"),
            "workload": (workload,),
            "connections": (CONNECTIONS,),
            "server": (server,),
        },
        "baseline": {"tls": "off"},
        "rows": 2000,
        "budget_s": 3.0,
    }
    return Study.model_validate(terms | changed)


def measured(store: Store, of: Study, watching: Watching | None = None) -> StoredRun:
    return run(Request(study=of, seed=3, beside_others=True), store, watching or Watching())


def first_block(found: StoredRun) -> list[TrialRecord]:
    return [record for record in found.trials if record.trial.block == 0]


@pytest.mark.parametrize(
    ("server", "workload"),
    [
        ("mysql-9.7", "reconnect"),
        pytest.param("mariadb-11.8", "point-select", marks=pytest.mark.long),
        pytest.param("mariadb-11.8", "storm", marks=pytest.mark.long),
        pytest.param("mysql-9.7", "point-select", marks=pytest.mark.long),
        pytest.param("mysql-9.7", "storm", marks=pytest.mark.long),
        pytest.param("mariadb-11.8", "reconnect", marks=pytest.mark.long),
    ],
)
def test_cases_that_are_compared_take_turns_and_each_is_proved(
    store: Store, mysql_build: object, mariadb_build: object, server: str, workload: str
) -> None:
    assert mysql_build
    assert mariadb_build
    watching = Watching()
    trials = measured(store, study(server, workload), watching).trials
    assert [trial.verdict.reasons for trial in trials if trial.verdict.value != "valid"] == []
    assert f"4 {IN_TURNS}" in watching.labels
    for trial in trials:
        slices, window, done, together = trial.slices, trial.window, trial.done, trial.together
        assert slices is not None
        assert window is not None
        assert done is not None
        assert together is not None
        assert window.operations is not None
        assert sum(slices.finished) + window.operations == done.operations
        assert slices.lead_in == (None if workload == "storm" else CONNECTIONS)
        # Beside much other work a slice may be over before all connections have been at work.
        telling = [place for place, operations in enumerate(slices.operations) if operations]
        assert 2 * len(telling) > len(slices.rounds)
        in_ends = mean(slices.finished[place] - slices.operations[place] for place in telling)
        assert in_ends == 0 if workload == "storm" else 0 < in_ends < 3 * CONNECTIONS
        assert len(set(slices.rounds)) == len(slices.rounds) == len(slices.server_cpu_us) >= FEWEST_ROUNDS
        assert all(
            (slices.server_cpu_us[place] > 0) == (place in telling) for place in range(len(slices.rounds))
        )
        assert trial.server is not None
        assert trial.server.cpu is not None
        assert window.server is not None
        counted_us = sum(slices.server_cpu_us) + (window.server.cpu_total_us or 0)
        if workload == "storm":
            assert trial.server.cpu.total_us == pytest.approx(counted_us, rel=1e-6)
        else:
            assert trial.server.cpu.total_us > counted_us
        assert together.clients == 4
        assert (slices.rounds_s == ()) == (workload != "storm")
        if workload == "storm":
            assert slices.operations == (4,) * 9
            assert slices.rounds_s == done.rounds_s[1:]
            assert len(done.rounds_s) == 10
        claimed = together.claims["connections"]
        assert claimed[0] == together.status_delta["Connections"] == claimed[1]
        assert (claimed[0] > 0) == (workload in {"reconnect", "storm"})
    for block in {trial.trial.block for trial in trials}:
        rounds = [trial.slices.rounds for trial in trials if trial.trial.block == block and trial.slices]
        assert len(rounds) == 4
        assert len(set(rounds)) == 1


@pytest.mark.parametrize(
    ("server", "workload"),
    [
        ("mariadb-11.8", "insert"),
        pytest.param("mysql-9.7", "insert", marks=pytest.mark.long),
        pytest.param("mysql-9.7", "oltp-read-write", marks=pytest.mark.long),
        pytest.param("mariadb-11.8", "update", marks=pytest.mark.long),
    ],
)
def test_clients_write_to_the_same_rows_in_turn_and_the_server_counts_what_all_of_them_wrote(
    store: Store, mysql_build: object, mariadb_build: object, server: str, workload: str
) -> None:
    assert mysql_build
    assert mariadb_build
    watching = Watching()
    trials = measured(store, study(server, workload), watching).trials
    assert [trial.verdict.reasons for trial in trials if trial.verdict.value != "valid"] == []
    assert f"4 {IN_TURNS}" in watching.labels
    each = {"insert": {"inserted": 1}, "update": {"updated": 1}}.get(workload) or {
        "inserted": 1,
        "updated": 2,
        "deleted": 1,
    }
    block = [trial for trial in trials if trial.trial.block == 0]
    wrote = sum(sum(trial.slices.finished) for trial in block if trial.slices)
    for trial in block:
        assert [state.rows for state in trial.data] == [2000]
        assert trial.data == block[0].data
        assert trial.together is not None
        claims, counted = trial.together.claims, trial.together.status_delta
        rows = {count: claim for count, claim in claims.items() if count.startswith("rows_")}
        assert {count: least for count, (least, _) in rows.items()} == {
            f"rows_{change}": times * wrote for change, times in each.items()
        }
        assert trial.server is not None
        for count, (least, most) in rows.items():
            assert least <= (trial.server.counting.of(counted, count) or 0) <= (most or 0)


def test_a_client_that_dies_in_its_turns_ends_its_own_trial_alone(
    store: Store, mariadb_build: object
) -> None:
    assert mariadb_build

    def kill_one() -> None:
        engines = clients()
        assert len(engines) == 4
        engines[0].kill()

    trials = first_block(measured(store, study("mariadb-11.8", "reconnect"), Watching(kill_one)))
    (lost,) = (trial for trial in trials if trial.verdict.value != "valid")
    assert lost.verdict.value == "invalid"
    assert "was killed by signal 9" in lost.failure
    assert len(trials) == 4


def test_a_connection_that_nobody_claims_makes_all_who_took_turns_invalid(
    store: Store, mariadb_build: object
) -> None:
    assert mariadb_build
    opened: list[object] = []

    def connect_from_outside() -> None:
        words = server_process().cmdline()
        (socket_file,) = (word.partition("=")[2] for word in words if word.startswith("--socket="))
        opened.append(_greeted(socket_file))

    soon = study("mariadb-11.8", "point-select", budget_s=60.0, precision=0.9, minimum_blocks=2)
    found = measured(store, soon, Watching(connect_from_outside))
    assert opened
    trials = first_block(found)
    assert {trial.verdict.value for trial in trials} <= {"valid", "invalid"}
    lost = [trial for trial in trials if trial.verdict.value == "invalid"]
    assert len(lost) == 4
    assert "while 4 clients took turns the server counted 1 connection " in lost[0].verdict.reasons[0]
    later = [trial for trial in found.trials if trial.trial.block > 0]
    assert {trial.verdict.value for trial in later} == {"valid"}


@pytest.mark.long
def test_a_server_that_dies_in_the_turns_is_started_again(store: Store, mariadb_build: object) -> None:
    assert mariadb_build

    def kill_server() -> None:
        server_process().kill()

    soon = study("mariadb-11.8", "point-select", budget_s=60.0, precision=0.9, minimum_blocks=2)
    found = measured(store, soon, Watching(kill_server))
    assert {trial.verdict.value for trial in first_block(found)} == {"invalid"}
    later = [trial for trial in found.trials if trial.trial.block > 0]
    assert later
    assert {trial.verdict.value for trial in later} == {"valid"}


def test_a_sitting_that_is_interrupted_counts_as_a_whole_or_not_at_all(
    store: Store, mariadb_build: object
) -> None:
    assert mariadb_build

    def interrupt() -> None:
        raise Interrupted

    of = study("mariadb-11.8", "point-select")
    found = measured(store, of, Watching(interrupt))
    assert (found.status, found.trials) == ("interrupted", ())
    assert clients() == []
    resumed = run(Request(study=of, resumed=found, beside_others=True), store, Watching())
    assert resumed.status == "complete"
    assert len(first_block(resumed)) == 4


def server_process() -> psutil.Process:
    """The server of this run: of all that this process has started, the one that was started last."""
    return max(family(word="mariadbd"), key=psutil.Process.create_time)


def clients() -> list[psutil.Process]:
    """The load engines that run."""
    return family(name="tlstax-engine")


def _greeted(socket_file: str) -> bool:
    """Whether a server greets whoever connects to its socket; nothing is said to it."""

    with closing(socket.socket(socket.AF_UNIX)) as connection:
        connection.settimeout(10)
        connection.connect(socket_file)
        return bool(connection.recv(1))
