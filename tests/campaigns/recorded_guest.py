"""Conversations with real servers as they were recorded: what each answered to which statement.

A recording is made anew with `python tests/campaigns/recorded_guest.py PORT NAME` where a server listens at
127.0.0.1:PORT that has the account and the schema of `guest_visit.py`.
"""

from __future__ import annotations

import json
import re
import socket
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

RECORDED = Path(__file__).parent / "recorded"
HEADER_BYTES = 4
COM_QUERY = 3
Said = list[tuple[str, bytes]]
CLIENT_SSL = 0x08
"""In the second byte of the greeting's capability flags."""


@dataclass
class Conversation:
    """One connection's: the packets of the greeting and the login, then each statement with its answer."""

    opening: list[bytes] = field(default_factory=list)
    answers: list[tuple[str, list[bytes]]] = field(default_factory=list)


def load(name: str) -> list[Conversation]:
    """The conversations of a recorded visit, in the order in which the connections were made."""
    document = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    return [
        Conversation(
            [bytes.fromhex(packet) for packet in one["opening"]],
            [(said, [bytes.fromhex(packet) for packet in packets]) for said, packets in one["answers"]],
        )
        for one in document
    ]


def without_chance(statement: str) -> str:
    """The statement without the numbers that are drawn anew in every run."""
    return re.sub(r"[0-9a-f]{16,}", "#", statement)[:400]


def without_place(packet: bytes) -> bytes:
    """The packet without the directory that the recorded server had on this machine, as long as it was."""
    return re.sub(rb"/[!-~]*/sessions/[0-9a-f]+/", lambda path: b"/srv" + b"/" * (len(path[0]) - 4), packet)


def packets_of(stream: bytes) -> tuple[list[bytes], bytes]:
    """The whole packets at the beginning of a stream, their headers with them, and what is left."""
    packets = []
    while len(stream) >= HEADER_BYTES:
        end = HEADER_BYTES + int.from_bytes(stream[:3], "little")
        if len(stream) < end:
            break
        packets.append(stream[:end])
        stream = stream[end:]
    return packets, stream


def statement_of(command: bytes) -> str:
    """The words of a COM_QUERY, the number of another command."""
    if command[0] != COM_QUERY:
        return f"command {command[0]}"
    return without_chance(command[1:].decode("utf-8", "replace"))


def offering(greeting: bytes, *, tls: bool) -> bytes:
    """The greeting of a server that offers TLS or does not, as somebody in between could change it."""
    flags = greeting.index(b"\0", HEADER_BYTES + 1) + 1 + 4 + 8 + 1
    changed = bytearray(greeting)
    changed[flags + 1] = changed[flags + 1] | CLIENT_SSL if tls else changed[flags + 1] & ~CLIENT_SSL
    return bytes(changed)


def _relay(client: socket.socket, port: int, said: Said) -> None:
    """Pass everything on, packet by packet; `said` gets the server's packets and the client's commands."""
    server = socket.create_connection(("127.0.0.1", port))

    def carry_back() -> None:
        rest = b""
        while data := server.recv(65536):
            whole, rest = packets_of(rest + data)
            for packet in whole:
                one = packet if said else offering(packet, tls=False)
                said.append(("server", one))
                client.sendall(one)

    back = threading.Thread(target=carry_back)
    back.start()
    rest = b""
    while data := client.recv(65536):
        whole, rest = packets_of(rest + data)
        for packet in whole:
            if packet[3] == 0:
                said.append(("client", packet[HEADER_BYTES:]))
            server.sendall(packet)
    server.shutdown(socket.SHUT_WR)
    back.join()


def _record(port: int) -> list[Conversation]:
    from guest_visit import access_to, visit  # noqa: PLC0415 - the other way round when it is replayed

    heard: list[Said] = []
    threads = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                heard.append([])
                threads.append(threading.Thread(target=_relay, args=(client, port, heard[-1])))
                threads[-1].start()

        threading.Thread(target=serve, daemon=True).start()
        visit(access_to(listener.getsockname()[1]), print)
        listener.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()
    return [_conversation(said) for said in heard]


def _conversation(said: Said) -> Conversation:
    conversation = Conversation()
    for who, packet in said:
        if who == "client":
            conversation.answers.append((statement_of(packet), []))
        elif conversation.answers:
            conversation.answers[-1][1].append(packet)
        else:
            conversation.opening.append(packet)
    return conversation


if __name__ == "__main__":
    document = [
        {
            "opening": [packet.hex() for packet in one.opening],
            "answers": [
                [said, [without_place(packet).hex() for packet in packets]] for said, packets in one.answers
            ],
        }
        for one in _record(int(sys.argv[1]))
    ]
    (RECORDED / f"{sys.argv[2]}.json").write_text(json.dumps(document, indent=0) + "\n", encoding="utf-8")
