"""Every trick on one driver, with each of the words that it has for TLS."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tlstax.contract import TcpEndpoint
from tlstax.run.bench import Bench
from tlstax.specimens.certificates import CertificateRequest, Certificates, issue
from tlstax.specimens.processes import NO_LOCALHOST
from tlstax.support.errors import MachineFault
from tlstax.tools.probes.drivers.asking import Ask, done_at
from tlstax.tools.probes.drivers.attacked import TRICKS, Attack, Outcome, TlsAsked, Trick
from tlstax.tools.probes.drivers.hostile_wire import HostileWire

WORDS: tuple[TlsAsked, ...] = ("unset", "required", "verified")
"""What drivers are given for TLS: nothing, that there must be some, and that there must be some and who is to
answer."""


@dataclass(frozen=True)
class Ambush:
    """What is needed to attack drivers: their server, a certificate of nobody, and a file to ask for."""

    bench: Bench
    certificates: Certificates
    wanted_file: Path


def made_ambush(bench: Bench, directory: Path) -> Ambush:
    """An ambush whose files lie in this directory, and go with it."""
    place = directory / "hostile"
    place.mkdir(mode=0o700, exist_ok=True)
    request = CertificateRequest(key="ec-p256", addresses=(NO_LOCALHOST,))
    wanted = place / "wanted.txt"
    wanted.write_text(f"nobody is to send this: {secrets.token_hex(16)}\n", encoding="utf-8")
    return Ambush(bench, issue(place, request), wanted)


def attacks(ask: Ask, command: Sequence[str], ambush: Ambush) -> Iterator[Attack]:
    """Each trick that the driver lets come to: where it does not go on without TLS, nothing is asked there.

    Raises MachineFault where the server cannot be reached by TCP.
    """
    for tls in WORDS:
        asked = replace(ask, tls=tls, operations=1, trusted=False)
        goes_on = False
        for trick in TRICKS:
            if trick not in {"offer taken away", "certificate of nobody"} and not goes_on:
                continue
            found = _attack(asked, command, ambush, trick)
            goes_on = goes_on or (found is not None and found.outcome == "went on")
            if found is not None:
                yield found


def _attack(ask: Ask, command: Sequence[str], ambush: Ambush, trick: Trick) -> Attack | None:
    """One trick; None where it did not come to it: a driver that begins no TLS is shown no certificate."""
    endpoint, account = ambush.bench.terms.endpoint, ask.account or ambush.bench.terms.account
    if not isinstance(endpoint, TcpEndpoint):
        raise MachineFault("a hostile wire can be put only before a server's TCP port")
    wire = HostileWire(endpoint, trick, account.password, ambush.certificates, ambush.wanted_file)
    with wire.listening() as entry:
        refusal = done_at(ask, command, ambush.bench, entry)
    if trick == "certificate of nobody" and not wire.began_tls:
        return None
    return Attack(
        tls=ask.tls,
        trick=trick,
        outcome=_outcome(wire, trick),
        words=refusal,
        frames=tuple(wire.frames),
    )


def _outcome(wire: HostileWire, trick: Trick) -> Outcome:
    for gift in ("password", "file", "hash"):
        if gift in wire.gifts:
            return gift
    return "went on" if wire.logins and trick == "offer taken away" else "refused"
