"""The studies of `predict`: mixes that bring its parts here, and mixes that its model has not seen. Pure."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from math import exp, log
from typing import NamedTuple

from pydantic import ValidationError

from tlstax.study import Study, load_study
from tlstax.study.level_names import CERT, DEFAULT_AUTH, DIRECT, Level, authority_key
from tlstax.study.mixes import CHEAPEST_KEY, VERSIONS, Mix
from tlstax.study.server_abilities import product_named
from tlstax.study.tls_levels import version_of

CALIBRATION = "calibration"

BUDGET_S = 24.0
"""Of measuring; its three servers take some ten seconds to start beforehand."""

CELLS = (
    Mix(tls="off", statements=1, answer_bytes=120),
    Mix(tls="off", statements=8, answer_bytes=120),
    Mix(tls="off", statements=8, answer_bytes=15_000),
    Mix(statements=1, answer_bytes=120),
    Mix(statements=8, answer_bytes=120),
    Mix(statements=8, answer_bytes=15_000),
    Mix(tls="1.2", statements=1, answer_bytes=120),
    Mix(resumption="on", statements=1, answer_bytes=120),
    Mix(group="default", statements=1, answer_bytes=120),
    Mix(certificate="rsa-4096", statements=1, answer_bytes=120),
    Mix(certificate=CHEAPEST_KEY, statements=1, answer_bytes=120),
)
"""Mixes of the study `components` that tell a connection, statements, bytes, handshakes and keys apart: what
a processor is faster or slower at by itself. Each key is a server process, which takes seconds to start."""

POSTGRESQL_CELLS = (
    *(own.but(product="postgresql") for own in CELLS if own.resumption == "off"),
    Mix(product="postgresql", tls="off", auth="trust", statements=1, answer_bytes=120),
    Mix(product="postgresql", tls="off", protocol="prepared", statements=8, answer_bytes=120),
)
"""The same of `postgres-components`, with an account that proves nothing, and with prepared statements."""


def calibration_mixes(server: str) -> tuple[Mix, ...]:
    """The mixes that bring parts to this server."""
    return POSTGRESQL_CELLS if product_named(server) == "postgresql" else CELLS


def calibration_study(server: str, budget_s: float = BUDGET_S) -> Study:
    """The study of the components with these mixes alone, on this server."""
    cells = calibration_mixes(server)
    components = "components" if cells is CELLS else "postgres-components"
    fields = load_study(components).model_dump() | {
        "name": CALIBRATION,
        "title": "How fast this machine is at the parts of a connection",
        "question": "What do a few connections cost here that were measured on another machine as well?",
        "treatments": tuple(mix.levels() for mix in cells),
        "baseline": cells[0].levels(),
        "factors": {"server": (server,), "connections": (1, 4)},
        "budget_s": budget_s,
        "precision": 0.005,
        "minimum_blocks": 2,
    }
    return Study.model_validate(fields)


VALIDATION = "validation"

FARTHEST_MS, NEAREST_MS = 40.0, 1.0

LARGEST_AWAY_BYTES, LARGEST_CARRIED_BYTES = 15_000, 15_000
"""Of answers at a distance, where larger ones take further round trips, and through a path: as far as the
parts go."""

MOST_BYTES_EACH, MOST_COMPRESSED_EACH = 4 << 20, 128 << 10
"""Of all answers on one connection: with more, too few connections fit in a slice, which are fewer where the
server compresses them."""

SHARE_AWAY = 4
"""One in this many mixes is measured at a distance, where trials take much longer."""


class DrawnMix(NamedTuple):
    """A mix and how far its client is away."""

    mix: Mix
    rtt_ms: float

    def levels(self) -> dict[str, Level]:
        """The levels of its case."""
        return {**self.mix.levels(), "rtt_ms": self.rtt_ms}


def drawn(known: Sequence[Mix], count: int, seed: int, *, with_distance: bool) -> tuple[DrawnMix, ...]:
    """N mixes within the range of the known ones, none of which is one of them, nor drawn twice.

    Keys, chains, clients' certificates, groups and compressions are drawn from those that are known,
    statements and bytes on a scale of logarithms, so that small ones come as often as large ones.
    """
    # Nothing secret is drawn, and the same seed draws the same mixes.
    chance = random.Random(seed)  # noqa: S311
    found: list[DrawnMix] = []
    while len(found) < count:
        mix = _possible(known, chance)
        away = with_distance and len(found) % SHARE_AWAY == SHARE_AWAY - 1
        if away and mix.path != DIRECT:
            continue
        if away and mix.answer_bytes > LARGEST_AWAY_BYTES:
            continue
        rtt_ms = round(_between(chance, NEAREST_MS, FARTHEST_MS), 1) if away else 0.0
        most = MOST_BYTES_EACH if mix.compression == "off" else MOST_COMPRESSED_EACH
        if mix.statements * mix.answer_bytes > most:
            continue
        if mix not in known and mix not in [own.mix for own in found]:
            found.append(DrawnMix(mix, rtt_ms))
    return tuple(found)


def _possible(known: Sequence[Mix], chance: random.Random) -> Mix:
    """One that can be: not every key goes with every group in TLS 1.2."""
    while True:
        with suppress(ValidationError):
            if known[0].product == "postgresql":
                return _drawn_at_postgresql(known, chance)
            return _drawn(known, chance)


def _drawn(known: Sequence[Mix], chance: random.Random) -> Mix:
    statements = [own.statements for own in known]
    sizes = [own.answer_bytes for own in known]
    tls = chance.choice(("off", "1.2", "1.3", "1.3"))
    encrypted = tls != "off"
    paths = () if encrypted else sorted({own.path for own in known})
    path = chance.choice(paths or (DIRECT,))
    largest = max(sizes) if path == DIRECT else min(max(sizes), LARGEST_CARRIED_BYTES)
    algorithms = sorted({own.compression for own in known} - {"off"}) if path == DIRECT else []
    resumption = chance.choice(("off", "off", "on")) if encrypted else "off"
    certificate = chance.choice(sorted({own.certificate for own in known}))
    is_full = encrypted and resumption == "off"
    proves = sorted({own.client_certificate for own in known if own.certificate == certificate})
    return Mix.model_validate(
        {
            "tls": tls,
            "certificate": certificate,
            "chain": chance.choice(_chains(known, certificate)) if is_full else 1,
            "client_certificate": chance.choice(proves) if is_full else "off",
            "group": chance.choice(sorted({own.group for own in known if own.tls == tls}) or ["P-256"]),
            "resumption": resumption,
            "auth": chance.choice(sorted({own.auth for own in known if own.path == path})),
            "path": path,
            "compression": chance.choice(("off", "off", *algorithms)) if algorithms else "off",
            "statements": round(_between(chance, min(statements), max(statements))),
            "answer_bytes": round(_between(chance, min(sizes), largest)),
        }
    )


def _drawn_at_postgresql(known: Sequence[Mix], chance: random.Random) -> Mix:
    statements = [own.statements for own in known]
    sizes = [own.answer_bytes for own in known]
    begun = [level for level in VERSIONS["postgresql"] if level in {own.tls for own in known}]
    tls = chance.choice((*begun, "1.3"))
    encrypted, version = tls != "off", version_of(tls)
    path = DIRECT if encrypted else chance.choice(sorted({own.path for own in known}))
    certificate = chance.choice(sorted({own.certificate for own in known}))
    alike = [
        own
        for own in known
        if own.path == path
        and (own.tls != "off") == encrypted
        and (own.auth != CERT or own.certificate == certificate)
    ]
    auth = chance.choice(sorted({own.auth for own in alike}))
    proves = {own.client_certificate for own in alike if (own.certificate, own.auth) == (certificate, auth)}
    largest = max(sizes) if path == DIRECT else min(max(sizes), LARGEST_CARRIED_BYTES)
    protocols = sorted({own.protocol for own in known if own.path == path}, reverse=True)
    return Mix.model_validate(
        {
            "product": "postgresql",
            "tls": tls,
            "certificate": certificate,
            "chain": chance.choice(_chains(known, certificate)) if encrypted else 1,
            "client_certificate": chance.choice(sorted(proves or {"off"})),
            "group": chance.choice(sorted({own.group for own in known if own.version == version})),
            "auth": auth,
            "path": path,
            "protocol": chance.choice(("text", *protocols)),
            "statements": round(_between(chance, min(statements), max(statements))),
            "answer_bytes": round(_between(chance, min(sizes), largest)),
        }
    )


def _chains(known: Sequence[Mix], certificate: str) -> list[int]:
    """The lengths of chains that are known of authorities with such keys, and one certificate alone."""
    key = authority_key(certificate)
    return sorted({1, *(own.chain for own in known if authority_key(own.certificate) == key)})


def _between(chance: random.Random, low: float, high: float) -> float:
    return exp(chance.uniform(log(low), log(high)))


def references(known: Sequence[Mix]) -> tuple[DrawnMix, ...]:
    """Known mixes that are measured beside new ones: how fast the machine is now shows in them.

    The first of each TLS version, on one server process, nothing resumed.
    """
    plain = [
        own
        for own in known
        if (own.certificate, own.resumption) == (known[0].certificate, "off")
        and (own.chain, own.client_certificate) == (1, "off")
        and (own.auth, own.path, own.compression) == (DEFAULT_AUTH, DIRECT, "off")
        and own.protocol == "text"
    ]
    first = {own.tls: own for own in reversed(plain)}
    return tuple(DrawnMix(own, 0.0) for own in plain if own in first.values())


def validation_study(
    components: Study, reference: Sequence[DrawnMix], mixes: Sequence[DrawnMix], budget_s: float
) -> Study:
    """The study of the components, with these mixes in place of its own; they are compared with the first."""
    levels = [own.levels() for own in (*reference, *mixes)]
    fields = components.model_dump() | {
        "name": VALIDATION,
        "title": "Mixes drawn at random",
        "question": "Do connections cost what the sum of their parts says?",
        "treatments": tuple(levels),
        "baseline": levels[0],
        "budget_s": budget_s,
        "precision": 0.002,
    }
    return Study.model_validate(fields)
