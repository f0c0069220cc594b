"""Faults and variants of our own: small C libraries that are loaded into a server before all others."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from tlstax.specimens.recipe import CSource, Kind, Recipe
from tlstax.study.level_names import BURN, COUNT_LOCKS, GROUPS_LIFTED
from tlstax.support.checksums import sha256_of

SOURCES = Path(__file__).parent / "faults"
"""Where their sources are; each says at its top what it imitates and whom it reaches."""

MARK = "libtlstax-"
"""How their files' names begin, by which one is seen in a process's memory map."""


def _checksum(file: str) -> str:
    """Of the file, and of the headers that it may include."""
    parts = (SOURCES / file, *sorted(SOURCES.glob("*.h")))
    return sha256("".join(map(sha256_of, parts)).encode()).hexdigest()


def _compiled(name: str, kind: Kind, title: str, file: str, stands_for: str) -> Recipe:
    """A recipe that a changed source makes another one, so that an outdated library is never used."""
    return Recipe(
        name=name,
        title=title,
        kind=kind,
        version="1",
        source=CSource(file=file, sha256=_checksum(file), stands_for=stands_for),
        program=f"{MARK}{kind}-{name}.so",
        bytes_needed=1_000_000,
    )


FAULTS = (
    _compiled(
        "rand-per-byte",
        "fault",
        "random numbers of a login drawn one byte at a time, as in MySQL 5.6.6",
        "rand_per_byte.c",
        "RAND_bytes",
    ),
    _compiled(
        BURN,
        "fault",
        "CPU time burned in each answer in plaintext, as much as is asked for",
        "burn.c",
        "send",
    ),
    _compiled(
        GROUPS_LIFTED,
        "variant",
        "a server that agrees on any key exchange group that its TLS library has",
        "groups_lifted.c",
        "SSL_CTX_ctrl",
    ),
    _compiled(
        COUNT_LOCKS,
        "variant",
        "a server whose locks are counted, with who takes them",
        "count_locks.c",
        "pthread_mutex_lock",
    ),
)
