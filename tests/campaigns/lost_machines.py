"""lost_machines.py [--team] COUNT SEED: kills parts of a run over three machines at random moments.

With --team the server is on one machine and the load comes from the two others; without, each measures
blocks of its own. In turn a raylet, the shim in its Ray worker, a node's laboratory, a load client and the
head are ended by kill -9, and the head by Ctrl-C. Whatever it was, no block may be in the store twice, or in
part and yet count, no process of ours may be left on any machine, and a run that was cut off must be resumed
to its end. Machines are network namespaces here (ray_nodes.py), for which it takes root.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil
from ray_nodes import PORT, RayNode, ray_nodes

from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.store import Store

LAUNCHER = Path(__file__).resolve().parents[2] / "tlstax"
STUDY = ("study", "run", "tax", "--set", "tls=off,1.3", "--set", "workload=point-select", "--budget", "15s")
PER_BLOCK = 3
MACHINES = 3
GONE_WITHIN_S = 40.0
LONGEST_S = 240.0
SERVER_ON, CLIENTS_ON = "node2", "node1,node3"
TEAM = ("--server-on", SERVER_ON, "--clients-on", CLIENTS_ON, "--trust-network")

Victim = Callable[[RayNode], psutil.Process | None]


def ours(*words: str) -> Victim:
    """The process of ours on a node in whose command line all of these words stand."""

    def found(node: RayNode) -> psutil.Process | None:
        for process in node.processes():
            try:
                command = " ".join(process.cmdline())
            except psutil.NoSuchProcess:
                continue
            if all(word in command for word in words):
                return process
        return None

    return found


VICTIMS: dict[str, Victim] = {
    "raylet": RayNode.raylet,
    "shim": ours("ray::Shim"),
    "laboratory": ours("-m tlstax node"),
    "load client": ours("tlstax-engine"),
}
AT_HEAD = {"head": signal.SIGKILL, "Ctrl-C": signal.SIGINT}


def main(count: int, seed: int, *, is_team: bool = False) -> int:
    """Exit status: 0 where nothing was lost, left or counted twice, else 1."""
    generator = random.Random(seed)  # noqa: S311 (moments, not secrets)
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="tlstax-") as data, ray_nodes(MACHINES, ray_command()) as nodes:
        os.environ.update({"XDG_DATA_HOME": data, "TLSTAX_TURN": "head"})
        for number in range(count):
            kind = [*VICTIMS, *AT_HEAD][number % (len(VICTIMS) + len(AT_HEAD))]
            found = _one(kind, nodes, generator, TEAM if is_team else ())
            wrong += found
            _say(f"{number + 1} of {count}: {kind}: {'; '.join(found) or 'nothing lost, left or twice'}")
        left = _files_left(nodes)
        wrong += left
        _say(f"files: {'; '.join(left) or 'none left'}")
    _say(f"{count} kills, {len(wrong)} wrong")
    return 1 if wrong else 0


def _one(kind: str, nodes: Sequence[RayNode], generator: random.Random, options: Sequence[str]) -> list[str]:
    run = subprocess.Popen(
        [
            *nodes[0].entering(),
            str(LAUNCHER),
            *STUDY,
            "--ray",
            f"{nodes[0].address}:{PORT}",
            *options,
            "--beside-others",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    before = _begun(run)
    time.sleep(generator.uniform(0.0, 8.0))
    killed = True
    if kind in AT_HEAD:
        run.send_signal(AT_HEAD[kind])
    else:
        killed = _kill(VICTIMS[kind], _where(kind, nodes, generator, is_team=bool(options)))
    words = run.communicate(timeout=LONGEST_S)[1]
    nothing_left = False
    wrong = _left(nodes) if killed else [f"there was no {kind} to be killed"]
    if kind in AT_HEAD:
        again = subprocess.run(
            [
                *nodes[0].entering(),
                str(LAUNCHER),
                *STUDY,
                "--resume",
                "last",
                "--ray",
                f"{nodes[0].address}:{PORT}",
                *options,
            ],
            check=False,
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
        )
        # It may have been killed when all was known, just before it said so.
        nothing_left = "nothing is left to do" in again.stderr
        if again.returncode and not nothing_left:
            wrong.append(f"resumed: status {again.returncode}: {again.stderr[-300:]}")
    elif run.returncode:
        wrong.append(f"status {run.returncode}: {before}{words[-300:]}")
    wrong += _losses(is_team=bool(options), may_be_cut_off=nothing_left)
    for node in nodes[1:]:
        if node.raylet() is None:
            node.kill_all()
            node.start()
    return wrong


def _begun(run: subprocess.Popen[str]) -> str:
    """What the run says until it measures."""
    words = ""
    if run.stderr is None:
        return words
    for line in run.stderr:
        words += line
        if ", trial " in line:
            break
    return words


def _kill(victim: Victim, node: RayNode) -> bool:
    """Whether there was one to kill."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        process = victim(node)
        if process is not None:
            process.kill()
            return True
        time.sleep(0.01)
    return False


def _left(nodes: Sequence[RayNode]) -> list[str]:
    """Processes of ours that do not go away."""
    deadline = time.monotonic() + GONE_WITHIN_S
    while left := [f"{node.namespace} has {process.name()}" for node in nodes for process in node.ours()]:
        if time.monotonic() > deadline:
            return left
        time.sleep(0.2)
    return []


def _files_left(nodes: Sequence[RayNode]) -> list[str]:
    """What the next start leaves of those that were killed, in the cache that all machines share here."""
    asking = [*nodes[0].entering(), str(LAUNCHER), "machines", "--ray", f"{nodes[0].address}:{PORT}"]
    subprocess.run(asking, check=True, stdout=subprocess.DEVNULL, timeout=LONGEST_S)
    places = ("sessions/*/", "incoming/*", "*/.*-*-*/")
    return [f"{path} is left" for place in places for path in sorted(_cache().glob(place))]


def _where(kind: str, nodes: Sequence[RayNode], generator: random.Random, *, is_team: bool) -> RayNode:
    """The machine on which something is killed; never the head's.

    Of a team, load clients are on the last one. Without Ray on the server's machine its run could only end.
    """
    if is_team and kind == "laboratory":
        return nodes[1]
    if is_team and kind in {"load client", "raylet"}:
        return nodes[2]
    return generator.choice(nodes[1:])


def _losses(*, is_team: bool, may_be_cut_off: bool) -> list[str]:
    """What is wrong with the blocks of the last run."""
    with Store.open(Path(os.environ["XDG_DATA_HOME"]) / "tlstax" / "store.sqlite") as store:
        run = store.load("last")
    wrong = []
    if run.status != "complete" and not may_be_cut_off:
        wrong.append(f"the run is {run.status}: {run.stopped_because}")
    wrong += [
        f"block {block} has {count} trials that were not broken off"
        for block, count in _kept(run).items()
        if count != PER_BLOCK
    ]
    for block in {record.trial.block for record in run.trials}:
        machines = {record.machine for record in run.trials if record.trial.block == block}
        if len(machines) != 1:
            wrong.append(f"block {block} was measured on {', '.join(sorted(machines))}")
    measuring = {SERVER_ON} if is_team else {f"node{number}" for number in range(1, MACHINES + 1)}
    if set(run.header.machines) != measuring:
        wrong.append(f"measured by {', '.join(run.header.machines)} alone")
    return wrong


def _kept(run: StoredRun) -> Counter[int]:
    """How many trials each block has that was not broken off; a trial of it may be invalid by itself."""
    return Counter(record.trial.block for record in run.trials if not _is_broken_off(record))


def _is_broken_off(record: TrialRecord) -> bool:
    return any(reason.startswith("its block was broken off") for reason in record.verdict.reasons)


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tlstax"


def ray_command() -> Path:
    """Ray's command in the environment that the launcher makes for it.

    The other environment, in which machines measure, is made too: they have no network to make it by.
    """
    subprocess.run([str(LAUNCHER), "study", "list"], check=True, capture_output=True)
    subprocess.run([str(LAUNCHER), "run", "--ray", "127.0.0.1:9"], check=False, capture_output=True)
    found = sorted(_cache().glob("environments/*/bin/ray"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise SystemExit("the launcher has not made an environment with Ray")
    return found[-1]


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--team"]
    sys.exit(main(*map(int, words), is_team="--team" in sys.argv))
