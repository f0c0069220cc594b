"""One adapter of a driver, told to open a connection, to say a statement and to close (drivers/ADAPTERS.md).

The host of drivers (`tlstax-tools driver`) ends a job at the first connection that fails; a probe has many
fail on purpose, one after the other, in one process.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from tlstax.contract import Account, TcpEndpoint
from tlstax.specimens.processes import mortal
from tlstax.support.errors import MachineFault
from tlstax.tools.probes.postgres_drivers.words import Word

STATEMENT = "SELECT 'asked by tlstax'"
"""The one statement that drivers are given: all others are their own."""

STARTS_WITHIN_S = 120.0
ANSWERS_WITHIN_S = 15.0
"""On a busy machine; what is silent on purpose ends before."""

ENDS_WITHIN_S = 5.0
READ_BYTES = 1 << 16
NO_HOME = "/dev/null"


class Answer(NamedTuple):
    """What the driver answered: nothing where it did as told, else its own words; of what kind."""

    kind: str = ""
    words: str = ""

    @property
    def done(self) -> bool:
        """Whether it did as it was told."""
        return not self.kind


class Told(NamedTuple):
    """What an adapter is told at its beginning: the driver's name, where to, as whom, and of TLS."""

    name: str
    endpoint: TcpEndpoint
    account: Account
    word: Word
    ca_file: str
    options: Mapping[str, str] = {}


class Adapter:
    """An adapter's process with one connection; a context manager, at whose end it is gone."""

    def __init__(self, command: Sequence[str], told: Told) -> None:
        """Start it. MachineFault where it does not start, or refuses what it is told."""
        self._name = told.name
        self._password = told.account.password
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        self._buffer = b""
        try:
            self._process = subprocess.Popen(
                mortal(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=(orders, answers),
                env=_environment(told.ca_file if told.word.mode != "on" else None),
                start_new_session=True,
            )
        finally:
            os.close(orders)
            os.close(answers)
        try:
            self._begin(told, orders, answers)
        except BaseException:
            self.end()
            raise

    def _begin(self, told: Told, orders: int, answers: int) -> None:
        terms = {
            "name": told.name,
            "channels": [[orders, answers]],
            "endpoint": {"kind": "tcp", "host": told.endpoint.host, "port": told.endpoint.port},
            "account": told.account.model_dump(include={"user", "password", "database"}),
            "tls": told.word.tls(told.ca_file),
            "options": {**told.word.own_options(told.ca_file), **told.options},
            "on_connect": [],
            "reconnect": False,
            "calls": [{"pieces": [STATEMENT], "types": "", "prepared": False, "reads": True}],
            "batch": 1,
        }
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("an adapter was started without pipes")
        stdin.write(json.dumps(terms).encode() + b"\n")
        stdin.flush()
        answer = self._line(stdout.fileno(), STARTS_WITHIN_S)
        if answer is None:
            raise MachineFault(f"the adapter of {self._name} did not start")
        failure = _answer(answer, self._password)
        if not failure.done:
            raise RefusedWord(failure)

    def open(self) -> Answer:
        """Open a connection."""
        return self._order(b"open\n")

    def say(self) -> Answer:
        """Say the statement, and read what is answered."""
        body = STATEMENT.encode()
        return self._order(b"rows -1 %d\n" % len(body) + body)

    def close(self) -> Answer:
        """Close the connection by the driver's own call."""
        return self._order(b"close\n")

    @property
    def is_usable(self) -> bool:
        """Whether it still takes orders."""
        return self._process.poll() is None

    def _order(self, order: bytes) -> Answer:
        """Give an order; an adapter that does not answer it is ended."""
        try:
            os.write(self._orders, order)
        except OSError:
            self.end()
            return Answer("internal", "the driver's process ended")
        line = self._line(self._answers, ANSWERS_WITHIN_S)
        if line is None:
            gone = self._process.poll() is not None
            self.end()
            return Answer("timeout", "the driver's process ended" if gone else "it did not come to an end")
        return _answer(line, self._password)

    def _line(self, channel: int, within_s: float) -> bytes | None:
        """The next line that is answered; None where there is none in time."""
        deadline = time.monotonic() + within_s
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([channel], [], [], max(0.0, deadline - time.monotonic()))
            data = os.read(channel, READ_BYTES) if ready else b""
            if not data:
                self._buffer = b""
                return None
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def end(self) -> None:
        """End it, whatever it does; a second time does nothing."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process.kill()
        self._process.wait(ENDS_WITHIN_S)
        for channel in (self._orders, self._answers):
            if channel >= 0:
                os.close(channel)
        self._orders = self._answers = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


class RefusedWord(Exception):
    """The driver does not take what it is told: it has no such word."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.words)
        self.answer = answer


def _environment(trusted: str | None) -> dict[str, str]:
    """As a host has it for PostgreSQL: without the user's variables and home, trusting that authority."""
    known = {name: text for name, text in os.environ.items() if not name.startswith("PG")}
    known["HOME"] = NO_HOME
    if trusted is not None:
        known |= {"SSL_CERT_FILE": trusted, "SSL_CERT_DIR": "/dev/null", "NODE_EXTRA_CA_CERTS": trusted}
    return known


def _answer(line: bytes, password: str) -> Answer:
    try:
        answer: Any = json.loads(line)
        failure = answer.get("failure")
    except (ValueError, AttributeError):
        return Answer("internal", "its adapter answered no JSON")
    if not failure:
        return Answer()
    words = " ".join(str(failure.get("words", "")).split()).replace(password, "(the password)")
    return Answer(str(failure.get("kind", "internal")), words)
