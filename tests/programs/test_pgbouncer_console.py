"""The admin console of PgBouncer, asked over a Unix socket: its answers, and what is made of none."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tlstax.network.paths.pgbouncer import console_rows


def message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack(">I", 4 + len(body)) + body


READY = message(b"Z", b"I")
LOGGED_IN = message(b"R", bytes(4)) + READY


class Console:
    """A socket that lets one client in, and answers its query with these bytes."""

    def __init__(self, file: Path, login: bytes, answer: bytes) -> None:
        self._listener, self._said = socket.socket(socket.AF_UNIX), (login, answer)
        self._listener.bind(str(file))
        self._listener.listen()
        self.asked: list[bytes] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        end, _ = self._listener.accept()
        with end:
            for said in self._said:
                self.asked.append(end.recv(4096))
                with suppress(BrokenPipeError):
                    end.sendall(said)

    def ended(self) -> list[bytes]:
        self._thread.join(10)
        self._listener.close()
        return self.asked


def test_the_console_answers_in_rows(tmp_path: Path) -> None:
    row = struct.pack(">H", 3) + struct.pack(">i", 2) + b"ab" + struct.pack(">i", -1) + struct.pack(">i", 0)
    answer = message(b"T", b"") + message(b"D", row) + message(b"C", b"SHOW\0") + READY
    console = Console(tmp_path / "s", LOGGED_IN, answer)
    assert console_rows(tmp_path / "s", "SHOW SERVERS") == [("ab", "", "")]
    login, query = console.ended()
    assert login == struct.pack(">II", 40, 3 << 16) + b"user\0tlstax\0database\0pgbouncer\0\0"
    assert query == message(b"Q", b"SHOW SERVERS\0")


@pytest.mark.parametrize("login", [message(b"E", b"SFATAL\0\0"), b"", b"Z\0\0"])
def test_a_console_that_lets_nobody_in_answers_nothing(tmp_path: Path, login: bytes) -> None:
    console = Console(tmp_path / "s", login, b"")
    assert console_rows(tmp_path / "s", "RECONNECT") is None
    console.ended()
    assert console_rows(tmp_path / "none", "RECONNECT") is None
