"""Hostile servers against the laboratory's own connections: `python tests/campaigns/guests.py COUNT SEED`.

Every script of `hostile_scripts.py`, and COUNT random changes of recorded conversations with real servers,
drawn from SEED. Each visit must end in one sentence, with status 2 or 3 (0 where the change does no harm),
in time, and the password must not be sent. What was lost is printed, and makes the status 1.
"""

from __future__ import annotations

import io
import random
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass

from guest_visit import PASSWORD, access_to, impatient, visit
from hostile_scripts import ACCESS_DENIED, LOCAL_FILE, scripts
from recorded_guest import load
from scripted_server import Act, Place, Script, ScriptedServer

from tlstax.cli.exit import guarded

RECORDINGS = ("mysql-9.7", "mariadb-11.8")
LOGIN_S, STATEMENT_S = 0.2, 0.4
WITHIN_S = 12.0
"""A visit has some logins and the statements of leaving, each of which may have to be waited for in full."""

PATIENT_S = 60.0
"""For a login or a statement where no script is silent: on a busy machine the server itself may be slow."""

HARMLESS, THEIRS, OURS = 0, 2, 3


class Hung(BaseException):
    """It did not end in time."""


@dataclass(frozen=True)
class Outcome:
    """How one visit ended; `lost` says what must not be, empty where all is well."""

    status: int
    said: str
    lost: str
    took_s: float


def outcome(
    script: Script, recording: str, *, offers_tls: bool = False, answers_all: bool = False
) -> Outcome:
    """Let the laboratory visit a server that follows the script.

    It waits for answers only briefly, since scripts may be silent, unless the script `answers_all`.
    """
    server = ScriptedServer(load(recording), script, offers_tls=offers_tls)
    said, started = io.StringIO(), time.monotonic()
    status, hung = -1, False
    login_s, statement_s, within_s = LOGIN_S, STATEMENT_S, WITHIN_S
    if answers_all:
        login_s = statement_s = within_s = PATIENT_S
    with server.listening(), redirect_stderr(said), impatient(login_s, statement_s):
        signal.signal(signal.SIGALRM, _hang)
        signal.setitimer(signal.ITIMER_REAL, within_s)
        try:
            status = guarded(lambda: visit(access_to(server.port), _warn))
        except Hung:
            hung = True
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    took_s = time.monotonic() - started
    text = said.getvalue()
    return Outcome(status, text, _lost(status, text, server, hung=hung), took_s)


def _warn(words: str) -> None:
    sys.stderr.write(f"note: {words}\n")


def _hang(*_: object) -> None:
    raise Hung


def _lost(status: int, text: str, server: ScriptedServer, *, hung: bool) -> str:
    heard = b"".join(bytes(one) for one in server.heard)
    sentences = [line for line in text.splitlines() if not line.startswith("note: ")]
    checks = {
        "it hung": hung,
        "the password was sent": PASSWORD.encode() in heard or PASSWORD in text,
        "a file was sent": b"root:" in heard,
        "a defect in tlstax": "a defect in tlstax" in text,
        "a traceback": re.search(r"^Traceback|^  File ", text, re.MULTILINE) is not None,
        f"status {status}": status not in {HARMLESS, THEIRS, OURS},
        f"{len(sentences)} sentences": not hung and len(sentences) != (0 if status == HARMLESS else 1),
        "a sentence that is too long": any(len(line) > 1200 for line in text.splitlines()),
        "a sentence without a host": status in {THEIRS, OURS}
        and not re.search(r"127\.0\.0\.1|lent|table|workload", text),
    }
    return ", ".join(what for what, is_so in checks.items() if is_so)


CHANGES: dict[str, Callable[[random.Random, list[bytes]], Sequence[Act]]] = {}


def _change(function: Callable[[random.Random, list[bytes]], Sequence[Act]]) -> None:
    CHANGES[function.__name__.strip("_").replace("_", " ")] = function


@_change
def _changes_bytes(chance: random.Random, said: list[bytes]) -> Sequence[Act]:
    stream = bytearray(b"".join(said))
    for _ in range(chance.choice((1, 1, 2, 8))):
        stream[chance.randrange(len(stream))] = chance.choice(
            (0, 1, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF, chance.randrange(256))
        )
    return [bytes(stream)]


@_change
def _cuts_and_closes(chance: random.Random, said: list[bytes]) -> Sequence[Act]:
    stream = b"".join(said)
    return [stream[: chance.randrange(len(stream))], "close"]


@_change
def _cuts_and_waits(chance: random.Random, said: list[bytes]) -> Sequence[Act]:
    stream = b"".join(said)
    return [stream[: chance.randrange(len(stream))], "silence"]


@_change
def _leaves_a_packet_out(chance: random.Random, said: list[bytes]) -> Sequence[Act]:
    place = chance.randrange(len(said))
    return [*said[:place], *said[place + 1 :]]


@_change
def _says_a_packet_twice(chance: random.Random, said: list[bytes]) -> Sequence[Act]:
    place = chance.randrange(len(said))
    return [*said[: place + 1], *said[place:]]


@_change
def _shuffles(chance: random.Random, said: list[bytes]) -> Sequence[Act]:
    return chance.sample(said, len(said))


@_change
def _lies_about_a_length(chance: random.Random, said: list[bytes]) -> Sequence[Act]:
    place = chance.randrange(len(said))
    length = max(0, int.from_bytes(said[place][:3], "little") + chance.choice((-4, -1, 1, 3, 250, 1 << 20)))
    return [*said[:place], length.to_bytes(3, "little") + said[place][3:], *said[place + 1 :]]


@_change
def _counts_wrong(chance: random.Random, said: list[bytes]) -> Sequence[Act]:
    place = chance.randrange(len(said))
    return [
        *said[:place],
        said[place][:3] + bytes([chance.randrange(256)]) + said[place][4:],
        *said[place + 1 :],
    ]


@_change
def _breaks_in(chance: random.Random, said: list[bytes]) -> Sequence[Act]:
    place = chance.randrange(len(said) + 1)
    packet = chance.choice((ACCESS_DENIED, LOCAL_FILE))
    return [*said[:place], packet[:3] + bytes([(place + 1) % 256]) + packet[4:], *said[place:]]


@_change
def _adds_garbage(chance: random.Random, said: list[bytes]) -> Sequence[Act]:
    return [*said, chance.randbytes(chance.randrange(1, 200))]


def mutation(chance: random.Random, recording: str) -> tuple[str, Script]:
    """A change of one answer of the recorded conversation, and its name."""
    conversations = load(recording)
    number = chance.randrange(len(conversations))
    own = conversations[number]
    places = ["greeting", "login", *(said for said, packets in own.answers if packets)]
    where, time_said = chance.choice(places), chance.randrange(2)
    name, change = chance.choice(list(CHANGES.items()))
    own_chance = random.Random(chance.random())  # noqa: S311 - to be repeatable
    seen: Counter[Place] = Counter()

    def script(place: Place, packets: list[bytes]) -> Sequence[Act]:
        seen[place] += 1
        if place != Place(number, where) or not packets or seen[place] <= time_said % places.count(where):
            return packets
        return change(own_chance, packets)

    return f"connection {number}, {where[:50]!r}: it {name}", script


def main(count: int, seed: int) -> int:
    """Try all; the status."""
    chance = random.Random(seed)  # noqa: S311 - to be repeatable
    lost: list[str] = []
    statuses: Counter[int] = Counter()

    def tried(name: str, script: Script, recording: str, *, offers_tls: bool = False) -> None:
        ended = outcome(script, recording, offers_tls=offers_tls)
        statuses[ended.status] += 1
        if ended.lost:
            lost.append(
                f"{name} ({recording}): {ended.lost} [{ended.took_s:.1f} s] {ended.said.strip()[-600:]!r}"
            )
            sys.stdout.write(f"LOST  {lost[-1]}\n")
            sys.stdout.flush()

    for place, (name, script, offers_tls) in enumerate(scripts()):
        tried(name, script, RECORDINGS[place % 2], offers_tls=offers_tls)
    scripted = sum(statuses.values())
    sys.stdout.write(f"{scripted} scripts were tried\n")
    for number in range(count):
        recording = chance.choice(RECORDINGS)
        name, script = mutation(chance, recording)
        tried(f"change {number}: {name}", script, recording)
    sys.stdout.write(
        f"{count} changes of recorded conversations were tried (seed {seed}); of all, "
        f"{statuses[HARMLESS]} did no harm, {statuses[THEIRS]} ended with status 2, {statuses[OURS]} with "
        f"status 3, and {len(lost)} were lost\n"
    )
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
