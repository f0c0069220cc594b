"""Benches of libraries with exact numbers: what each costs is planted, and every slice shows it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from tlstax.records.trial import Machine
from tlstax.tools.librarybench.subjects import Library, Negotiated, Run, Slice, Subject, Turns, blocks

HANDSHAKE = Subject(kind="handshake", version="1.3", certificate="rsa-2048", group="P-256")
SIGNATURE = Subject(kind="signature", certificate="ed25519")
EXCHANGE = Subject(kind="exchange", group="X25519")

SERVER_US, CLIENT_US = 400.0, 200.0

MACHINE = Machine(
    cpu_model="a processor",
    cores=2,
    memory_bytes=2**30,
    kernel="6.1",
    distribution="Debian",
    virtualization=None,
)


def library(name: str, *, subjects: int, refuses: int | None = None) -> Library:
    """A library that can do N subjects, but for one."""
    able = [None if number == refuses else Negotiated(version="TLSv1.3") for number in range(subjects)]
    reasons = ["it has no such key" if number == refuses else "" for number in range(subjects)]
    return Library(
        name=name,
        version="OpenSSL 3.5.5",
        libssl_sha256="a" * 64,
        libcrypto_sha256="b" * 64,
        subjects=tuple(able),
        refused=tuple(reasons),
    )


def bench(
    factors: Sequence[float],
    subjects: Sequence[Subject] = (HANDSHAKE,),
    *,
    drift: float = 0.0,
    refuses: int | None = None,
    number_of_blocks: int = 6,
) -> Run:
    """A bench in which each library costs the server this many times the first one's 400 µs.

    The machine gets slower by `drift` from slice to slice, and one slice in nine takes three times as long.
    The second library refuses the subject `refuses`.
    """
    libraries = [
        library(
            f"library-{place}",
            subjects=len(subjects),
            refuses=refuses if place == 1 else None,
        )
        for place in range(len(factors))
    ]
    turns, done = list[Turns](), 0
    for block in islice(blocks(subjects, len(factors), seed=1), number_of_blocks):
        for sitting in block:
            slices: list[list[Slice]] = [[] for _ in factors]
            for place in (place for round_ in sitting.rounds for place in round_):
                if libraries[place].subjects[sitting.subject] is None:
                    continue
                done += 1
                times = (1 + drift * done) * (3.0 if done % 9 == 0 else 1.0)
                slices[place].append(_slice(SERVER_US * factors[place] * times, CLIENT_US * times))
            turns.append(Turns(sitting=sitting, slices=tuple(map(tuple, slices))))
    return Run(
        started_at="2026-11-25T00:00:00+00:00",
        tlstax_version="0.1.0",
        seed=1,
        budget_s=60.0,
        machine=MACHINE,
        cpu=1,
        subjects=tuple(subjects),
        libraries=tuple(libraries),
        turns=tuple(turns),
    )


def _slice(server_us: float, client_us: float) -> Slice:
    return Slice(
        type="slice",
        operations=20,
        elapsed_s=20 * (server_us + client_us) / 1e6,
        client_cpu_us=20 * client_us,
        server_cpu_us=20 * server_us,
    )


def called(run: Run, *names: str) -> Run:
    """The same, whose libraries have these names."""
    libraries = [
        one.model_copy(update={"name": name}) for one, name in zip(run.libraries, names, strict=True)
    ]
    return run.model_copy(update={"libraries": tuple(libraries)})
