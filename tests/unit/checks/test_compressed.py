"""A trial that was not compressed as its case says, or of which nobody says so, is found out."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from check_by_check import doubts
from fake_trials import fake_record, tax_truth
from tlstax.checks.compressed import compressed
from tlstax.contract import CompressedBytes, CompressionAgreed
from tlstax.plan.order import cases
from tlstax.records.trial import Trial, TrialRecord
from tlstax.study import Level, load_study

CASE = next(case for case in cases(load_study("tax")) if case.levels["tls"] == "1.3")
Server = Literal["off", "on", "zlib", "zstd"] | None
BYTES = CompressedBytes(plain_sent=900, packed_sent=500, plain_received=9000, packed_received=4000)


def record(agreed: CompressionAgreed | None, counted: CompressedBytes | None, **wire: Any) -> TrialRecord:
    made = fake_record(Trial(block=0, position=0, case=CASE), tax_truth(CASE), duration_s=0.1)
    assert made.ready is not None
    assert made.done is not None
    assert made.done.wire is not None
    seen = tuple(one.model_copy(update={"compression": agreed}) for one in made.ready.negotiated)
    crossed = made.done.wire.model_copy(update={"bytes_sent": 600, "bytes_received": 4100, **wire})
    done = made.done.model_copy(update={"compression": counted, "wire": crossed})
    return made.model_copy(update={"ready": made.ready.model_copy(update={"negotiated": seen}), "done": done})


def found(wanted: str, trial: TrialRecord) -> list[tuple[str, str]]:
    levels: dict[str, Level] = {**CASE.levels, "compression": wanted}
    return doubts(compressed, trial, levels)


@pytest.mark.parametrize(
    ("wanted", "client", "server", "weights"),
    [
        ("zlib", "zlib", "zlib", []),
        ("zlib", "zlib", "on", []),
        ("zstd", "zstd", "zstd", []),
        ("zlib", "zstd", "zstd", ["invalid", "invalid"]),
        ("zlib", "zlib", "off", ["invalid"]),
        ("zlib", "zlib", "zstd", ["invalid"]),
        ("zstd", "zstd", "on", ["invalid"]),
        ("zlib", "off", "zlib", ["invalid"]),
        ("zlib", "zlib", None, ["unknown"]),
    ],
)
def test_both_sides_say_what_the_case_says(
    wanted: str, client: Literal["off", "zlib", "zstd"], server: Server, weights: list[str]
) -> None:
    said = found(wanted, record(CompressionAgreed(client=client, server=server), BYTES))
    assert [weight for weight, _ in said] == weights


@pytest.mark.parametrize(("server", "weights"), [("off", []), (None, []), ("zlib", ["invalid"])])
def test_nothing_is_compressed_where_nothing_is_to_be(server: Server, weights: list[str]) -> None:
    said = found("off", record(CompressionAgreed(client="off", server=server), None))
    assert [weight for weight, _ in said] == weights


def test_a_client_that_knows_nothing_of_it_compresses_nothing() -> None:
    assert found("off", record(None, None)) == []
    assert found("zlib", record(None, BYTES)) == [
        ("unknown", "no connection was asked whether it compresses")
    ]


def test_compressed_packets_were_counted_exactly_where_there_are_to_be_some() -> None:
    agreed = CompressionAgreed(client="zlib", server="zlib")
    none = CompressedBytes(plain_sent=0, packed_sent=0, plain_received=0, packed_received=0)
    for counted in (None, none):
        assert found("zlib", record(agreed, counted)) == [
            ("invalid", "the client counted no compressed packet")
        ]
    off = CompressionAgreed(client="off", server="off")
    ((weight, words),) = found("off", record(off, BYTES))
    assert (weight, words) == ("invalid", "the client counted compressed packets where there must be none")


def test_what_was_compressed_crossed_the_wire() -> None:
    agreed = CompressionAgreed(client="zstd", server="zstd")
    assert found("zstd", record(agreed, BYTES, bytes_received=3999)) == [
        ("invalid", "4,000 bytes of compressed packets were received, and only 3,999 on the wire")
    ]
    assert [weight for weight, _ in found("zstd", record(agreed, BYTES, bytes_sent=499))] == ["invalid"]
