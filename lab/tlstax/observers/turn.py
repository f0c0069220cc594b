"""One run measures at a time: whose turn it is on this machine, and who measures beside it all the same.

All runs pin servers and clients to the same processors. The turn is a Unix socket with an abstract name
(unix(7)): the kernel lets one process have it, of any user, and takes it back however that process ends. Who
waits is connected to it and is woken by its end; who goes on beside it says so with one byte. Runs in other
network namespaces are not seen.
"""

from __future__ import annotations

import contextlib
import errno
import os
import pwd
import socket
import struct
import time
from collections.abc import Callable, Iterator
from datetime import datetime

import psutil

from tlstax.support.untrusted import printable

VARIABLE = "TLSTAX_TURN"
"""Names another turn than the machine's: tests neither wait for a run nor are waited for."""

_BESIDE = b"+"
_CREDENTIALS = struct.Struct("3i")
"""Process, user and group, as SO_PEERCRED gives them of the listening process (unix(7))."""
_LONGEST_COMMAND = 60
_AGAIN_S = 0.02

Say = Callable[[str], None]


class Turn:
    """The right to measure on this machine, or the place beside the run that has it; make one with `turn`."""

    def __init__(self) -> None:
        self._address = f"\0tlstax/turn/{os.environ.get(VARIABLE, '')}".encode()[:100]
        self._own: socket.socket | None = None
        self._ahead: socket.socket | None = None
        self._came: dict[socket.socket, bool] = {}
        """Who is connected to our turn, and whether it measures; else it waits."""

    def wait(self, say: Say) -> None:
        """Return when it is this run's turn; `say` hears whose it is until then."""
        while not self._take():
            ahead = self._connected()
            if ahead is None:
                continue
            with ahead:
                say(
                    f"waiting, because another run measures on the same processors: {_who(ahead)}; Ctrl-C "
                    "ends the wait, --beside-others goes on at once"
                )
                _until_gone(ahead)

    def go_on(self, say: Say) -> None:
        """Return at once; where it is another run's turn, `say` hears whose, and that run will know."""
        while not self._take():
            if self._join():
                say(f"another run measures on the same processors: {_who(self._ahead)}; both will be noisier")
                return

    def others(self) -> bool:
        """Whether another run has measured beside this one at any time since this was last asked."""
        if self._ahead is not None:
            if _is_gone(self._ahead):
                self._ahead.close()
                self._ahead = None
                if not self._take():
                    self._join()
            return True
        return self._take() and self._anyone_beside()

    def close(self) -> None:
        """Let the next run have its turn. May be called twice."""
        for channel in (self._own, self._ahead, *self._came):
            if channel is not None:
                channel.close()
        self._own = self._ahead = None
        self._came = {}

    def _take(self) -> bool:
        """Whether it is this run's turn, now or already."""
        if self._own is not None:
            return True
        own = socket.socket(socket.AF_UNIX)
        try:
            own.bind(self._address)
            own.listen(socket.SOMAXCONN)
        except OSError as error:
            own.close()
            # Where such names are forbidden nobody can be seen, and nobody is waited for.
            return error.errno != errno.EADDRINUSE
        own.setblocking(False)
        self._own = own
        return True

    def _connected(self) -> socket.socket | None:
        """A connection to the run whose turn it is; None where it has just ended, or has just begun."""
        ahead = socket.socket(socket.AF_UNIX)
        try:
            ahead.connect(self._address)
        except ConnectionRefusedError:
            ahead.close()
            time.sleep(_AGAIN_S)
            return None
        except BaseException:
            ahead.close()
            raise
        return ahead

    def _join(self) -> bool:
        """Whether the run whose turn it is knows of this one."""
        self._ahead = self._connected()
        if self._ahead is not None:
            with contextlib.suppress(OSError):
                self._ahead.sendall(_BESIDE)
        return self._ahead is not None

    def _anyone_beside(self) -> bool:
        if self._own is None:
            return False
        with contextlib.suppress(BlockingIOError):
            while True:
                self._came[self._own.accept()[0]] = False
        beside = False
        for channel, measures in list(self._came.items()):
            received = _received(channel)
            self._came[channel] = measures or received == _BESIDE
            beside = beside or self._came[channel]
            if received == b"":
                channel.close()
                del self._came[channel]
        return beside


@contextlib.contextmanager
def turn(say: Say, *, beside_others: bool) -> Iterator[Turn]:
    """Wait for this run's turn, or with `beside_others` go on at once, and give it back at the end."""
    mine = Turn()
    try:
        if beside_others:
            mine.go_on(say)
        else:
            mine.wait(say)
        yield mine
    finally:
        mine.close()


def _received(channel: socket.socket) -> bytes | None:
    """What has come and is not read yet: None for nothing, empty where the other end is gone."""
    try:
        return channel.recv(1, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _is_gone(channel: socket.socket) -> bool:
    return _received(channel) == b""


def _until_gone(channel: socket.socket) -> None:
    with contextlib.suppress(ConnectionError):
        while channel.recv(1):
            pass


def _who(ahead: socket.socket | None) -> str:
    """Which process has the turn, whose it is, since when, and what it was started for."""
    if ahead is None:
        return "one that has just ended"
    credentials = ahead.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, user, _ = _CREDENTIALS.unpack(credentials)
    try:
        process = psutil.Process(pid)
        since, command = datetime.fromtimestamp(process.create_time()).astimezone(), process.cmdline()
    except (psutil.Error, ValueError):
        return f"process {pid}" if pid else "a process that cannot be seen from here"
    day = "" if since.date() == datetime.now().astimezone().date() else f"{since:%Y-%m-%d} "
    words = f"process {pid}{_owner(user)}, since {day}{since:%H:%M}"
    return f"{words} ({_command_words(command)})" if command else words


def _owner(user: int) -> str:
    if user == os.geteuid():
        return ""
    try:
        return f" of {pwd.getpwuid(user).pw_name}"
    except KeyError:
        return f" of user {user}"


def _command_words(command: list[str]) -> str:
    """What was typed, as far as it is short: "tlstax run --budget 60s"."""
    started = command[command.index("tlstax") :] if "tlstax" in command else command
    words = printable(" ".join(started))
    return words if len(words) <= _LONGEST_COMMAND else f"{words[: _LONGEST_COMMAND - 1]}…"
