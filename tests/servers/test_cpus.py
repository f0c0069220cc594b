"""Both sides run where they were asked to, and a pilot measures what each of them uses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from processes import family
from tlstax.observers.machine import available_cpus
from tlstax.plan.cpu_shares import AskedCpus
from tlstax.records.trial import StoredRun
from tlstax.results.live import LiveRun
from tlstax.run import pilot
from tlstax.run.pipeline import run
from tlstax.run.preparing import Request
from tlstax.run.progress import Step
from tlstax.store import Store
from tlstax.study import Study

TLS = ("off", "1.3")
STUDY = Study.model_validate(
    {
        "name": "shares",
        "title": "Shares",
        "question": "Who is where?",
        "factors": {"tls": TLS, "workload": ("reconnect",), "connections": (4,), "server": ("mysql-9.7",)},
        "baseline": {"tls": "off"},
        "rows": 2000,
        "budget_s": 2.0,
    }
)


class Watching:
    """Keeps what a run says, and where its server's threads may run when a trial begins.

    Servers of other tests, which run already, are none of its own.
    """

    def __init__(self) -> None:
        self.said: list[str] = []
        self.trials: list[str] = []
        self.of_servers: set[tuple[int, ...]] = set()
        self._others = {process.pid for process in family(word="--datadir")}

    def step(self, text: str) -> None:
        self.said.append(text)

    def warn(self, text: str) -> None: ...

    def noted(self, live: LiveRun) -> None: ...

    def close(self) -> None: ...

    def trial(self, step: Step) -> None:
        self.trials.append(step.label)
        for process in family(word="--datadir"):
            if process.pid in self._others:
                continue
            # A process may end while it is looked at, and so may each of its threads.
            with suppress(FileNotFoundError):
                for thread in Path(f"/proc/{process.pid}/task").iterdir():
                    with suppress(ProcessLookupError):
                        self.of_servers.add(tuple(sorted(os.sched_getaffinity(int(thread.name)))))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store.sqlite") as opened:
        yield opened


def clients_cpus(stored: StoredRun) -> set[tuple[int, ...]]:
    """What the jobs of a run told its clients."""
    return {record.job.cpus for record in stored.trials if record.job is not None}


def test_both_sides_are_where_they_were_asked_to_be(store: Store) -> None:
    first, last = min(available_cpus()), max(available_cpus())
    watching, asked = Watching(), AskedCpus(server=(last,), client=(first,))
    # The other way round than by default, which gives the client the last one.
    stored = run(Request(study=STUDY, beside_others=True, cpus=asked), store, watching)
    assert watching.of_servers == {(last,)}
    assert clients_cpus(stored) == {(first,)}
    assert (stored.header.machine.server_cpus, stored.header.machine.client_cpus) == ((last,), (first,))
    assert stored.header.machine.cpus_asked_for


@pytest.mark.long
def test_a_pilot_measures_both_sides_on_a_server_that_is_gone_then(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pilot, "FEWEST_CORES", 2)
    monkeypatch.setattr(pilot, "physical_cores", lambda cpus: [(cpu,) for cpu in sorted(cpus)])
    watching = Watching()
    stored = run(Request(study=STUDY, beside_others=True), store, watching)
    machine = stored.header.machine
    assert machine.pilot is not None
    assert [load.case["tls"] for load in machine.pilot.loads] == list(TLS)
    assert watching.said[0] == "a pilot of 2 cases finds out how many CPUs the client needs"
    assert watching.of_servers == {machine.server_cpus}
    assert clients_cpus(stored) == {machine.client_cpus}
    monkeypatch.setattr(pilot, "pilot_cases", lambda _: pytest.fail("there was another pilot"))
    store.finish(stored.header.run, "interrupted", "for a test")
    cut_off = store.load(stored.header.run)
    again = Request(study=cut_off.header.study, resumed=cut_off, beside_others=True)
    resumed = run(again, store, Watching())
    assert resumed.header.machine == machine
    assert len(resumed.trials) > len(stored.trials)
    assert clients_cpus(resumed) == {machine.client_cpus}
