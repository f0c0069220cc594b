"""A private server that is taken for one of several processes: measured, paused, started again, ended."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import psutil

from tlstax.observers.machine import describe_machine
from tlstax.observers.tree import TreeSide
from tlstax.plan.jobs import job_for
from tlstax.records.trial import Trial
from tlstax.run.bench import Bench, Equipment, Needs, Wanted, private_bench
from tlstax.run.trial import run_trial
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.sessions import Session
from tlstax.study import Case
from tlstax.study.factors import CaseLevels

NEEDS = Needs(rows=500, connections=2, seed=1, duration_s=0.2)
LEVELS = {"workload": "reconnect", "connections": 2, "tls": "1.3"}


def test_all_of_a_server_is_measured_paused_started_again_and_ended(
    session: Session, mysql_build: ServerBuild
) -> None:
    """MySQL has one process: what is read of it as a tree is what is read of that one."""
    said: list[str] = []
    wanted = Wanted(build=replace(mysql_build, forks=True))
    with private_bench(session, wanted, Equipment(), describe_machine(), NEEDS, said.append) as begun:
        bench: Bench = begun
        assert isinstance(bench.server, PrivateServer)
        assert bench.tree is not None
        assert f"the CPU time of its processes is read {bench.tree.words}" in said
        for again in (False, True):
            if again:
                os.kill(bench.server.pid or 0, signal.SIGKILL)
                while bench.server.is_alive():
                    pass
                bench = bench.renewed()
            assert bench.server_clock is bench.tree
            pid = bench.server.pid
            assert bench.tree.tree.members() == (pid,)
            job = job_for(CaseLevels.of(LEVELS), bench.terms, sequence=0)
            todo = Trial(block=0, position=0, case=Case(levels=LEVELS, role="baseline"))
            record = run_trial(todo, job, bench)
            assert record.verdict.value == "valid", record.verdict.reasons
            assert record.window is not None
            use = record.window.server
            assert use is not None
            assert (use.cpu_source, use.processes) == (bench.tree.source, 1)
            assert record.done is not None
            assert record.done.operations > 0
            assert use.cpu_total_us
            alone = psutil.Process(pid).cpu_times()
            assert use.cpu_total_us / 1e6 < alone.user + alone.system + 0.02
            assert use.counters["page_faults"] >= 0
            assert isinstance(bench.server_side, TreeSide)
            bench.server.pause()
            used_us = bench.server_clock.read_us()
            assert bench.server_clock.read_us() == used_us
            bench.server.resume()
            assert bench.admin.is_open or again
    assert not psutil.pid_exists(pid or 0)
    assert bench.tree.tree.group is None
