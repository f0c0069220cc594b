"""How many connections at once a private server stands: each kind in turn, loads tried until it is clear."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial

from tlstax import __version__
from tlstax.clients.engine import engine_command
from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import Done, ErrorCount, ErrorEvent, Job, OpenLoop, TlsOff
from tlstax.external import conditions
from tlstax.external.access import ExternalAccess
from tlstax.external.connection import abilities_of
from tlstax.network.paths.opening import RunningPath, obtain_path
from tlstax.observers.process import read_cpu
from tlstax.observers.turn import turn
from tlstax.plan.admission import most_that_fits, words_of
from tlstax.plan.budget import least_budget
from tlstax.plan.elsewhere import Promise
from tlstax.plan.jobs import job_for, lingering
from tlstax.records.trial import Specimen
from tlstax.results.document import BenchDocument, BenchStatus
from tlstax.results.rows import Row
from tlstax.run.bench import Bench, Needs, Wanted, open_private_bench
from tlstax.run.benches import through_path
from tlstax.run.external import open_quiet_bench
from tlstax.run.preparing import check_room
from tlstax.run.progress import Watcher
from tlstax.run.trial import ready_within_s
from tlstax.specimens.resolve import named_server
from tlstax.stats.histograms import decode
from tlstax.stats.outcomes import storm_rates
from tlstax.study import Level, Levels, client_kinds
from tlstax.study.case_workload import CaseWorkload
from tlstax.study.factors import CaseLevels, whys_not
from tlstax.study.labels import label_levels
from tlstax.study.level_names import DIRECT_TLS, STORM
from tlstax.study.needs import DataNeeds
from tlstax.study.product import DEFAULT, ProductName
from tlstax.study.server_abilities import ServerAbilities, abilities_named, product_named
from tlstax.support.errors import Interrupted, MachineFault, UserMistake
from tlstax.support.text import counted, duration
from tlstax.tools.probes.storm_search import (
    CONFIDENCE,
    FEWEST_TRIES,
    LIMIT,
    TOPIC,
    TRY,
    VARIABLES,
    Search,
    Sought,
)

LOWEST: dict[Sought, int] = {"connections": 16, "connections_per_s": 1}
UNIT: dict[Sought, str] = {"connections": "1", "connections_per_s": "1/s"}
FIRST_STORM = 64
"""The first guess is made from two storms: one of as many connections, and one of as many as that one lets
expect, since a server that is cold, or has few at once, is slower."""

ROWS = 10
SPARE_CONNECTIONS = 50
KINDS: tuple[Kind, ...] = (
    {"tls": "off", "resumption": "off"},
    {"tls": "1.3", "resumption": "off"},
    {"tls": "1.3", "resumption": "on"},
    {"tls": "1.2", "resumption": "off"},
    {"tls": "1.3-direct", "resumption": "off"},
)
"""What is searched: in the clear, both versions of TLS, a session resumed, and TLS that begins at once."""


def kinds_of(server: str | None, path: str | None = None) -> tuple[Kind, ...]:
    """What is searched at the private server of this name: all that is not known to be lacking there.

    With a `path`, what goes through it. UserMistake, with the reason, where nothing does.
    """
    named = {"server": server} if server else {}
    return _kinds(abilities_named(server or ""), product_named(server), named, path)


def _kinds(
    abilities: ServerAbilities | None, product: ProductName, named: Levels, path: str | None = None
) -> tuple[Kind, ...]:
    through = {"path": path} if path else {}

    def lacking(kind: Kind) -> str:
        case = CaseLevels.of({**kind, **through, "workload": STORM, **named})
        workload = CaseWorkload.of(case, {}, product)
        why = whys_not(client_kinds.Wanted(case, workload, server=abilities, product=product))
        return next(filter(None, why), "")

    lacks = [lacking(kind) for kind in KINDS]
    if path and all(lacks):
        raise UserMistake(f"no kind of connection goes there: {lacks[0]}", remedy="give another --path")
    return tuple({**kind, **through} for kind, why in zip(KINDS, lacks, strict=True) if not why)


def external_kinds(access: ExternalAccess, abilities: ServerAbilities | None) -> tuple[Kind, ...]:
    """What is searched at an external server that can do this (None: it was not asked)."""
    kinds = _kinds(abilities, "postgresql" if access.product == "postgresql" else DEFAULT, {})
    # Where every connection begins TLS at once, the one that asks for it would be the same again.
    return tuple(kind for kind in kinds if not (access.tls.direct and kind["tls"] == DIRECT_TLS))


@dataclass(frozen=True)
class StormRequest:
    """What a load has to do: `share` of its connections up within `within_s`; `most` is never exceeded.

    A rate lasts `lasting_s` in each try. The search ends after `budget_s` at the latest, but for the try that
    goes on then. `back_log` None leaves it as it is here; `server` None is the default one. With `external`
    it is that server, which gets `max_connections` at once (None: a share of those that are free), and no
    more than those are tried. With `path` connections go through what that is made of.
    """

    sought: Sought
    within_s: float
    share: float
    most: int
    budget_s: float
    lasting_s: float
    seed: int
    server: str | None = None
    back_log: int | None = None
    beside_others: bool = False
    external: ExternalAccess | None = None
    max_connections: int | None = None
    path: str | None = None

    @property
    def at_once(self) -> int:
        """How many connections there are at the same time, at the most."""
        return self.most if self.sought == "connections" else AT_ONCE


FIRST_STORMS = 2
LEAST_AT_ONCE = 4
"""With fewer connections at the same time an external server's rate would be that of a single client."""

LEAST_S, USUAL_S = 0.5, 1.0
"""A try starts a client, however short it is. One at the limit takes as long as is allowed; where --most ends
the search before, it takes as long as its connections, which nobody knows beforehand: a second is counted."""


def check_budget(request: StormRequest) -> None:
    """UserMistake where the budget has no room for the fewest tries that find a limit of each kind.

    Those are the first storms, then the tries of one load that does and of one that does not.
    """
    is_rate = request.sought == "connections_per_s"
    storm_s = max(LEAST_S, min(request.within_s, USUAL_S))
    try_s = max(LEAST_S, request.lasting_s) if is_rate else storm_s
    access = request.external
    kinds = external_kinds(access, None) if access else kinds_of(request.server, request.path)
    least_s = len(kinds) * (FIRST_STORMS * storm_s + 2 * FEWEST_TRIES * try_s)
    if request.budget_s >= least_s:
        return
    budget = least_budget(least_s)
    raise UserMistake(
        f"the budget of {duration(request.budget_s)} has no room for the search: each of {len(kinds)} kinds "
        f"of connection takes at least {FIRST_STORMS + 2 * FEWEST_TRIES} tries, about {duration(least_s)} "
        "in all",
        remedy=f"give --budget {budget} or more" if budget else "ask for a shorter time",
    )


def storm_limits(request: StormRequest, watcher: Watcher) -> BenchDocument:
    """The limit of each kind of connection. Ctrl-C keeps what is known by then.

    UserMistake where this machine's limits do not allow that many, or an external server has no room for it;
    MachineFault where the server failed.
    """
    check_budget(request)
    if request.external is not None:
        opened = _external(request, request.external, watcher)
    else:
        # What cannot be had is refused, and what is not here is fetched, before others are waited for.
        path = obtain_path(request.path, watcher.step) if request.path else None
        opened = _private(request, _wanted(request, watcher), path, watcher)
    with turn(watcher.warn, beside_others=request.beside_others), opened as subject:
        return _limits(request, subject, watcher)


@dataclass(frozen=True)
class _Subject:
    """The server that is searched: the bench on it, how much is tried, and the kinds of connection.

    A storm has `most` connections at the most; a rate has `at_once` at the same time. `promised` is how many
    connections an external server gets at once, with all that wind up and the laboratory's own. `path` is
    what a path is made of.
    """

    bench: Bench
    most: int
    at_once: int
    kinds: tuple[Kind, ...]
    promised: int | None = None
    path: Specimen | None = None


def _wanted(request: StormRequest, watcher: Watcher) -> Wanted:
    """The private server. UserMistake where this machine does not allow it that many connections."""
    asked = f"--most {request.most}" if request.sought == "connections" else "storm --steady"
    check_room(asked, request.at_once, SPARE_CONNECTIONS, product=product_named(request.server))
    back_log = () if request.back_log is None else (f"--back-log={request.back_log}",)
    return Wanted(
        build=named_server(request.server, watcher.step) if request.server else None,
        options=back_log,
        max_connections=request.at_once + SPARE_CONNECTIONS,
    )


@contextmanager
def _private(
    request: StormRequest, wanted: Wanted, path: Specimen | None, watcher: Watcher
) -> Iterator[_Subject]:
    kinds = kinds_of(request.server, request.path)
    with open_private_bench(_needs(request), watcher.step, wanted) as direct, ExitStack() as stack:
        bench = stack.enter_context(through_path(direct, request.path)) if request.path else direct
        yield _Subject(bench, request.most, request.at_once, kinds, path=path)


@contextmanager
def _external(request: StormRequest, access: ExternalAccess, watcher: Watcher) -> Iterator[_Subject]:
    """An external server, as far as it has room; nothing is made there.

    PostgreSQL is asked for its version first, since not every one lets TLS begin at once.
    What a try breaks off counts against the host (max_connect_errors): one has fewer connections than that.
    """
    is_rate = request.sought == "connections_per_s"
    abilities = abilities_of(access) if access.product == "postgresql" else None
    needs = replace(_needs(request), data=DataNeeds(tables=()))
    opened = open_quiet_bench(access, needs, watcher.step, watcher.warn, request.max_connections)
    with opened as (bench, room, no_plaintext, _):
        least = LEAST_AT_ONCE if is_rate else LOWEST["connections"]
        errors = conditions.check_connect_errors(
            bench.admin, access, least, "a storm that is too large for it"
        )
        most = min(request.at_once, request.at_once if errors is None else errors - 1)
        of = partial(_promise, is_rate=is_rate)
        count = most_that_fits(of, room, least=min(least, most), most=most)
        watcher.step(f"{access.address} gets {words_of(of(count), room)}")
        if no_plaintext:
            watcher.step(f"{no_plaintext}: plaintext is left out")
        kinds = external_kinds(access, abilities)
        kinds = tuple(kind for kind in kinds if kind["tls"] != "off" or not no_plaintext)
        most = request.most if is_rate else count
        yield _Subject(bench, most, count, kinds, promised=of(count).total)


def _promise(count: int, *, is_rate: bool) -> Promise:
    """What an external server is promised for N connections of a storm, or of a rate, at once."""
    used_by = "connections at a rate" if is_rate else "a storm"
    return Promise(made=count, reconnects=is_rate, closes=True, used_by=used_by)


def _needs(request: StormRequest) -> Needs:
    return Needs(
        rows=ROWS,
        connections=request.at_once,
        seed=request.seed,
        duration_s=max(LEAST_PATIENCE_S, PATIENCE * request.within_s),
    )


def _limits(request: StormRequest, subject: _Subject, watcher: Watcher) -> BenchDocument:
    bench, started_at = subject.bench, datetime.now(UTC).isoformat(timespec="seconds")
    request = replace(request, most=subject.most)
    tries = _tries(request, bench, subject.at_once)
    kinds = tuple(_OfKind(kind, request, tries, subject.at_once) for kind in subject.kinds)
    variables = bench.server.product.server_facts.variables(bench.admin, VARIABLES)
    status = _searched(kinds, request.budget_s, watcher)
    is_rate = request.sought == "connections_per_s"
    endings = {
        "interrupted": "It was interrupted; this is what was known by then.",
        "budget": f"The budget of {request.budget_s:g} s ended the search; a longer --budget goes on.",
    }
    return BenchDocument(
        bench=TOPIC.name,
        status=status,
        started_at=started_at,
        tlstax_version=__version__,
        seed=request.seed,
        machine=bench.machine,
        specimens=tuple(filter(None, (bench.server.specimen, subject.path))),
        facts={
            "sought": request.sought,
            "server": bench.server.specimen.name,
            "server_version": bench.server.version,
            "path": request.path,
            "within_s": request.within_s,
            "share": request.share,
            "confidence": CONFIDENCE,
            "budget_s": request.budget_s,
            "lasting_s": request.lasting_s if is_rate else None,
            "at_once": subject.at_once if is_rate else None,
            "promised": subject.promised,
            **variables,
        },
        told=TOPIC.told([row for kind in kinds for row in kind.rows()]),
        caveats=tuple(endings[ending] for ending in [status] if ending in endings),
    )


def _tries(request: StormRequest, bench: Bench, at_once: int) -> Tries:
    own = {"share": request.share, "within_s": request.within_s}
    if request.sought == "connections":
        return Tries(bench, **own)
    return RateTries(bench, **own, lasting_s=request.lasting_s, at_once=at_once)


def _searched(kinds: Sequence[_OfKind], budget_s: float, watcher: Watcher) -> BenchStatus:
    """Search until all kinds are found or the budget is spent; the kind that had the least time is next.

    So all know about as much when the budget ends, and what changes at the machine meanwhile is in all.
    """
    begun_s = time.monotonic()
    try:
        while still := [kind for kind in kinds if not kind.is_found]:
            kind = min(still, key=lambda kind: kind.spent_s)
            left_s = begun_s + budget_s - time.monotonic()
            if left_s < kind.try_s:
                return "budget"
            if all(each.try_s for each in still):  # Else it is not known how long they take.
                left_s = min(left_s, sum(each.left_s for each in still))
            spent_s = time.monotonic() - begun_s
            watcher.now(kind.words(), share=spent_s / (spent_s + left_s), left_s=left_s)
            kind.go_on()
    except Interrupted:
        return "interrupted"
    return "complete"


@dataclass
class _OfKind:
    """The search for one kind of connection, and the time that it took.

    `last` has the last try of each load that did, `path_shares` how busy the path was in it; `is_refused` is
    whether the server does not take the kind.
    """

    kind: Kind
    request: StormRequest
    tries: Tries
    at_once: int
    search: Search | None = None
    is_refused: bool = False
    spent_s: float = 0.0
    try_s: float = 0.0
    last: dict[int, Done] = field(default_factory=dict)
    path_shares: dict[int, float | None] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The kind in words, without the path, which all have alike."""
        return label_levels({name: level for name, level in self.kind.items() if name != "path"})

    @property
    def is_found(self) -> bool:
        """Whether there is nothing left to try."""
        return self.is_refused or (self.search is not None and self.search.next_load() is None)

    @property
    def left_s(self) -> float:
        """About how long the rest takes."""
        return self.search.tries_left() * self.try_s if self.search is not None else 0.0

    def words(self) -> str:
        """What `go_on` does next."""
        load = self.search.next_load() if self.search is not None else None
        tried = "two first storms" if load is None else self.tries.words(load)
        return f"{self.label}: {tried}"

    def go_on(self) -> None:
        """The next try, or, before the first, the storms that the first guess is made from."""
        begun_s = time.monotonic()
        if self.search is None:
            self.is_refused = not self.tries.takes(self.kind)
            self.search = None if self.is_refused else self._search()
        else:
            load = self.search.next_load()
            if load is not None:
                does, done = self.tries.attempt(self.kind, load)
                self.search.note(load, did=does)
                if does and done is not None:
                    self.last[load] = done
                    self.path_shares[load] = self.tries.path_share
            self.try_s = max(self.try_s, time.monotonic() - begun_s)
        self.spent_s += time.monotonic() - begun_s

    def _search(self) -> Search:
        lowest = min(LOWEST[self.request.sought], self.request.most)
        connections, per_s = FIRST_STORM, None
        for _ in range(FIRST_STORMS):
            seen_per_s = self.tries.storm_per_s(self.kind, min(connections, self.at_once))
            per_s = seen_per_s or per_s
            connections = max(FIRST_STORM, self.tries.guess(per_s) if per_s else 0)
        return Search(lowest, self.request.most, self.tries.guess(per_s) if per_s else lowest)

    def rows(self) -> Iterator[Row]:
        """What is known by now: the limit, then each load that was tried."""
        search, sought = self.search, self.request.sought
        highest = search.highest if search is not None else None
        last = self.last.get(highest or 0)
        of_kind = partial(Row, outcome=sought, unit=UNIT[sought], label=self.label, case=dict(self.kind))
        yield of_kind(
            role=LIMIT,
            value=highest,
            more={
                "too_high": search.too_high if search is not None else None,
                "is_refused": self.is_refused,
                "is_found": self.is_found,
                "achieved_per_s": self.tries.per_s(last) if last is not None else None,
                "client_share": _busiest_share(last) if last is not None else None,
                "path_share": self.path_shares.get(highest or 0),
            },
        )
        for load in search.tried if search is not None else ():
            more = {"tries": load.tries, "did": load.did}
            yield of_kind(role=TRY, value=load.load, judgement=load.verdict, more=more)


def _busiest_share(done: Done) -> float:
    return max(done.threads_cpu_us, default=done.cpu.total_us) / (done.elapsed_s * 1e6)


Kind = Mapping[str, Level]

PATIENCE = 10.0
"""A try that is not over after that many times the time that is wanted is given up."""

LEAST_PATIENCE_S = 5.0

AT_ONCE = 256
"""How many connections of a rate are in the making at most; what is due beyond that waits, and its wait
counts. Each is opened once before, to be asked what it has negotiated."""


FALLING_BEHIND = 0.05
"""A server that falls behind by this share of the time or more does not take the rate."""


class Tries:
    """Storms on one server, each of as many connections at once as the load says.

    Of `share` of the connections it is asked whether they are up `within_s`.
    """

    def __init__(self, bench: Bench, *, share: float, within_s: float) -> None:
        self._bench, self._share, self._within_s = bench, share, within_s
        self._patience_s = max(LEAST_PATIENCE_S, PATIENCE * within_s)
        self._number = 0
        self.path_share: float | None = None
        """How busy the programs of the path were in the last try, in processors; None without a path."""

    def words(self, load: int) -> str:
        """The load in words."""
        return f"{counted(load, 'connection', ',')} at once"

    def per_s(self, done: Done) -> float:
        """How many connections a second came up."""
        return storm_rates(done)[0]

    def guess(self, per_s: float) -> int:
        """About the highest load of a server that takes that many connections a second in a storm."""
        return round(per_s * self._within_s)

    def _job(self, kind: Kind, load: int) -> Job:
        return self._storm(kind, load)

    def _does(self, done: Done) -> bool:
        return self._are_up(done, "connect")

    def attempt(self, kind: Kind, load: int) -> tuple[bool, Done | None]:
        """Whether the load did, and what its client reported; None where that gave up.

        MachineFault where the server ended, or where it is this machine that does not allow the load.
        """
        done = self._unless_given_up(self._job(kind, load), self.words(load))
        return done is not None and self._does(done), done

    def takes(self, kind: Kind) -> bool:
        """Whether the server takes that version of TLS at all. Raises as `attempt`."""
        try:
            self._run(self._storm(kind, 1))
        except ClientFailure as failure:
            # A login that succeeds has a server forget that one was refused (max_connect_errors).
            self._bench.server.is_alive()
            return not failure.tls_was_refused()
        return True

    def storm_per_s(self, kind: Kind, connections: int) -> float | None:
        """How many connections a second come up in one storm; None where it fails. Raises as `attempt`."""
        done = self._unless_given_up(
            self._storm(kind, connections), f"{counted(connections, 'connection', ',')} at once"
        )
        return next(iter(storm_rates(done)), None) if done is not None else None

    def _are_up(self, done: Done, phase: str) -> bool:
        return is_up_in_time(
            done, phase, connections=done.scheduled, share=self._share, within_s=self._within_s
        )

    def _storm(self, kind: Kind, connections: int) -> Job:
        case = CaseLevels.of({**kind, "workload": "storm", "connections": connections, "rounds": 1})
        self._number += 1
        job = job_for(case, self._bench.terms_of(case), sequence=self._number)
        return job.model_copy(update={"timeout_s": self._patience_s})

    def _run(self, job: Job) -> Done:
        """What the client reports; an external server is done with all of its connections then."""
        seconds = job.duration_s if isinstance(job.schedule, OpenLoop) else 0.0
        server, paths = self._bench.server, tuple(self._bench.paths.values())
        if isinstance(job.tls, TlsOff):
            server.know_account()
        stays = server.connected()
        self.path_share = None
        try:
            with LoadClient(engine_command(), job) as client:
                client.wait_ready(ready_within_s(job))
                if not paths:
                    server.wait_until_gone(stays)
                before_us = _cpu_us(paths)
                client.go()
                done = client.wait_done(2 * (self._patience_s + seconds) + LEAST_PATIENCE_S)
                if paths:
                    self.path_share = (_cpu_us(paths) - before_us) / (done.elapsed_s * 1e6)
                return done
        finally:
            for path in paths:
                # A pooler keeps its connections to the server until it is asked.
                path.observe()
            server.wait_until_gone(stays)

    def _unless_given_up(self, job: Job, load: str) -> Done | None:
        try:
            done = self._run(job)
        except ClientFailure as failure:
            if not self._bench.server.is_alive():
                name = self._bench.server.specimen.name
                raise MachineFault(f"{name} ended under {load}: {failure}") from failure
            _check_limits(failure.errors, load)
            return None
        _check_limits(done.errors, load)
        return done


def _cpu_us(paths: Iterable[RunningPath]) -> float:
    """CPU time that the programs of these paths have used."""
    used = (read_cpu(pid) for path in paths for pid in path.pids)
    return sum(cpu.total_us for cpu in used if cpu is not None)


def _check_limits(errors: Iterable[ErrorEvent | ErrorCount], load: str) -> None:
    """MachineFault where a limit of the client's machine is met: it would be taken for the server's."""
    if any(error.kind == "limits" for error in errors):
        raise MachineFault(
            f"this machine has too few ports or open files for {load}", remedy="ask for less with --most"
        )


class RateTries(Tries):
    """New connections at a constant rate, each closed when it is up; the load is how many a second."""

    def __init__(
        self, bench: Bench, *, share: float, within_s: float, lasting_s: float, at_once: int
    ) -> None:
        super().__init__(bench, share=share, within_s=within_s)
        self._lasting_s, self._at_once = lasting_s, at_once

    def words(self, load: int) -> str:
        """The load in words."""
        return f"{counted(load, 'connection', ',')} a second"

    def per_s(self, done: Done) -> float:
        """How many connections a second came up."""
        return done.operations / done.elapsed_s

    def guess(self, per_s: float) -> int:
        """The same rate."""
        return round(per_s)

    def _job(self, kind: Kind, load: int) -> Job:
        job = self._storm(kind, self._at_once)
        return job.model_copy(
            update={
                "lingering": None if job.lingering is None else lingering(self._at_once),
                "schedule": OpenLoop(rate_per_s=load, arrivals="uniform"),
                "duration_s": self._lasting_s,
                "operations": None,
            }
        )

    def _does(self, done: Done) -> bool:
        return self._are_up(done, "operation") and falls_behind(done, self._lasting_s) < FALLING_BEHIND


def is_up_in_time(done: Done, phase: str, *, connections: int, share: float, within_s: float) -> bool:
    """Whether `share` of that many connections were up within `within_s`, by the histogram of `phase`.

    Of those that never came up nothing is in it: they count as late.
    """
    if done.operations < share * connections:
        return False
    up_us = decode(done.histograms_ns[phase])
    percent = 100 * share * connections / up_us.count
    return percent <= 100 and up_us.percentiles_us((percent,))[0] <= within_s * 1e6


def falls_behind(done: Done, lasting_s: float) -> float:
    """By which share of the time the connections fall further behind at a rate that lasted `lasting_s`.

    At C connections a second of R that are due, what is due at the time t waits t (R / C − 1) longer than the
    first: half of the connections wait longer than half of that at the end. So twice the median's wait beyond
    the shortest, over the time, is R / C − 1, and near 0 where the server keeps up. The median is not moved
    by the few that were lost and sent again.
    """
    up_us = decode(done.histograms_ns["operation"])
    shortest_us, median_us = up_us.percentiles_us((0.0, 50.0))
    return 2 * (median_us - shortest_us) / (lasting_s * 1e6)
