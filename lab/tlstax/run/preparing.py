"""What a run is asked to do, what it needs, and having it ready: room, servers, clients, the turn to measure.

Whether this machine has room for many connections at once is asked before anything is fetched or started.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import psutil

from tlstax import __version__
from tlstax.observers.machine import check_usable, split_as_asked
from tlstax.observers.ports import port_settings
from tlstax.observers.profiler import probe
from tlstax.observers.turn import Turn, turn
from tlstax.plan.cpu_shares import AskedCpus
from tlstax.plan.jobs import SOURCE_ADDRESSES
from tlstax.plan.order import cases
from tlstax.plan.sittings import most_held
from tlstax.plan.timing import trial_duration_s
from tlstax.records.beforehand import ExternalServer, Predictions
from tlstax.records.trial import Changes, LoadMachines, Machine, RunHeader, Specimen, StoredRun
from tlstax.run.bench import Needs
from tlstax.run.benches import SPARE_CONNECTIONS, Benches, obtain, open_benches
from tlstax.run.pilot import LoadFrom, connected, machine_of, piloted, taken, with_all_cpus
from tlstax.run.resume import check_same
from tlstax.specimens.authorities import Bundle
from tlstax.specimens.server_build import FORKING
from tlstax.specimens.server_settings import bounded_connections
from tlstax.store import Store, new_run_id
from tlstax.study import Study, configuration
from tlstax.study.needs import data_needs, has_one_thread, server_choices
from tlstax.study.product import DEFAULT, ProductName
from tlstax.support.errors import UserMistake
from tlstax.support.here import text_of
from tlstax.support.text import counted, natural

if TYPE_CHECKING:
    from tlstax.run.external import ExternalRequest

THREADS_BESIDE = 200
"""Threads that a server has besides those of its connections, and a client."""

AREAS_OF_A_THREAD = 2
"""A thread's stack and the guard page below it are areas of memory of their own (mmap(2))."""

LEAST_BYTES, LEAST_PROCESS_BYTES = 32 * 1024, 1024 * 1024
"""A server and a client that need less memory for a connection together are not known; the second where the
server starts a process for each."""

MOST_BACKENDS = 262_143
"""The highest `max_connections` of PostgreSQL, the only product that starts processes (its documentation,
"Connections and Authentication"; MAX_BACKENDS in src/include/storage/procnumber.h)."""


@dataclass(frozen=True)
class Limit:
    """How many connections something allows, and what can be done about it."""

    most: int
    what: str
    remedy: str


def check_room(  # noqa: PLR0913 (what is asked, then of which server)
    asked: str,
    connections: int,
    spare: int,
    *,
    product: ProductName = DEFAULT,
    pooled: bool = False,
    root: Path = Path("/"),
) -> None:
    """UserMistake, in one sentence, where this machine allows no server that many connections.

    `asked` is what the user said, `spare` how many connections there are besides. A server has a thread for
    each, unless they are `pooled`, or by its product a process; what the kernel does not report limits
    nothing.
    """
    needed, has_processes = connections + spare, product in FORKING
    limits = [*_limits(needed, root, has_processes=has_processes)]
    if not pooled:
        limits += _limits_of_tasks(root)
    if not pooled and not has_processes:
        limits += _limits_of_areas(root)
    for limit in limits:
        if limit.most < needed:
            raise UserMistake(
                f"{asked} needs a server that accepts {counted(needed, 'connection')}, and {limit.what} "
                f"allows {max(0, limit.most)} here",
                remedy=f"ask for fewer, or {limit.remedy}",
            )


def _limits(needed: int, root: Path, *, has_processes: bool) -> Iterator[Limit]:
    # A process has one connection, and the client, which has as many as there are, checks its own limit.
    if has_processes:
        yield Limit(MOST_BACKENDS, "PostgreSQL's largest max_connections", "name a server of another product")
    else:
        yield Limit(bounded_connections(needed), "the limit of open files", "raise the limit (ulimit -Hn)")
    try:
        ports = port_settings(root / "proc/sys/net/ipv4").there_are * len(SOURCE_ADDRESSES)
        yield Limit(ports, "the range of ports (net.ipv4.ip_local_port_range)", "widen it")
    except (OSError, ValueError):
        pass
    free_bytes = int(psutil.virtual_memory().available)
    least_bytes = LEAST_PROCESS_BYTES if has_processes else LEAST_BYTES
    yield Limit(free_bytes // least_bytes, "the memory that is free", "end what else needs it")


def _limits_of_tasks(root: Path) -> Iterator[Limit]:
    """Of threads and processes, which the kernel counts alike."""
    for name in ("kernel/threads-max", "kernel/pid_max"):
        most = _number(root / "proc/sys" / name)
        if most is not None:
            dotted = name.replace("/", ".")
            free = most - _threads(root) - THREADS_BESIDE
            yield Limit(free, f"the kernel's limit of threads ({dotted})", f"raise it (sysctl {dotted})")
    tasks = _free_tasks(root)
    if tasks is not None:
        yield Limit(tasks - THREADS_BESIDE, "the limit of this control group (pids.max)", "raise it")


def _limits_of_areas(root: Path) -> Iterator[Limit]:
    """Of the memory of one process, in which all connections are."""
    areas = _number(root / "proc/sys/vm/max_map_count")
    if areas is not None:
        most = areas // AREAS_OF_A_THREAD - THREADS_BESIDE
        yield Limit(most, "the kernel's limit of memory areas (vm.max_map_count)", "raise it")


def _number(path: Path) -> int | None:
    """The number in a file; None where there is none, or "max"."""
    return natural(text_of(path).strip())


def _threads(root: Path) -> int:
    """How many threads there are (proc(5), the fourth field of loadavg)."""
    *_, tasks, _ = ["", "", *text_of(root / "proc/loadavg").split()]
    return natural(tasks.partition("/")[2]) or 0


def _free_tasks(root: Path) -> int | None:
    """How many more threads this process's control group may have; None where it has no limit.

    Source: the kernel's documentation of control groups, "PID"; of version 2 its own is the line "0::".
    """
    try:
        lines = (root / "proc/self/cgroup").read_text("utf-8").splitlines()
    except OSError:
        return None
    own = next((line.removeprefix("0::").lstrip("/") for line in lines if line.startswith("0::")), "")
    folder = root / "sys/fs/cgroup" / own
    most, there_are = _number(folder / "pids.max"), _number(folder / "pids.current")
    return most - there_are if most is not None and there_are is not None else None


class Listener(Protocol):
    """Who hears what is being made ready."""

    def step(self, text: str) -> None:
        """Something begins that may take a while."""
        ...

    def warn(self, text: str) -> None:
        """Something the user should know although the work goes on."""
        ...


class Furnished(Protocol):
    """What trials run on, as far as a run's header has it."""

    @property
    def machine(self) -> Machine:
        """The machine."""
        ...

    @property
    def specimens(self) -> tuple[Specimen, ...]:
        """What is measured, and by what."""
        ...

    @property
    def load(self) -> LoadMachines | None:
        """The machines that the load comes from; None where it is the server's own, or this one."""
        ...

    @property
    def external(self) -> tuple[ExternalServer, ...]:
        """What external servers were promised; none where all are our own."""
        ...


@dataclass(frozen=True)
class Request:
    """What is to be measured. `external` is None for servers of our own, `seed` None for a random one.

    `resumed` is a run that was cut off and is to be brought to its end, None for a new one. `changes` are
    the options that changed the study's file. Where `tls_as_able`, a server that lacks the study's TLS
    versions gets what it has; else it is a mistake. Where another run is measuring, this one waits for its
    turn, or with `beside_others` goes on at once; `turn` is one that its caller has already. Of the time in
    which cases take turns a server is at work for `share` of it. `cpus` are those that the user asked for.
    `load` says which other machines the load comes from, None where it comes from here. `bundle` is a file of
    authorities of the user's, None where clients are given what the laboratory has. `predictions` are kept
    with the run, which is held against them.
    """

    study: Study
    external: ExternalRequest | None = None
    seed: int | None = None
    changes: Changes = field(default_factory=Changes)
    resumed: StoredRun | None = None
    tls_as_able: bool = False
    beside_others: bool = False
    turn: Turn | None = None
    share: float = 1.0
    cpus: AskedCpus = field(default_factory=AskedCpus)
    load: LoadFrom | None = None
    bundle: Bundle | None = None
    predictions: Predictions | None = None


def needs_of(request: Request, *, duration_s: float | None = None) -> Needs:
    """What the trials of a run need. `duration_s` is how long they measure, None where the budget decides."""
    study, resumed = request.study, request.resumed
    if resumed is not None:
        seed, duration_s = resumed.header.seed, resumed.header.trial_duration_s
    else:
        seed = secrets.randbelow(2**32) if request.seed is None else request.seed
        # What rests between turns measures less within its budget.
        whole_s = trial_duration_s(study, cases(study)) * request.share
        duration_s = whole_s if duration_s is None else duration_s
    return Needs(
        study.rows,
        most_held(study, seed),
        seed,
        duration_s,
        study.schedule,
        data_needs(study),
        request.bundle,
    )


@contextmanager
def opened(request: Request, needs: Needs, listener: Listener) -> Iterator[Benches]:
    """What the trials run on, once it is this run's turn.

    CPUs that cannot be had and more connections than there is room for are refused before anything is
    fetched, and a resumed run before anything is started for it. What must be fetched is fetched before it is
    this run's turn.
    """
    study, say, asked = request.study, listener.step, request.external
    if asked is not None:
        from tlstax.run.external import (  # noqa: PLC0415 (for external servers alone)
            check_external,
            open_external,
        )

        check_external(study, asked.servers)
    if asked is None or asked.ours(study):
        split_as_asked(request.cpus)
        asked_for = f"a run with {counted(needs.connections, 'connection')} at once"
        private = {case.server for case in study.included()} - ({*asked.servers} if asked else set())
        for product in sorted(set(map(study.product_at, private))):
            pooled = _all_pooled(study)
            check_room(asked_for, needs.connections, SPARE_CONNECTIONS, product=product, pooled=pooled)
    else:
        check_usable(request.cpus)
    sampling = probe() if study.profile else None
    specimens = obtain(study, say, external=() if asked is None else asked.servers)
    if request.resumed is not None:
        now = machine_of(request.cpus, request.resumed)
        check_same(request.resumed.header, specimens.described(), now)
    with ExitStack() as stack:
        fleet = stack.enter_context(connected(request.load, say)) if request.load is not None else None
        given = nullcontext(request.turn) if request.turn is not None else None
        mine = stack.enter_context(given or turn(listener.warn, beside_others=request.beside_others))
        if asked is not None:
            opening = open_external(
                study, asked, specimens, needs, say, listener.warn, request.cpus, fleet, sampling
            )
        else:
            machine = machine_of(request.cpus, request.resumed)
            if has_one_thread(study):
                machine = machine.model_copy(update={"client_cpus": machine.client_cpus[:1]})
            elif fleet is not None:
                machine = with_all_cpus(machine, request.cpus)
            elif request.resumed is None and not request.cpus.is_any:
                machine = piloted(study, specimens, needs, machine, say)
            opening = open_benches(
                study, specimens, needs, say, machine=machine, fleet=fleet, sampling=sampling
            )
        benches = stack.enter_context(opening)
        load = taken(fleet, study, benches, say) if fleet is not None else None
        yield replace(benches, turn=mine, load=load)


def _all_pooled(study: Study) -> bool:
    """Whether at all servers connections share the threads of a pool."""
    return all(configuration.has_thread_pool(choice.configuration) for choice in server_choices(study))


def begun(request: Request, study: Study, needs: Needs, place: Furnished, store: Store) -> RunHeader:
    """The run's header, once the store knows that the run goes on. `study` is as the servers can do it."""
    if request.resumed is not None:
        return store.resume(request.resumed.header.run).header
    started = datetime.now(UTC)
    header = RunHeader(
        run=new_run_id(started),
        started_at=started.isoformat(timespec="seconds"),
        tlstax_version=__version__,
        study=study,
        seed=needs.seed,
        trial_duration_s=needs.duration_s,
        machine=place.machine,
        specimens=place.specimens,
        guest=request.external is not None,
        changes=request.changes,
        load=place.load,
        external=place.external,
        trust=request.bundle.record() if request.bundle is not None else None,
        predictions=request.predictions,
    )
    store.begin(header)
    return header
