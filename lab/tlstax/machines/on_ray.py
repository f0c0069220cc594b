"""A cluster joined by Ray: its nodes, and a shim on each that starts tlstax there. All that imports Ray.

Ray's part is to know which machines there are, to start a process on each and to carry bytes. What is
measured is measured by tlstax's own processes, and nothing of Ray's runs within a slice.
"""

from __future__ import annotations

import errno
import os
import platform
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import ray
from ray import cloudpickle
from ray.exceptions import GetTimeoutError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from tlstax.machines import shim
from tlstax.machines.cluster import Heard, Node, Worker, named_nodes
from tlstax.machines.listing import Clock, ListedMachine, RoundTrip, clock_of, listed_machine
from tlstax.machines.parcels import Packed, Parcels
from tlstax.machines.shim import Shim
from tlstax.support.errors import MachineFault, TlstaxError, UserMistake
from tlstax.support.plain_words import reason
from tlstax.support.text import natural

CONNECT_S = 10.0
"""How long a cluster's head may take to answer at all."""

JOIN_S = 30.0
"""How long joining it may take."""

JOINING = """
import sys, ray
try:
    ray.init(address=sys.argv[1], log_to_driver=False, logging_level="critical")
except Exception as error:
    print(" ".join(str(error).split())[:400])
    sys.exit(1)
"""

SET_UP_S = 60.0
"""How long a node may take to start a worker of Ray's, or to unpack what it was sent."""

LISTEN_S = 600.0
"""How long a shim waits for a line before it answers that there is none."""

GRACE_S = 30.0
"""How long a node's tlstax may take to end in order: it takes down its servers."""

CALLS_AT_ONCE = 4
"""A shim is asked for lines, given lines and told to stop at the same time."""

NOT_NICE = {"RAY_worker_niceness": "0"}
"""Ray's workers run at nice 15 by default, and so would all that they start: servers and load engines too."""

DOCTOR = ["doctor", "--json"]
CLOCK_EXCHANGES, CONNECTS = 10, 20

AS_RAY_DOES = "start Ray as its manual says: `ray start --head`, and on each machine `ray start --address=…`"


@contextmanager
def connected(address: str, parcels: Parcels, names: Sequence[str] = ()) -> Iterator[RayCluster]:
    """The cluster whose head is at this `host:port`, whose nodes are to have what is in the parcels.

    With `names` it has these nodes alone. UserMistake or MachineFault where there is none, or none so named.
    """
    _check_answers(address)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        ray.init(address=address, namespace="tlstax", log_to_driver=False, logging_level="critical")
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise MachineFault(
            f"Ray at {address} cannot be used: {_first_line(error)}", remedy=AS_RAY_DOES
        ) from error
    finally:
        # Ray ends a program at SIGTERM in a way of its own, in which nothing is put in order.
        for number, handler in handlers.items():
            signal.signal(number, handler)
    # Ray prints what its own processes report on our standard output, `log_to_driver` or not (2.60).
    ray._private.worker._worker_logs_enabled = False
    try:
        cluster = RayCluster(parcels, names)
        _check_names(names, cluster.nodes())
        yield cluster
    finally:
        ray.shutdown()


@dataclass(frozen=True)
class RayWorker:
    """A shim on a node, and the program that it started."""

    node: Node
    actor: Any
    sent: list[Any] = field(default_factory=list)
    """The last line that was given, for the next to wait for: a shim's calls run side by side."""

    def send(self, line: str) -> None:
        """Give it a line."""
        self.sent[:] = [self.actor.send.remote(line, *self.sent)]


class RayCluster:
    """The cluster that this process is connected to."""

    def __init__(self, parcels: Parcels, names: Sequence[str] = ()) -> None:
        self._parcels, self._names = parcels, names
        cloudpickle.register_pickle_by_value(shim)
        self._actor_class = ray.remote(
            num_cpus=0, max_restarts=0, max_concurrency=CALLS_AT_ONCE, runtime_env={"env_vars": NOT_NICE}
        )(Shim)
        self._asked: dict[Any, RayWorker] = {}
        """Who is asked for lines, by what the answer will be."""

    def nodes(self) -> Sequence[Node]:
        """Those that are alive and wanted, by name: the host's, with its address where several have it."""
        known = ray.nodes()
        # Those that are gone count as well: a name must not change because another machine has died.
        named = named_nodes([(node["NodeManagerHostname"], node["NodeManagerAddress"]) for node in known])
        found = [
            Node(node["NodeID"], name, node["NodeManagerAddress"])
            for node, name in zip(known, named, strict=True)
            if node["Alive"] and (not self._names or name in self._names)
        ]
        return sorted(found, key=lambda node: node.name)

    def survey(self, nodes: Sequence[Node]) -> tuple[list[ListedMachine], list[RoundTrip]]:
        """What each of these is and can do, and how long packets take between them."""
        shims = self._shims(nodes)
        facts = self._supply(shims)
        clocks = self._clocks(shims)
        said = self._all(shims, "answer", self._parcels.sources, DOCTOR, SET_UP_S)
        ports = self._all(shims, "listen")
        listed = [
            listed_machine(node, shims[node], facts.get(node), clocks.get(node), said.get(node))
            for node in nodes
        ]
        try:
            return listed, self._round_trips(shims, ports)
        finally:
            for actor in shims.values():
                if not isinstance(actor, TlstaxError):
                    ray.kill(actor)

    def start(self, nodes: Sequence[Node], arguments: Sequence[str]) -> Mapping[Node, Worker | TlstaxError]:
        """Start tlstax on these, once each has what it needs of the head's."""
        shims = self._shims(nodes)
        self._supply(shims)
        self._all(shims, "start", self._parcels.sources, list(arguments))
        found: dict[Node, Worker | TlstaxError] = {}
        for node, actor in shims.items():
            if isinstance(actor, TlstaxError):
                found[node] = actor
                continue
            found[node] = worker = RayWorker(node, actor)
            self._ask(worker)
        return found

    def hear(self, within_s: float) -> Sequence[Heard]:
        """What has come from any worker since; waits so long for something."""
        if not self._asked:
            time.sleep(within_s)
            return ()
        ready, _ = ray.wait(list(self._asked), num_returns=1, timeout=within_s)
        more, _ = ray.wait(list(self._asked), num_returns=len(self._asked), timeout=0) if ready else ((), ())
        return [self._heard(self._asked.pop(answer), answer) for answer in more]

    def end(self, workers: Sequence[Worker]) -> None:
        """Have these end in order, all at once, and by force where that takes too long."""
        ours = [worker for worker in workers if isinstance(worker, RayWorker)]
        stopping = [worker.actor.stop.remote(GRACE_S) for worker in ours]
        if stopping:
            ray.wait(stopping, num_returns=len(stopping), timeout=GRACE_S + 10)
        for worker in ours:
            ray.kill(worker.actor)
            self._asked = {answer: asked for answer, asked in self._asked.items() if asked is not worker}

    def _shims(self, nodes: Sequence[Node]) -> dict[Node, Any]:
        """A new shim on each of these."""
        return {
            node: self._actor_class.options(
                scheduling_strategy=NodeAffinitySchedulingStrategy(node.identity, soft=False)
            ).remote()
            for node in nodes
        }

    def _clocks(self, shims: dict[Node, Any]) -> dict[Node, Clock]:
        """How far each clock is ahead, by the exchange that took the least time."""
        found: dict[Node, Clock] = {}
        for _ in range(CLOCK_EXCHANGES):
            for node in list(shims):
                asked_s = time.time()
                for theirs_s in self._all({node: shims[node]}, "clock_s").values():
                    clock = clock_of(asked_s, time.time(), theirs_s)
                    found[node] = min(clock, found.get(node, clock), key=lambda known: known.error_ms)
        return found

    def _round_trips(self, shims: Mapping[Node, Any], ports: Mapping[Node, int]) -> list[RoundTrip]:
        """Between all of them, one pair after another, so that none is in another's way."""
        found = []
        for source in ports:
            for target, port in ports.items():
                if source == target:
                    continue
                try:
                    took = ray.get(
                        shims[source].round_trips_us.remote(target.address, port, CONNECTS), timeout=SET_UP_S
                    )
                except RayError:
                    continue
                found.append(
                    RoundTrip(source=source.name, target=target.name, p50_us=median(took), count=CONNECTS)
                )
        return found

    def _ask(self, worker: RayWorker) -> None:
        self._asked[worker.actor.lines.remote(LISTEN_S)] = worker

    def _heard(self, worker: RayWorker, answer: Any) -> Heard:
        try:
            lines, ended = ray.get(answer)
        except RayError:
            # Where it only cannot be reached, it must not go on by itself.
            ray.kill(worker.actor)
            is_lost = all(node.identity != worker.node.identity for node in self.nodes())
            return Heard(worker, ended="Ray has lost its process there", node_is_lost=is_lost)
        if ended is None:
            self._ask(worker)
        return Heard(worker, lines, ended)

    def _supply(self, shims: dict[Node, Any]) -> dict[Node, dict[str, Any]]:
        """Bring each node what it lacks, to all that lack it at once; the facts of the nodes."""
        facts = self._all(shims, "facts", use=_check_architecture)
        own = self._parcels
        lacking = self._all(shims, "lacks", own.targets, own.environment, own.wheels)
        for target in dict.fromkeys(target for lacks in lacking.values() for target in lacks):
            packed = own.packed(target)
            if packed is not None:
                to = {node: shims[node] for node, lacks in lacking.items() if target in lacks}
                self._deliver(packed, target, to)
                shims.update(to)
        return facts

    def _deliver(self, packed: Packed, target: str, to: dict[Node, Any]) -> None:
        upload = f"{packed.sha256}-{os.getpid()}"
        for place, chunk in enumerate(packed.chunks()):
            self._all(to, "receive", upload, ray.put(chunk), is_first=place == 0)
        self._all(to, "unpack", upload, packed.sha256, target)

    def _all(
        self,
        shims: dict[Node, Any],
        method: str,
        *arguments: object,
        use: Callable[[Any], None] | None = None,
        **named: object,
    ) -> dict[Node, Any]:
        """Call all shims at once, have each answer used, return all; a shim that fails becomes the reason."""
        answers = {
            node: getattr(actor, method).remote(*arguments, **named)
            for node, actor in shims.items()
            if not isinstance(actor, TlstaxError)
        }
        found: dict[Node, Any] = {}
        for node, answer in answers.items():
            actor = shims[node]
            try:
                found[node] = ray.get(answer, timeout=SET_UP_S)
                if use is not None:
                    use(found[node])
            except TlstaxError as error:
                shims[node] = error
            except GetTimeoutError:
                shims[node] = MachineFault(f"it did not answer within {SET_UP_S:.0f} s")
            except (RayError, ValueError, OSError) as error:
                shims[node] = _fault_there(error)
            if isinstance(shims[node], TlstaxError):
                ray.kill(actor)
        return found


def _check_names(names: Sequence[str], nodes: Sequence[Node]) -> None:
    """UserMistake where a node was asked for that is not there."""
    there = [node.name for node in nodes]
    for name in names:
        if name not in there:
            raise UserMistake(
                f"{name}: the cluster has no machine of this name",
                remedy="`tlstax machines --ray ADDRESS` lists them",
            )


def _check_architecture(facts: Mapping[str, Any]) -> None:
    """MachineFault where programs of this machine do not run on the node."""
    if facts["machine"] != platform.machine():
        raise MachineFault(f"it is a {facts['machine']} machine, and this is a {platform.machine()} one")


def _check_answers(address: str) -> None:
    """MachineFault where no cluster answers at the address that this process can join.

    Ray itself would try for many minutes, deaf to Ctrl-C. So another process tries first, which can be ended.
    """
    host, _, port = address.rpartition(":")
    number = natural(port)
    if not host or "/" in host or number is None:
        raise UserMistake(
            f"--ray {address}: the address of a cluster's head is wanted, such as 10.0.0.1:6379",
            remedy="`ray start --head` prints it",
        )
    try:
        socket.create_connection((host.strip("[]"), number), CONNECT_S).close()
    except (OSError, OverflowError) as error:
        raise MachineFault(f"nothing answers at {address} ({reason(error)})", remedy=AS_RAY_DOES) from None
    try:
        tried = subprocess.run(
            [sys.executable, "-I", "-c", JOINING, address],
            check=False,
            capture_output=True,
            text=True,
            timeout=JOIN_S,
        )
    except subprocess.TimeoutExpired:
        raise MachineFault(
            f"what answers at {address} is no Ray cluster, or one that is out of order: it did not let this "
            f"machine join within {JOIN_S:.0f} s",
            remedy=AS_RAY_DOES,
        ) from None
    if tried.returncode:
        why = tried.stdout.strip() or "the attempt to join it failed"
        raise MachineFault(f"the Ray cluster at {address} cannot be joined: {why}", remedy=AS_RAY_DOES)


def _fault_there(error: BaseException) -> MachineFault:
    """What went wrong on a node, in a sentence."""
    cause = getattr(error, "cause", None) or error
    if isinstance(cause, OSError) and cause.errno == errno.ENOSPC:
        return MachineFault(
            "its disk has no room left for what tlstax keeps there",
            remedy="make room, or set TLSTAX_CACHE there to a folder on another disk",
        )
    return MachineFault(_first_line(error))


def _first_line(error: BaseException) -> str:
    """What went wrong, without the traceback that Ray hangs on it."""
    cause = getattr(error, "cause", None) or error
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    return lines[0].rstrip(".:") if lines else type(cause).__name__
