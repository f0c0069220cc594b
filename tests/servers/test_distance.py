"""A real distance on this machine: as long as asked, proved by the trial, and gone with whoever made it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from command_line import Home

import tlstax
from processes import family, lives
from tlstax.checks.network import longest_ms, shortest_ms
from tlstax.network.distance.opening import Span, open_span
from tlstax.specimens.processes import identity_of
from tlstax.specimens.sessions import Session
from tlstax.stats.histograms import decode
from tlstax.study.factors import Distance
from tlstax.support.errors import MachineFault

HOLDING = """
import subprocess, sys, time
from tlstax.network.distance.opening import Span, open_span
from tlstax.specimens.processes import mortal
from tlstax.specimens.sessions import open_session

with open_session() as session, open_span(session, lambda _: None) as span:
    entering = (span.enter_far(), span.enter_near())
    inside = [subprocess.Popen(mortal([*place, "sleep", "300"])) for place in entering]
    print(*(child.pid for child in inside), flush=True)
    time.sleep(300)
"""


@pytest.fixture(scope="module")
def span(session: Session) -> Iterator[Span]:
    with open_span(session, lambda _: None) as opened:
        yield opened


@pytest.mark.parametrize("distance", [Distance(1), Distance(45), Distance(20, rate_mbit=10)])
def test_a_round_trip_takes_what_was_asked(span: Span, distance: Distance) -> None:
    span.set(distance)
    # What else runs here can only make it longer, so the shortest of a few is the machine's own.
    shortest = min(span.measure().lowest_ms for _ in range(3))
    assert shortest_ms(distance) <= shortest <= longest_ms(distance)


def test_what_was_carried_is_counted(span: Span) -> None:
    span.set(Distance(1))
    samples = span.measure().samples
    used = span.used()
    if span.made_by == "netem":
        assert used is None
        return
    assert used is not None
    assert used.to_far.packets >= samples
    assert used.to_near.packets >= samples
    assert used.to_far.drops == 0


def test_both_places_are_networks_of_their_own(span: Span) -> None:
    def network(entering: tuple[str, ...]) -> str:
        done = subprocess.run(
            [*entering, "readlink", "/proc/self/ns/net"], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    ours = str(Path("/proc/self/ns/net").readlink())
    assert len({ours, network(span.enter_far()), network(span.enter_near())}) == 3


def test_a_link_that_died_is_noticed_and_replaced(session: Session) -> None:
    before = set(session.path.iterdir())
    with open_span(session, lambda _: None, may_netem=False) as span:
        assert span.made_by == "tlstax-link"
        links = family(name="tlstax-tools")
        link = max(links, key=psutil.Process.create_time)
        link.kill()
        link.wait()
        assert not span.is_alive()
        with pytest.raises(MachineFault, match="the link that makes the distance has ended"):
            span.used()
        span.set(Distance(5))
        assert span.is_alive()
        assert span.measure().lowest_ms >= 5
    assert set(session.path.iterdir()) == before


def test_nothing_outlives_a_laboratory_that_is_killed() -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(tlstax.__file__).parents[1])}
    laboratory = subprocess.Popen(
        [sys.executable, "-P", "-c", HOLDING], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert laboratory.stdout is not None
    with laboratory:
        inside = [int(word) for word in laboratory.stdout.readline().split()]
        link = [child.pid for child in psutil.Process(laboratory.pid).children()]
        identities = [identity_of(pid) for pid in {*inside, *link}]
        assert len(inside) == 2
        laboratory.send_signal(signal.SIGKILL)
        laboratory.wait()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and any(lives(identity.pid) for identity in identities if identity):
        time.sleep(0.02)
    assert not [identity for identity in identities if identity and lives(identity.pid)]


@pytest.mark.long
@pytest.mark.usefixtures("mysql_build")
def test_a_run_compares_tls_near_and_far(tmp_path: Path) -> None:
    home = Home(tmp_path)
    done = home.run(
        *("run", "--rtt-ms", "0,20", "--tls", "off,1.3", "--workload", "point-select"),
        *("--connections", "1", "--rows", "1000", "--budget", "5s", "--json"),
    )
    assert done.returncode == 0, done.stderr
    with home.store() as store:
        trials = store.load(store.runs()[0].run).trials
    far = [trial for trial in trials if trial.trial.case.levels["rtt_ms"] == 20]
    near = [trial for trial in trials if trial.trial.case.levels["rtt_ms"] == 0]
    assert all(trial.distance is None for trial in near)
    for trial in far:
        assert trial.distance is not None
        assert trial.distance.before.lowest_ms >= 20
        assert trial.done is not None
        # A query takes its round trip, and no second one.
        (least_us,) = decode(trial.done.histograms_ns["operation"]).percentiles_us([0])
        assert 20_000 <= least_us < 40_000
    assert any(trial.verdict.value == "valid" for trial in far)
    assert any(trial.verdict.value == "valid" for trial in near)
