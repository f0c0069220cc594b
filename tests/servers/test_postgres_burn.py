"""The CPU time of PostgreSQL's processes, which end with their connections, and what was burned in them."""

from __future__ import annotations

from typing import get_args

import pytest
from load_jobs import ROWS, job, measured

from tlstax.contract import Job, PostgreSqlServer
from tlstax.observers.tree import TreeClock, counts_ends
from tlstax.records.window import CpuSource
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.process_tree import ProcessTree
from tlstax.specimens.resolve import named_fault
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.specimens.shared_pages import BurnPage
from tlstax.sql.table_rows import TableContent
from tlstax.study import workloads

CONNECTS = 6
BURN_NS = 200_000_000
"""In each answer of the server's: many times what a connection costs by itself, which is known less well."""

ROUNDS = 3
"""Of which the middle one counts: what else the server does costs more where others keep the caches busy."""

WITHIN = 0.02


def reconnects(server: PrivateServer) -> Job:
    """N connections in plaintext, two at a time, each with a process of its own."""
    asked = job(
        server,
        workload=workloads.built_in("reconnect", server.table_name, ROWS, "postgresql"),
        account=server.account_by("trust"),
        connections=2,
        warmup_s=0.0,
        operations=CONNECTS,
    )
    return asked.model_copy(update={"server": PostgreSqlServer(), "duration_s": 300.0, "timeout_s": 60.0})


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(source, marks=() if source == "control group" else pytest.mark.long)
        for source in get_args(CpuSource)
    ],
)
def test_what_was_burned_in_processes_of_a_moment_is_counted(
    session: Session, postgresql_build: ServerBuild, source: CpuSource
) -> None:
    """The planted library reads what it burned by its own thread's clock, in each of the processes."""
    if source == "task clock" and not counts_ends():
        pytest.skip("this kernel stops perf's task clock before a process has ended, so it is never taken")
    tree = ProcessTree(with_group=source == "control group")
    with TreeClock(tree, only=[source]) as clock:
        settings = ServerSettings(
            tree=tree, before_exec=clock.take, fault=named_fault("burn", lambda _: None)
        )
        with PrivateServer.start(postgresql_build, session, settings) as server:
            if source == "control group" and tree.group is None:
                pytest.skip("no control group can be made here")
            assert clock.source == source
            server.prepare_table(TableContent(rows=ROWS, seed=1))
            page, asked = server.burn_page, reconnects(server)
            assert page is not None
            shares = sorted(_counted_share(page, asked, clock) for _ in range(ROUNDS))
            assert shares[ROUNDS // 2] == pytest.approx(1, abs=WITHIN)
            print(f"{source}: {shares}")  # noqa: T201


def _counted_share(page: BurnPage, asked: Job, clock: TreeClock) -> float:
    """The CPU time that the clock counts more where the server burns some, divided by what it burned."""
    used_us: list[float] = []
    for amount_ns in (0, BURN_NS):
        page.ask(amount_ns)
        before, before_us = page.read(), clock.read_us()
        _, done = measured(asked)
        assert done.errors == ()
        after_us, _ = clock.read_settled(comes_and_goes=True)
        used_us.append(after_us - before_us)
        burnt = page.read().since(before)
        page.ask(0)
    assert burnt.calls >= 2 * CONNECTS
    burned_us = burnt.cpu_ns / 1e3
    assert burned_us > 10 * used_us[0]
    return (used_us[1] - used_us[0]) / burned_us
