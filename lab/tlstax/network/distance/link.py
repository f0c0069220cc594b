"""`tlstax-tools link`, built with the engine: delays packets where the kernel cannot, measures round trips.

It runs on the client's processors. There it takes time from the client alone, which is waiting for packets
anyway; on the server's it would take it from what is measured. No clock is read here.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tlstax.clients.engine import tool_command
from tlstax.plan.addresses import CLOSED_PORT, FAR_ADDRESS
from tlstax.records.way import LinkUse, RoundTripTime
from tlstax.specimens.processes import Launch, mortal, put_first, start
from tlstax.specimens.sessions import Session
from tlstax.study.factors import Distance
from tlstax.support.errors import MachineFault
from tlstax.support.plain_words import reason

NAME = "tlstax-tools link"

ANSWER_TIMEOUT_S = 10.0

_USE: TypeAdapter[LinkUse] = TypeAdapter(LinkUse)


def link_command() -> list[str]:
    """The command that starts the program; MachineFault where it has not been built."""
    return tool_command("link")


class Link:
    """The running program, between two devices; `close` ends it.

    It is started anew with the next distance when it has died. MachineFault from all but `close` when it does
    not come up or does not answer.
    """

    def __init__(self, session: Session, devices: tuple[int, ...], cpus: tuple[int, ...]) -> None:
        self._session = session
        self._cpus = cpus
        self._devices = devices
        self._directory = session.new_directory()
        self._child: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._distance = Distance()
        self._start()

    def set(self, distance: Distance) -> None:
        """Make the distance this one, from the next packet on."""
        if not self.is_alive():
            self._start()
        self._distance = distance
        self.used()

    def used(self) -> LinkUse:
        """What was carried since this or `set` was asked last, and how late."""
        distance = self._distance
        told = {
            "rtt_ms": distance.rtt_ms,
            "jitter_ms": distance.jitter_ms,
            "rate_mbit": distance.rate_mbit,
        }
        answer = self._asked(json.dumps(told))
        try:
            return _USE.validate_json(answer)
        except ValidationError:
            raise MachineFault(f"the link that makes the distance reports {answer.strip()!r}") from None

    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._child is not None and self._child.poll() is None

    def close(self) -> None:
        """End it and remove its directory. May be called twice."""
        self._end()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _end(self) -> None:
        control, self._control = self._control, None
        child, self._child = self._child, None
        if control is not None:
            control.close()
        if child is not None:
            child.kill()
            child.wait()
            self._session.forget(child.pid)

    def _start(self) -> None:
        self._end()
        path, log = self._directory / "link.sock", self._directory / "link.log"
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
            listening.listen(1)
            command = [*link_command(), "carry", f"--socket={path}"]
            launch = Launch(command, log, dict(os.environ), self._cpus)
            self._child = start(launch, self._session.record)
            # A wire waits for nobody; a network card interrupts whoever runs.
            put_first(self._child.pid)
            listening.settimeout(ANSWER_TIMEOUT_S)
            try:
                control, _ = listening.accept()
            except TimeoutError:
                self._end()
                raise MachineFault(f"{NAME} does not start: {_end_of(log)}") from None
        control.settimeout(ANSWER_TIMEOUT_S)
        socket.send_fds(control, [b"\0"], self._devices)
        self._control = control

    def _asked(self, line: str) -> str:
        answer = b""
        try:
            if self._control is not None:
                self._control.sendall(line.encode() + b"\n")
                while not answer.endswith(b"\n") and (more := self._control.recv(4096)):
                    answer += more
        except OSError:
            answer = b""
        if not answer:
            said = _end_of(self._directory / "link.log")
            raise MachineFault(f"the link that makes the distance has ended{f': {said}' if said else ''}")
        return answer.decode()


def _end_of(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    return lines[-1] if lines else ""


SAMPLES = 9
SAMPLES_WITH_JITTER = 49

GRACE_S = 10.0

_FOUND: TypeAdapter[RoundTripTime] = TypeAdapter(RoundTripTime)


def measure_round_trip(entering: Sequence[str], distance: Distance) -> RoundTripTime:
    """The round trip time from the place that is entered so. MachineFault where the far one is silent."""
    samples = SAMPLES_WITH_JITTER if distance.jitter_ms else SAMPLES
    timeout_s = GRACE_S + 2 * distance.rtt_ms / 1000
    words = [
        "rtt",
        f"--to={FAR_ADDRESS}",
        f"--port={CLOSED_PORT}",
        f"--samples={samples}",
        f"--timeout-s={timeout_s}",
    ]
    command = mortal([*entering, *link_command(), *words])
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            put_first(child.pid)
            try:
                out, err = child.communicate(timeout=timeout_s + GRACE_S)
            finally:
                child.kill()
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineFault(f"the round trip could not be measured ({reason(error)})") from error
    if child.returncode:
        said = err.decode(errors="replace").strip().removeprefix(f"{NAME}: ")
        raise MachineFault(f"the round trip could not be measured ({said or f'status {child.returncode}'})")
    try:
        return _FOUND.validate_json(out)
    except ValidationError as error:
        raise MachineFault("the round trip could not be measured (what was printed is not a time)") from error
