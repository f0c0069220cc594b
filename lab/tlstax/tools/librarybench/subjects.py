"""What is measured of a library, in which order libraries take turns, and what a bench observed. Pure.

Measured are handshakes, records, signatures and key exchanges. The program is engine/crates/library_bench;
it is told and says a JSON a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from random import Random
from typing import Annotated, Literal, NamedTuple, cast

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from tlstax.contract import Frozen
from tlstax.plan.order import shuffled
from tlstax.records.trial import Machine, Specimen
from tlstax.results.document import RunDocument
from tlstax.study.level_names import CERTIFICATES, Level, key_of
from tlstax.support.errors import UserMistake
from tlstax.support.text import closest

Kind = Literal["handshake", "record", "signature", "exchange"]
Version = Literal["1.2", "1.3"]
Side = Literal["server", "client"]

KINDS: tuple[Kind, ...] = ("handshake", "record", "signature", "exchange")
SIDES: tuple[Side, ...] = ("server", "client")

CIPHERS: dict[str, dict[Version, str]] = {
    "AES-128-GCM": {"1.3": "TLS_AES_128_GCM_SHA256", "1.2": "ECDHE+AES128+AESGCM"},
    "AES-256-GCM": {"1.3": "TLS_AES_256_GCM_SHA384", "1.2": "ECDHE+AES256+AESGCM"},
    "ChaCha20-Poly1305": {"1.3": "TLS_CHACHA20_POLY1305_SHA256", "1.2": "ECDHE+CHACHA20"},
}
"""The ciphers by name, and how OpenSSL is asked for them (openssl-ciphers(1))."""

DONE_BY: Mapping[str, Mapping[str, str]] = {
    "handshake": {"server": "server", "client": "client"},
    "record": {"server": "open", "client": "seal"},
    "signature": {"server": "sign", "client": "verify"},
    "exchange": {"server": "derive", "client": "derive"},
}
"""What either side does."""


class Choice(NamedTuple):
    """An option: the field of a subject that it chooses, its level where nothing is said, all of them.

    Where none are known, any will do. The field of a `switch` says whether its second level is chosen.
    """

    field: str
    first: Level
    known: Sequence[str] = ()
    switch: bool = False

    def of_subject(self, level: Level) -> tuple[str, Level]:
        """The field, and what it is at this level."""
        return self.field, level == self.known[1] if self.switch else level

    def level_of(self, subject: Subject) -> Level:
        """The subject's level."""
        value: Level = getattr(subject, self.field)
        return self.known[bool(value)] if self.switch else value


CHOICES: Mapping[str, Choice] = {
    "tls": Choice("version", "1.3", ("1.3", "1.2")),
    "certificate": Choice("certificate", "rsa-2048", CERTIFICATES),
    "group": Choice("group", "P-256"),
    "cipher": Choice("cipher", "AES-128-GCM", tuple(CIPHERS)),
    "size": Choice("size_bytes", 16384),
    "resumption": Choice("resumed", "off", ("off", "on"), switch=True),
    "context": Choice("fresh_context", "one", ("one", "each"), switch=True),
}
"""By the names of the options."""

CONCERNED: Mapping[Kind, Sequence[str]] = {
    "handshake": ("tls", "resumption", "certificate", "group", "context"),
    "record": ("tls", "cipher", "size"),
    "signature": ("certificate",),
    "exchange": ("group",),
}
"""The options that make a difference to each kind."""


class Subject(Frozen):
    """One thing to measure; of a kind that has no such thing, a field is None.

    `certificate` is one of CERTIFICATES, `group` a key exchange group in OpenSSL's words, `cipher` one of
    CIPHERS. With `fresh_context` the client makes a context for each connection, and reads its authorities.
    """

    kind: Kind
    version: Version | None = None
    resumed: bool = False
    certificate: str | None = None
    group: str | None = None
    cipher: str | None = None
    size_bytes: PositiveInt | None = None
    fresh_context: bool = False

    @property
    def label(self) -> str:
        """For example "TLS 1.3 handshake, RSA 2048, P-256"."""
        key = key_of(self.certificate) if self.certificate else ""
        if self.kind == "handshake":
            how = "resumed handshake" if self.resumed else "handshake"
            contexts = ", a context each" if self.fresh_context else ""
            return f"TLS {self.version} {how}, {key}, {self.group}{contexts}"
        if self.kind == "record":
            return f"TLS {self.version} record, {self.cipher}, {size_words(self.size_bytes or 0)}"
        return f"signature, {key}" if self.kind == "signature" else f"key exchange, {self.group}"

    @property
    def levels(self) -> dict[str, Level]:
        """What it is, by the names of the options that choose it."""
        own = CONCERNED[self.kind]
        levels = {name: choice.level_of(self) for name, choice in CHOICES.items() if name in own}
        return {"measure": self.kind, **levels}


def _handshake(
    version: Version, certificate: str, group: str, *, resumed: bool = False, fresh_context: bool = False
) -> Subject:
    return Subject(
        kind="handshake",
        version=version,
        certificate=certificate,
        group=group,
        resumed=resumed,
        fresh_context=fresh_context,
    )


def _record(cipher: str, size_bytes: int) -> Subject:
    return Subject(kind="record", version="1.3", cipher=cipher, size_bytes=size_bytes)


USUAL: tuple[Subject, ...] = (
    _handshake("1.3", "rsa-2048", "P-256"),
    _handshake("1.3", "ec-p256", "P-256"),
    _handshake("1.3", "ec-p256", "X25519"),
    _handshake("1.3", "ed25519", "X25519"),
    _handshake("1.3", "rsa-2048", "P-256", resumed=True),
    _handshake("1.3", "rsa-2048", "P-256", fresh_context=True),
    _handshake("1.2", "rsa-2048", "P-256"),
    _handshake("1.2", "rsa-2048", "P-256", resumed=True),
    _record("AES-128-GCM", 16),
    _record("AES-128-GCM", 1024),
    _record("AES-128-GCM", 16384),
    _record("AES-256-GCM", 16384),
    _record("ChaCha20-Poly1305", 16384),
    *(Subject(kind="signature", certificate=key) for key in ("rsa-2048", "ec-p256", "ed25519")),
    *(Subject(kind="exchange", group=group) for group in ("P-256", "X25519")),
)
"""What is measured where nothing else is asked for."""


def subjects(asked: Mapping[str, Sequence[Level]]) -> tuple[Subject, ...]:
    """What is to be measured: the usual of the kinds that were named or, where levels were, all of those.

    `asked` has the levels by the names of options, kinds by `measure`. An option of which nothing was said
    has its first level. UserMistake for a level that does not exist, or one that none of the kinds has.
    """
    for option, named in asked.items():
        known = KINDS if option == "measure" else CHOICES[option].known
        for level in named if known else ():
            if level not in known:
                raise UserMistake(
                    f"--{option}: there is no {level!r}{closest(str(level), known)}",
                    remedy=f"allowed are {', '.join(known)}",
                )
    kinds = cast("tuple[Kind, ...]", asked.get("measure", KINDS))
    chosen = [option for option in asked if option != "measure"]
    if not chosen:
        return tuple(subject for subject in USUAL if subject.kind in kinds)
    for option in chosen:
        if not any(option in CONCERNED[kind] for kind in kinds):
            raise UserMistake(
                f"--{option} makes no difference to {' or '.join(_WORDS[kind] for kind in kinds)}",
                remedy="leave it out, or name with --measure what it concerns",
            )
    concerned = [kind for kind in kinds if "measure" in asked or set(chosen).intersection(CONCERNED[kind])]
    return tuple(subject for kind in concerned for subject in _crossed(kind, asked))


_WORDS: dict[Kind, str] = {
    "handshake": "handshakes",
    "record": "records",
    "signature": "signatures",
    "exchange": "key exchanges",
}


def _crossed(kind: Kind, asked: Mapping[str, Sequence[Level]]) -> Iterator[Subject]:
    choices = {option: CHOICES[option] for option in CONCERNED[kind]}
    for levels in product(*(asked.get(option, (choice.first,)) for option, choice in choices.items())):
        fields = (choice.of_subject(level) for choice, level in zip(choices.values(), levels, strict=True))
        yield Subject.model_validate({"kind": kind, **dict(fields)})


def size_words(size_bytes: int) -> str:
    """16 B, 1 KiB, 16 KiB."""
    return f"{size_bytes // 1024} KiB" if size_bytes % 1024 == 0 else f"{size_bytes} B"


SLICE_S = 0.01
"""How long a slice lasts: a few handshakes, or thousands of records."""

ROUNDS = 8
"""How many slices each library has of a subject in a block. What differs from block to block, the place of
code and data in memory, is not told by more of them."""


class Sitting(Frozen):
    """A subject in one block: `rounds` has the libraries, by their place, in the order of their slices."""

    block: NonNegativeInt
    number: NonNegativeInt
    subject: NonNegativeInt
    rounds: tuple[tuple[int, ...], ...]


def blocks(subjects: Sequence[Subject], libraries: int, seed: int) -> Iterator[tuple[Sitting, ...]]:
    """Blocks without end: in each the subjects in random order, and the rounds of each in random order."""
    generator = Random(seed)  # noqa: S311 (an order, not a secret)
    places = range(libraries)
    block = 0
    while True:
        order = enumerate(shuffled(range(len(subjects)), generator))
        yield tuple(
            Sitting(
                block=block,
                number=number,
                subject=subject,
                rounds=tuple(tuple(shuffled(places, generator)) for _ in range(ROUNDS)),
            )
            for number, subject in order
        )
        block += 1


class Negotiated(Frozen):
    """What a subject's connection agreed on; all None where it has none."""

    version: str | None = None
    cipher: str | None = None
    group: str | None = None
    resumed: bool | None = None


class Prepared(Frozen):
    """A subject that is ready, or the reason why the library cannot do it."""

    ready: Negotiated | None = None
    refused: str = ""


class Ready(Frozen):
    """The library is loaded and its subjects are set up, in the job's order."""

    type: Literal["ready"]
    pid: PositiveInt
    version: str
    libssl: str
    libcrypto: str
    subjects: tuple[Prepared, ...]


class Slice(Frozen):
    """What was done in a slice, and what it cost either side, in microseconds of CPU time."""

    type: Literal["slice"]
    operations: PositiveInt
    elapsed_s: NonNegativeFloat
    client_cpu_us: NonNegativeFloat
    server_cpu_us: NonNegativeFloat


class Error(Frozen):
    """Why it goes no further."""

    type: Literal["error"]
    message: str


Said = Annotated[Ready | Slice | Error, Field(discriminator="type")]


class Order(Frozen):
    """Work on a subject, by its place in the job: for so long, or exactly N operations."""

    subject: NonNegativeInt
    length_s: NonNegativeFloat = 0.0
    operations: PositiveInt | None = None


Status = Literal["complete", "interrupted", "failed"]


class Library(Frozen):
    """A library that took part: what it says of itself, and the files that were mapped, with their checksums.

    `subjects` has what each subject's connection agreed on, `refused` why the library cannot do one.
    """

    name: str
    version: str
    libssl_sha256: str
    libcrypto_sha256: str
    subjects: tuple[Negotiated | None, ...]
    refused: tuple[str, ...]


class Turns(Frozen):
    """The slices of a sitting, those of each library by its place, in the order of the rounds."""

    sitting: Sitting
    slices: tuple[tuple[Slice, ...], ...]


class Instructions(Frozen):
    """Instructions of an operation, both sides together, of a library by its place, and the atomic ones."""

    subject: NonNegativeInt
    library: NonNegativeInt
    per_operation: NonNegativeFloat
    atomic_per_operation: NonNegativeFloat


class Taker(Frozen):
    """A function of a file that takes locks, and how many for an operation."""

    library: str
    function: str
    per_operation: NonNegativeFloat


class Locks(Frozen):
    """Who takes locks for one side of an operation of a library by its place, most first."""

    subject: NonNegativeInt
    library: NonNegativeInt
    side: Side
    takers: tuple[Taker, ...]


class Run(Frozen):
    """A bench of libraries: what was asked, and every complete block of it.

    All programs were bound to `cpu`, one at a time at work (None: to none). The last of `libraries` is the
    first once more, as a control. `beside` is a run that they are set beside.
    """

    started_at: str
    tlstax_version: str
    seed: int
    budget_s: float
    machine: Machine
    cpu: int | None
    subjects: tuple[Subject, ...]
    libraries: tuple[Library, ...]
    specimens: tuple[Specimen, ...] = ()
    beside: RunDocument | None = None
    turns: tuple[Turns, ...] = ()
    instructions: tuple[Instructions, ...] = ()
    counted_by: str = ""
    locks: tuple[Locks, ...] = ()
    status: Status = "complete"
    why: str = ""
    beside_another: bool = False
