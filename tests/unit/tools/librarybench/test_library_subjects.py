"""What is measured of libraries: the usual, or every combination of what was asked for."""

from __future__ import annotations

from itertools import islice

import pytest

from tlstax.study import Level
from tlstax.support.errors import UserMistake
from tlstax.tools.librarybench.measure import LibraryJob
from tlstax.tools.librarybench.subjects import KINDS, ROUNDS, USUAL, blocks, subjects


def labels(**asked: tuple[Level, ...]) -> list[str]:
    return [subject.label for subject in subjects(asked)]


def test_the_usual_is_measured_where_nothing_is_asked_for() -> None:
    assert subjects({}) == USUAL
    assert {subject.kind for subject in USUAL} == set(KINDS)
    assert labels(measure=("exchange",)) == ["key exchange, P-256", "key exchange, X25519"]


def test_levels_are_crossed_and_what_is_not_named_has_its_first() -> None:
    assert labels(measure=("handshake",), certificate=("rsa-2048", "ed25519"), resumption=("off", "on")) == [
        "TLS 1.3 handshake, RSA 2048, P-256",
        "TLS 1.3 handshake, ED25519, P-256",
        "TLS 1.3 resumed handshake, RSA 2048, P-256",
        "TLS 1.3 resumed handshake, ED25519, P-256",
    ]
    assert labels(measure=("record",), size=(16, 2048), cipher=("AES-256-GCM",)) == [
        "TLS 1.3 record, AES-256-GCM, 16 B",
        "TLS 1.3 record, AES-256-GCM, 2 KiB",
    ]


def test_a_client_may_make_a_context_for_each_connection() -> None:
    assert labels(context=("one", "each")) == [
        "TLS 1.3 handshake, RSA 2048, P-256",
        "TLS 1.3 handshake, RSA 2048, P-256, a context each",
    ]


def test_a_level_brings_what_it_concerns_and_nothing_else() -> None:
    assert labels(group=("X25519",)) == ["TLS 1.3 handshake, RSA 2048, X25519", "key exchange, X25519"]
    assert labels(certificate=("ec-p384",)) == [
        "TLS 1.3 handshake, EC P-384, P-256",
        "signature, EC P-384",
    ]
    assert labels(size=(100,)) == ["TLS 1.3 record, AES-128-GCM, 100 B"]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"measure": ("handshakes",)}, "--measure: there is no 'handshakes' (did you mean 'handshake'?)"),
        ({"certificate": ("rsa",)}, "--certificate: there is no 'rsa'"),
        ({"tls": ("1.1",)}, "--tls: there is no '1.1'"),
        ({"cipher": ("AES",)}, "--cipher: there is no 'AES'"),
        ({"resumption": ("maybe",)}, "--resumption: there is no 'maybe'"),
        ({"context": ("none",)}, "--context: there is no 'none'"),
        (
            {"measure": ("signature", "exchange"), "size": (16,)},
            "--size makes no difference to signatures or key exchanges",
        ),
    ],
)
def test_what_there_is_not_is_refused(asked: dict[str, tuple[Level, ...]], sentence: str) -> None:
    with pytest.raises(UserMistake) as refused:
        subjects(asked)
    assert refused.value.message.startswith(sentence)


def test_every_block_has_all_subjects_and_every_round_all_libraries() -> None:
    first, second = islice(blocks(USUAL, 3, seed=7), 2)
    for number, block in enumerate((first, second)):
        assert sorted(sitting.subject for sitting in block) == list(range(len(USUAL)))
        assert [sitting.number for sitting in block] == list(range(len(USUAL)))
        assert {sitting.block for sitting in block} == {number}
        for sitting in block:
            assert len(sitting.rounds) == ROUNDS
            assert all(sorted(libraries) == [0, 1, 2] for libraries in sitting.rounds)
    assert [s.subject for s in first] != [s.subject for s in second]
    assert first != next(blocks(USUAL, 3, seed=8))
    assert first == next(blocks(USUAL, 3, seed=7))


def test_the_program_hears_of_exchanges_in_its_words() -> None:
    exchange = subjects({"measure": ("exchange",)})
    line = LibraryJob(None, exchange, {}).line()
    assert line == (
        b'{"library": null, "subjects": [{"kind": "exchange", "group": "P-256"}, '
        b'{"kind": "exchange", "group": "X25519"}], "lock_page": null}\n'
    )
