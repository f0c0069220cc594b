"""A server's process on another machine, read over ssh by a program of ours that leaves nothing there.

The program is sent over the standard input of a shell, into a file that has lost its name before its first
byte arrives, and executed from its descriptor; it ends with the connection. ssh is the user's own, with
their configuration, agent and known hosts; TLSTAX_SSH names another command. What it says is described in
`engine/crates/watch`.
"""

from __future__ import annotations

import os
import re
import selectors
import shlex
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple, Self

from tlstax.observers.counters import Reading, Readings
from tlstax.observers.process import Clock, CpuReading, Threads
from tlstax.records.window import CpuSource
from tlstax.support.credentials import quoted
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.support.text import natural

SSH_VARIABLE = "TLSTAX_SSH"
"""The command that is ssh, with its options, as a shell reads it; `ssh` where it is not set."""

START_TIMEOUT_S, ANSWER_TIMEOUT_S = 60.0, 15.0
"""How long to wait until the program runs there (a password may have to be typed), and for each answer."""

LONGEST_ANSWER_BYTES = 16 << 20
"""More than the use of a process with a hundred thousand threads takes in words."""

_SHELL = (
    'for folder in "${{TMPDIR:-/tmp}}" /dev/shm /var/tmp; do '
    'file=$(mktemp "$folder/tlstax.XXXXXXXX" 2>/dev/null) || continue; '
    'chmod 700 "$file"; [ -x "$file" ] && break; rm -f "$file"; file=; done; '
    '[ -n "$file" ] || {{ echo "error: no folder there may hold a program"; exit 1; }}; '
    'exec 3>"$file" 4<"$file"; rm -f "$file"; '
    "head -c {size} >&3; exec 3>&-; exec /proc/self/fd/4 {arguments}"
)
"""What the shell there does. A file without a name is freed with its last descriptor, whatever ends first."""

_FIRST = re.compile(r"watching (?:(group|ticks) )?([0-9]{1,10}) ([0-9]{1,10}) ?(.*)")

_SOURCES: dict[str | None, CpuSource] = {"group": "control group", "ticks": "ticks"}


class SshHost(NamedTuple):
    """Where the server runs: what ssh is told to connect to, and its port (None: ssh's own choice)."""

    host: str
    port: int | None = None

    def __str__(self) -> str:
        return f"ssh://{self.host}{f':{self.port}' if self.port else ''}"


def parsed(text: str) -> SshHost:
    """From `ssh://[user@]host[:port]`. Raises UserMistake."""
    found = re.fullmatch(r"ssh://((?:[^@/:\s-][^@/:\s]*@)?[^@/:\s-][^@/:\s]*)(?::([0-9]{1,5}))?/?", text)
    if found is None or (found[2] and not 0 < int(found[2]) < 1 << 16):
        raise UserMistake(
            f"--server-host: {quoted(text)} is not the address of a host",
            remedy="write it like ssh://db.example",
        )
    return SshHost(found[1], int(found[2]) if found[2] else None)


@dataclass(frozen=True)
class ConnectionEnds:
    """A connection to the server: the client's address and port as the server sees them, and its own port."""

    client: str
    server_port: int


class FarUse(NamedTuple):
    """What a process has used so far, as the same things are read of one here; `processes` are 1 or more."""

    cpu: CpuReading
    threads: Threads
    counters: Readings
    processes: int = 1


class FarProcess:
    """The process at the server's end of a connection; leaving the `with` block ends the program there.

    Where the server has a process for each connection it is all of them, `pid` the first. `cpu_source` says
    what tells their CPU time then, and is None of one process.
    """

    def __init__(self, host: SshHost, program: Path, ends: ConnectionEnds) -> None:
        """Start it. MachineFault where ssh fails or the process is not to be found there."""
        self._host = host
        command = shlex.split(os.environ.get(SSH_VARIABLE, "ssh")) or ["ssh"]
        port = [] if host.port is None else ["-p", str(host.port)]
        arguments = shlex.join([ends.client, str(ends.server_port)])
        shell = _SHELL.format(size=program.stat().st_size, arguments=arguments)
        full = [*command, "-T", *port, host.host, f"exec sh -c {shlex.quote(shell)}"]
        try:
            self._ssh = subprocess.Popen(full, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        except OSError as error:
            remedy = f"install it, or name another command in {SSH_VARIABLE}"
            raise MachineFault(f"{command[0]} cannot be started ({error.strerror})", remedy=remedy) from error
        self._buffer = b""
        try:
            os.set_blocking(_stream(self._ssh.stdin).fileno(), False)
            self._send(program.read_bytes(), START_TIMEOUT_S)
            self.cpu_source, self.pid, self.processors, self.name = self._introduced()
        except BaseException:
            self.close()
            raise

    def check_there(self) -> None:
        """MachineFault where the program there no longer answers."""
        self._asked("clock")

    def cpu_us(self) -> float:
        """Microseconds of CPU time that the process has used. MachineFault where it can no longer be read."""
        return self._asked("clock") / 1e3

    def rss_bytes(self) -> int:
        """Its resident memory. MachineFault as above."""
        return self._asked("memory")

    def use(self) -> FarUse:
        """All that is known of what it has used so far. MachineFault as above."""
        self._send(b"use\n")
        return _use_of(self._answer(ANSWER_TIMEOUT_S), self._host)

    def close(self) -> None:
        """End the program there, and ssh."""
        for stream in (self._ssh.stdin, self._ssh.stdout):
            # What was not sent yet goes to nobody.
            with suppress(OSError):
                _stream(stream).close()
        try:
            self._ssh.wait(ANSWER_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._ssh.kill()
            self._ssh.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _introduced(self) -> tuple[CpuSource | None, int, int, str]:
        """What it says first: the process, how many processors that machine has for it, and its name.

        Before these, what tells the CPU time of several processes.
        """
        first = _FIRST.fullmatch(self._answer(START_TIMEOUT_S))
        if first is None:
            raise MachineFault(f"what answers at {self._host} is not tlstax's own program")
        return _SOURCES.get(first[1]), int(first[2]), int(first[3]), first[4]

    def _asked(self, question: str) -> int:
        self._send(f"{question}\n".encode())
        answer = self._answer(ANSWER_TIMEOUT_S)
        number = natural(answer)
        if number is None:
            raise MachineFault(f"{self._host} says {answer[:80]!r} where a number was asked for")
        return number

    def _send(self, data: bytes, timeout_s: float = ANSWER_TIMEOUT_S) -> None:
        """MachineFault where nobody there reads it in time."""
        until = time.monotonic() + timeout_s
        descriptor, left = _stream(self._ssh.stdin).fileno(), memoryview(data)
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_WRITE)
            while left:
                if not selector.select(max(0.0, until - time.monotonic())):
                    raise MachineFault(f"{self._host} took nothing for {timeout_s:g} s")
                try:
                    left = left[os.write(descriptor, left) :]
                except OSError as error:
                    raise self._lost() from error

    def _answer(self, timeout_s: float) -> str:
        """The next line. MachineFault where none comes in time, or it says what is wrong."""
        until = time.monotonic() + timeout_s
        output = _stream(self._ssh.stdout)
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if not selector.select(max(0.0, until - time.monotonic())):
                    raise MachineFault(f"{self._host} did not answer within {timeout_s:g} s")
                more = os.read(output.fileno(), 4096)
                if not more:
                    raise self._lost()
                self._buffer += more
                if len(self._buffer) > LONGEST_ANSWER_BYTES:
                    raise MachineFault(f"{self._host} says {self._buffer[:40]!r} and more without an end")
        line, _, self._buffer = self._buffer.partition(b"\n")
        text = line.decode(errors="replace")
        if text.startswith("error: "):
            raise MachineFault(f"{self._host}: {text.removeprefix('error: ')}")
        return text

    def _lost(self) -> MachineFault:
        return MachineFault(
            f"the connection to {self._host} was lost",
            remedy=f"see that `ssh {self._host.host}` works, and that a program may run there",
        )


class FarClock(Clock):
    """That of a process on another machine, read in a round trip to it; the server rests meanwhile."""

    clients_read_it = False

    def __init__(self, process: FarProcess) -> None:
        self._process = process

    @property
    def is_known(self) -> bool:
        """There is one, or the process would not have been found."""
        return True

    def read_us(self) -> float:
        """Microseconds so far. MachineFault where it can no longer be read."""
        return self._process.cpu_us()


def _use_of(line: str, host: SshHost) -> FarUse:
    """From a line of words NAME=VALUE. MachineFault where it is none."""
    try:
        known = dict(word.split("=") for word in line.split())
        switches = {
            _number(name.partition(".")[2]): _number(own) for name, own in known.items() if "." in name
        }
        return FarUse(
            cpu=CpuReading(
                total_us=_number(known["clock"]) / 1e3,
                user_ticks=_number(known["user"]),
                system_ticks=_number(known["system"]),
            ),
            threads=Threads(switches, page_faults=_number(known["faults"])),
            counters={
                name: Reading(*map(_number, own.split("/"))) for name, own in known.items() if "/" in own
            },
            processes=_number(known.get("processes", "1")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise MachineFault(f"{host} says {line[:80]!r} where what the server used was asked for") from error


def _number(text: str) -> int:
    """ValueError where it is none."""
    number = natural(text)
    if number is None:
        raise ValueError(text[:80])
    return number


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise RuntimeError("ssh was started without its streams")
    return stream
