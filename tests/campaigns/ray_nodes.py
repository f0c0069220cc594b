"""Machines made on this one: network namespaces on a bridge, each with a Ray node of its own."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

HUB, NODE, BRIDGE, NETWORK = "tlstax-hub", "tlstax-node", "tlstax-br", "10.77.0"
PORT = 6379
ADDRESSES = 10
"""How many more addresses each machine has than its own."""
LONGEST_S = 120.0
RAYS_OWN = ("raylet", "gcs_server", "log_monitor", "dashboard", "runtime_env", "monitor", "ray::")
"""What stands in the command lines of a Ray node's own processes."""


class RayNode:
    """The `number`-th machine; 1 is the head. `ray` is Ray's command, `scratch` where it may write."""

    def __init__(self, number: int, ray: Path, scratch: Path) -> None:
        self.number, self._ray = number, ray
        self.namespace, self.address = f"{NODE}{number}", f"{NETWORK}.{number}"
        self._scratch = scratch / str(number)

    def connect(self) -> None:
        """A namespace with one interface, plugged into the bridge."""
        inside, outside = f"tlx{self.number}", f"tly{self.number}"
        _ip("netns", "add", self.namespace)
        _ip(
            "link",
            "add",
            inside,
            "netns",
            self.namespace,
            "type",
            "veth",
            "peer",
            "name",
            outside,
            "netns",
            HUB,
        )
        _ip("-n", HUB, "link", "set", outside, "master", BRIDGE, "up")
        # Several, since each has ports for a minute's reconnecting alone.
        more = (f"{NETWORK}.{ADDRESSES * self.number + place}" for place in range(ADDRESSES))
        for address in (self.address, *more):
            _ip("-n", self.namespace, "addr", "add", f"{address}/24", "dev", inside)
        for link in ("lo", inside):
            _ip("-n", self.namespace, "link", "set", link, "up")

    def start(self) -> None:
        """Start Ray here, under a host name of its own."""
        joining = ("--head", f"--port={PORT}", "--include-dashboard=false")
        if self.number > 1:
            joining = (f"--address={NETWORK}.1:{PORT}",)
        options = (
            f"--node-ip-address={self.address}",
            "--num-cpus=1",
            "--object-store-memory=80000000",
            f"--temp-dir={self._scratch}",
        )
        named = f'hostname node{self.number} && exec "$@"'
        command = [*self.entering(), "unshare", "--uts", "sh", "-c", named, "sh", str(self._ray), "start"]
        subprocess.run(
            [*command, *joining, *options],
            check=True,
            timeout=LONGEST_S,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "TLSTAX_TURN": f"node{self.number}"},
        )

    def entering(self) -> tuple[str, ...]:
        """What a command begins with that is to run here."""
        return ("ip", "netns", "exec", self.namespace)

    def processes(self) -> list[psutil.Process]:
        """All that run here."""
        return _running_in(self.namespace)

    def ours(self) -> list[psutil.Process]:
        """Those that are tlstax's: laboratories, servers, load clients."""
        return [process for process in self.processes() if not _is_rays(process)]

    def raylet(self) -> psutil.Process | None:
        """Ray's process for this node."""
        return next((process for process in self.processes() if _named(process) == "raylet"), None)

    def kill_all(self) -> None:
        """End whatever runs here."""
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):
                process.kill()


@contextmanager
def ray_nodes(count: int, ray: Path) -> Iterator[Sequence[RayNode]]:
    """N machines, joined by Ray; all of it is gone afterwards, and what was left by others before."""
    _remove_leftovers()
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as scratch:
        nodes = [RayNode(number, ray, Path(scratch)) for number in range(1, count + 1)]
        _ip("netns", "add", HUB)
        try:
            _ip("-n", HUB, "link", "add", BRIDGE, "type", "bridge")
            _ip("-n", HUB, "link", "set", BRIDGE, "up")
            for node in nodes:
                node.connect()
            for node in nodes:
                node.start()
            yield nodes
        finally:
            _remove_leftovers()


def _remove_leftovers() -> None:
    """End whatever runs on machines of this kind, and take them away."""
    listed = subprocess.run(["ip", "netns", "list"], check=True, capture_output=True, text=True).stdout
    for namespace in (line.split()[0] for line in listed.splitlines()):
        if namespace == HUB or namespace.startswith(NODE):
            for process in _running_in(namespace):
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            _ip("netns", "del", namespace)


def _running_in(namespace: str) -> list[psutil.Process]:
    listed = subprocess.run(["ip", "netns", "pids", namespace], check=True, capture_output=True, text=True)
    found = []
    for pid in listed.stdout.split():
        with suppress(psutil.NoSuchProcess):
            found.append(psutil.Process(int(pid)))
    return found


def _named(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.NoSuchProcess:
        return ""


def _is_rays(process: psutil.Process) -> bool:
    try:
        command = " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return True
    return not command or any(word in command for word in RAYS_OWN)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, timeout=LONGEST_S)
