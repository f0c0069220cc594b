"""The search carried out with a client that is made up: each try judged, kinds in turn, budgets, its end."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]

from tlstax.clients.process import ClientFailure
from tlstax.contract import (
    Account,
    Counts,
    CpuTime,
    Done,
    ErrorCount,
    ErrorEvent,
    Job,
    OpenLoop,
    TcpEndpoint,
)
from tlstax.external.access import AccessOptions, settle
from tlstax.results.rows import Row
from tlstax.run.bench import Bench
from tlstax.study.job_parts import JobTerms, Verification
from tlstax.study.server_abilities import of_postgresql
from tlstax.support.errors import Interrupted, MachineFault, UserMistake
from tlstax.tools.probes import storms
from tlstax.tools.probes.storm_search import LIMIT, TRY, Sought
from tlstax.tools.probes.storms import (
    StormRequest,
    external_kinds,
    falls_behind,
    is_up_in_time,
    kinds_of,
)


def done(up_ms: Sequence[float], phase: str = "operation") -> Done:
    recorded = HdrHistogram(1, 3_600_000_000_000, 3)
    for ms in up_ms:
        recorded.record_value(int(ms * 1e6))
    none = Counts(connections=0, handshakes=(), authentications={})
    return Done(
        elapsed_s=1.0,
        operations=len(up_ms),
        scheduled=len(up_ms),
        skipped=0,
        window=none,
        lifetime=none,
        histograms_ns={phase: recorded.encode().decode()},
        cpu=CpuTime(total_us=2, user_us=1, system_us=1),
        wire=None,
        errors=(),
        row_samples=(),
    )


def in_time(up_ms: Sequence[float], connections: int, share: float = 0.99) -> bool:
    return is_up_in_time(done(up_ms), "operation", connections=connections, share=share, within_s=1.0)


def test_the_share_that_is_asked_for_has_to_be_up_in_time() -> None:
    assert in_time([500] * 99 + [1500], 100)
    assert not in_time([500] * 98 + [1500] * 2, 100)
    assert in_time([500] * 98 + [1500] * 2, 100, share=0.98)
    assert not in_time([500] * 99 + [1500], 100, share=1.0)


def test_those_that_never_came_up_count_as_late() -> None:
    assert in_time([500] * 99, 100)
    assert not in_time([500] * 98, 100)
    assert not in_time([500] * 98 + [1500], 100)


@pytest.mark.parametrize("excess", [0.03, 0.1, 0.5])
def test_a_server_that_takes_less_than_the_rate_falls_behind_by_the_rest(excess: float) -> None:
    base_ms, lasting_s, rate = 40.0, 2.0, 1000
    late = [base_ms + 1000 * lasting_s * excess * place / rate for place in range(rate)]
    assert falls_behind(done(late), lasting_s) == pytest.approx(excess, rel=0.05)


def test_a_server_that_keeps_up_does_not_however_slow_it_is_and_whatever_few_were_lost() -> None:
    assert falls_behind(done([300.0] * 97 + [1300.0] * 3), 2.0) == pytest.approx(0, abs=0.002)


TERMS = JobTerms(
    endpoint=TcpEndpoint(host="127.0.0.1", port=1),
    account=Account(user="u", password="p"),
    tables={"sbtest": "t"},
    rows=10,
    verification=Verification(),
    client_cpus=(),
    duration_s=10,
    seed=1,
)
LIMITS = {"off": 800, "1.3": 200, "1.2": 300}
"""The loads that the server which is made up takes, by version of TLS."""

TRY_S = 2.0


class Clock:
    """A clock that goes on by TRY_S with every job."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.jobs: list[Job] = []

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of a search whose client is made up; its jobs are kept."""
    found = Clock()
    monkeypatch.setattr(storms, "time", found)
    monkeypatch.setattr(storms, "engine_command", lambda: ["engine"])
    monkeypatch.setattr(storms, "LoadClient", lambda _, job: Client(found, job))
    return found


class Client:
    """A client whose connections are up in time as long as the load is not above its limit."""

    def __init__(self, clock: Clock, job: Job) -> None:
        clock.jobs.append(job)
        clock.now_s += TRY_S
        self._job = job

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def wait_ready(self, _: float) -> None:
        pass

    def go(self) -> None:
        pass

    def wait_done(self, _: float) -> Done:
        job = self._job
        steady = isinstance(job.schedule, OpenLoop)
        load = round(job.schedule.rate_per_s) if isinstance(job.schedule, OpenLoop) else job.connections
        version = "off" if job.tls.mode == "off" else str(cast(Any, job.tls).min_version)
        took_ms = 500.0 if load <= LIMITS[version] else 1500.0
        found = done([took_ms] * load, "operation" if steady else "connect")
        return found.model_copy(update={"rounds_s": () if steady else (load / LIMITS[version],)})


def searched(
    sought: Sought, budget_s: float, watcher: object = None, paths: dict[str, Any] | None = None
) -> tuple[str, tuple[storms._OfKind, ...]]:
    request = StormRequest(
        sought=sought, within_s=1.0, share=0.99, most=2000, budget_s=budget_s, lasting_s=3.0, seed=1
    )
    server = SimpleNamespace(
        specimen=SimpleNamespace(name="mysql-9.7"),
        is_alive=lambda: True,
        know_account=lambda: None,
        connected=frozenset,
        wait_until_gone=lambda _: None,
    )
    bench = cast(
        Bench, SimpleNamespace(terms=TERMS, terms_of=lambda _: TERMS, server=server, paths=paths or {})
    )
    at_once = request.at_once
    tries = storms._tries(request, bench, at_once)
    kinds = tuple(storms._OfKind(kind, request, tries, at_once) for kind in kinds_of(None))
    silent = SimpleNamespace(now=lambda *_, **__: None)
    return storms._searched(kinds, budget_s, cast(Any, watcher or silent)), kinds


def limit_of(kind: storms._OfKind) -> Row:
    limit, *tried = kind.rows()
    assert limit.role == LIMIT
    assert {row.role for row in tried} <= {TRY}
    assert {(row.outcome, row.unit, row.label) for row in tried} <= {(limit.outcome, limit.unit, limit.label)}
    return limit


@pytest.mark.parametrize("sought", ["connections", "connections_per_s"])
def test_every_kind_has_its_own_limit(clock: Clock, sought: Sought) -> None:
    status, kinds = searched(sought, 1e6)
    assert status == "complete"
    for kind in kinds:
        limit, planted = limit_of(kind), LIMITS[str(kind.kind["tls"])]
        assert limit.case == kind.kind
        assert limit.more["is_found"]
        assert limit.value is not None
        too_high = limit.number("too_high")
        assert too_high is not None
        assert limit.value <= planted < too_high <= 1.06 * limit.value + 1
        assert limit.number("achieved_per_s") is not None
        tried = {row.value: row for row in kind.rows() if row.role == TRY}
        assert tried[limit.value].judgement == "does"
        assert tried[limit.value].number("did") == tried[limit.value].number("tries") == 5
        assert tried[too_high].judgement == "does not"
        assert tried[too_high].number("did") == 0
    assert len(clock.jobs) < 4 * 40


def test_a_rate_is_an_open_loop_at_even_distances_and_a_storm_is_one_round(clock: Clock) -> None:
    searched("connections_per_s", 200)
    rates = [job for job in clock.jobs if isinstance(job.schedule, OpenLoop)]
    assert rates
    for job in rates:
        assert isinstance(job.schedule, OpenLoop)
        assert (job.schedule.arrivals, job.duration_s, job.operations, job.rounds) == (
            "uniform",
            3.0,
            None,
            1,
        )
        assert job.workload.storm
    storms = [job for job in clock.jobs if not isinstance(job.schedule, OpenLoop)]
    assert all((job.rounds, job.operations) == (1, job.connections) for job in storms)


def test_a_budget_is_shared_and_what_is_known_by_its_end_is_said(clock: Clock) -> None:
    status, kinds = searched("connections", 100)
    assert status == "budget"
    assert clock.now_s <= 100
    spent = [kind.spent_s for kind in kinds]
    assert max(spent) - min(spent) <= 3 * TRY_S, "no kind had more than another, but for a step of it"
    assert all(len(list(kind.rows())) > 1 for kind in kinds)
    assert not all(kind.is_found for kind in kinds)


def test_what_was_tried_before_an_interruption_is_kept(clock: Clock) -> None:
    def now(*_: object, **__: object) -> None:
        if clock.now_s > 60:
            raise Interrupted

    status, kinds = searched("connections", 1e6, SimpleNamespace(now=now))
    assert status == "interrupted"
    tried = [row for kind in kinds for row in kind.rows() if row.role == TRY]
    assert any(row.judgement != "undecided" for row in tried)


def test_time_left_shrinks_to_nothing(clock: Clock) -> None:
    left: list[float] = []

    def now(_: str, *, share: float, left_s: float) -> None:
        assert 0 <= share <= 1
        left.append(left_s)

    searched("connections", 1e6, SimpleNamespace(now=now))
    assert clock.now_s > 0
    assert left[0] == 1e6
    assert left[-1] < left[len(left) // 2] < 1e6


def failing(kind: str, *, fatal: bool) -> type[Client]:
    class Failing(Client):
        def wait_done(self, _: float) -> Done:
            if fatal:
                event = ErrorEvent(kind=cast(Any, kind), fault="client", fatal=True, message="no more")
                raise ClientFailure("no more", (event,))
            count = ErrorCount(kind=cast(Any, kind), code=None, count=1)
            return super().wait_done(_).model_copy(update={"errors": (count,)})

    return Failing


@pytest.mark.parametrize("fatal", [True, False])
def test_a_limit_of_this_machine_is_not_taken_for_the_servers(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, fatal: bool
) -> None:
    client = failing("limits", fatal=fatal)
    monkeypatch.setattr(storms, "LoadClient", lambda _, job: client(clock, job))
    with pytest.raises(MachineFault, match="too few ports or open files"):
        searched("connections", 1e6)


def test_a_version_that_is_not_taken_is_not_searched(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    refusing = failing("no_tls", fatal=True)

    def client(_: object, job: Job) -> Client:
        return Client(clock, job) if job.tls.mode == "off" else refusing(clock, job)

    monkeypatch.setattr(storms, "LoadClient", client)
    status, kinds = searched("connections", 1e6)
    assert status == "complete"
    assert [limit_of(kind).more["is_refused"] for kind in kinds] == [False, True, True, True]
    assert all(limit_of(kind).more["is_found"] for kind in kinds)
    assert [len(list(kind.rows())) == 1 for kind in kinds] == [False, True, True, True]


@pytest.mark.parametrize(
    ("server", "kinds"),
    [
        (None, ["off", "1.3", "1.3 resumed", "1.2"]),
        ("mariadb-11.8", ["off", "1.3", "1.3 resumed", "1.2"]),
        ("postgresql-18", ["off", "1.3", "1.2", "1.3-direct"]),
        ("postgresql-16", ["off", "1.3", "1.2"]),
    ],
)
def test_what_a_server_is_known_to_lack_is_not_searched(server: str | None, kinds: list[str]) -> None:
    found = (f"{kind['tls']}{' resumed' * (kind['resumption'] == 'on')}" for kind in kinds_of(server))
    assert list(found) == kinds


@pytest.mark.parametrize(
    ("url", "major", "kinds"),
    [
        ("mysql://app@db.example", None, ["off", "1.3", "1.3", "1.2"]),
        ("postgres://app@db.example/scratch", None, ["off", "1.3", "1.2", "1.3-direct"]),
        ("postgres://app@db.example/scratch", 17, ["off", "1.3", "1.2", "1.3-direct"]),
        ("postgres://app@db.example/scratch", 16, ["off", "1.3", "1.2"]),
        (
            "postgres://app@db.example/scratch?sslmode=require&sslnegotiation=direct",
            17,
            ["off", "1.3", "1.2"],
        ),
    ],
)
def test_of_an_external_server_what_its_product_and_version_lack_is_not_searched(
    url: str, major: int | None, kinds: list[str]
) -> None:
    access = settle(AccessOptions(url), ask=lambda _: "secret")
    abilities = None if major is None else of_postgresql(major)
    assert [kind["tls"] for kind in external_kinds(access, abilities)] == kinds


class PathUsed:
    """A path of one program, which works for half of each try."""

    pids = (7,)

    def __init__(self) -> None:
        self.observed = 0

    def observe(self) -> None:
        self.observed += 1


def test_a_path_is_asked_to_let_go_after_each_try_and_its_time_is_told(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, read_us = PathUsed(), iter(range(0, 10**12, 500_000))
    monkeypatch.setattr(
        storms, "read_cpu", lambda pid: SimpleNamespace(total_us=float(next(read_us)) if pid == 7 else 0.0)
    )
    _, kinds = searched("connections", 1e6, paths={"pgbouncer": path})
    assert path.observed == len(clock.jobs)
    assert {limit_of(kind).number("path_share") for kind in kinds} == {0.5}


def test_without_a_path_nothing_is_told_of_one(clock: Clock) -> None:
    assert clock.jobs == []
    _, kinds = searched("connections", 1e6)
    assert {limit_of(kind).number("path_share") for kind in kinds} == {None}


def test_through_a_path_goes_what_it_carries() -> None:
    kinds = kinds_of("postgresql-18", "pgbouncer-terminate")
    assert [(kind["tls"], kind["path"]) for kind in kinds] == [
        ("1.3", "pgbouncer-terminate"),
        ("1.2", "pgbouncer-terminate"),
    ]
    with pytest.raises(UserMistake, match="pgbouncer is PostgreSQL's, and leads to no MySQL"):
        kinds_of("mysql-9.7", "pgbouncer")
