"""A server that replays a recorded conversation but for what a script changes, and notes what it is sent."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

from recorded_guest import HEADER_BYTES, Conversation, offering, packets_of, statement_of

Act = bytes | Literal["close", "silence", "endless", "drip"]
"""Bytes to send, or: hang up, be silent, say the last bytes for ever, say their first one slowly."""

OK = b"\x07\0\0\1\0\0\0\2\0\0\0"
PATIENCE_S, DROP_S = 20.0, 0.02
_SIGN = re.compile(rb"tlstax ([a-z -]{1,60}) [0-9a-f]{16}-[0-9a-f]{32}")
"""A signed comment of ours: its words, by which the recorded one is found that it stands for."""


@dataclass(frozen=True)
class Place:
    """Where in the conversation an answer stands: `greeting`, `login`, or the statement that it is for."""

    connection: int
    what: str


Script = Callable[[Place, list[bytes]], Sequence[Act]]
"""What is said in place of these packets."""


@dataclass
class ScriptedServer:
    """It listens at `port`; `heard` has what each connection sent."""

    conversations: list[Conversation]
    script: Script
    offers_tls: bool = False
    port: int = 0
    heard: list[bytearray] = field(default_factory=list)
    _signs: dict[bytes, bytes] = field(default_factory=dict)
    _done: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def listening(self) -> Iterator[ScriptedServer]:
        """Serve in threads of its own until the block ends."""
        threads: list[threading.Thread] = []
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]

            def serve() -> None:
                with suppress(OSError):
                    while True:
                        channel, _ = listener.accept()
                        self.heard.append(bytearray())
                        arguments = (channel, len(self.heard) - 1)
                        threads.append(threading.Thread(target=self._serve, args=arguments, daemon=True))
                        threads[-1].start()

            accepting = threading.Thread(target=serve, daemon=True)
            accepting.start()
            try:
                yield self
            finally:
                self._done.set()
                listener.shutdown(socket.SHUT_RDWR)
                accepting.join()
                for thread in threads:
                    thread.join(PATIENCE_S)

    def _serve(self, channel: socket.socket, number: int) -> None:
        with channel, suppress(OSError):
            channel.settimeout(0.1)
            channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            own = self.conversations[min(number, len(self.conversations) - 1)]
            greeting, *verdicts = own.opening
            self._say(channel, Place(number, "greeting"), [offering(greeting, tls=self.offers_tls)])
            said: dict[str, int] = {}
            for place, command in enumerate(self._commands(channel, number)):
                if place == 0:
                    self._say(channel, Place(number, "login"), verdicts)
                    continue
                if command[3] != 0:
                    continue
                statement = statement_of(command[HEADER_BYTES:] or b"\0")
                said[statement] = said.get(statement, 0) + 1
                if (sign := _SIGN.search(command)) is not None:
                    self._signs[sign[1]] = sign[0]
                packets = self._answer(own, statement, said[statement])
                self._say(channel, Place(number, statement), packets)

    def _commands(self, channel: socket.socket, number: int) -> Iterator[bytes]:
        """What the client sends, packet by packet, until it hangs up or the server is to end."""
        rest = b""
        while not self._done.is_set():
            try:
                data = channel.recv(65536)
            except TimeoutError:
                continue
            if not data:
                return
            self.heard[number] += data
            whole, rest = packets_of(rest + data)
            yield from whole

    def _answer(self, own: Conversation, statement: str, time_said: int) -> list[bytes]:
        for conversation in (own, *self.conversations):
            found = [packets for said, packets in conversation.answers if said == statement]
            if found:
                packets = found[min(time_said, len(found)) - 1]
                return [_SIGN.sub(self._sign_for, packet) for packet in packets]
        return [OK]

    def _sign_for(self, recorded: re.Match[bytes]) -> bytes:
        """The sign that we made in this visit; the recorded one is of another key."""
        return self._signs.get(recorded[1], recorded[0])

    def _say(self, channel: socket.socket, place: Place, packets: list[bytes]) -> None:
        last = b"\0"
        for act in self.script(place, packets):
            if act == "close":
                channel.shutdown(socket.SHUT_RDWR)
            elif act == "silence":
                self._listen_until_done(channel, place.connection)
            elif act == "endless":
                while not self._done.is_set():
                    channel.sendall(last * (1 + 65536 // len(last)))
            elif act == "drip":
                while not self._done.wait(DROP_S):
                    channel.sendall(last[:1])
            elif isinstance(act, bytes):
                last = act
                channel.sendall(act)

    def _listen_until_done(self, channel: socket.socket, number: int) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not self._done.is_set() and time.monotonic() < deadline:
            with suppress(TimeoutError):
                data = channel.recv(65536)
                if not data:
                    return
                self.heard[number] += data


def packet(payload: bytes, sequence: int = 1) -> bytes:
    """A payload with its header."""
    return len(payload).to_bytes(3, "little") + bytes([sequence]) + payload


def faithful(_place: Place, packets: list[bytes]) -> Sequence[Act]:
    """As it was recorded."""
    return packets
