"""A trial that was not compressed as its case says, or of which nobody says so, is found out."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from check_by_check import doubts
from fake_trials import fake_record, tax_truth
from tlstax.checks.compressed import compressed
from tlstax.contract import CompressedBytes, CompressionAgreed, Streamed
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


CLIENT = "the client says compression = {} where the case has {}"
SERVER = "the server says compression = {} where the case has {}"


@pytest.mark.parametrize(
    ("wanted", "client", "server", "said"),
    [
        ("zlib", "zlib", "zlib", []),
        ("zlib", "zlib", "on", []),
        ("zstd", "zstd", "zstd", []),
        (
            "zlib",
            "zstd",
            "zstd",
            [("invalid", CLIENT.format("zstd", "zlib")), ("invalid", SERVER.format("zstd", "zlib"))],
        ),
        ("zlib", "zlib", "off", [("invalid", SERVER.format("off", "zlib"))]),
        ("zlib", "zlib", "zstd", [("invalid", SERVER.format("zstd", "zlib"))]),
        ("zstd", "zstd", "on", [("invalid", SERVER.format("on", "zstd"))]),
        ("zlib", "off", "zlib", [("invalid", CLIENT.format("off", "zlib"))]),
        ("zlib", "zlib", None, [("unknown", "the server does not say whether it compresses")]),
        ("off", "off", "off", []),
        ("off", "off", None, []),
        ("off", "off", "zlib", [("invalid", SERVER.format("zlib", "off"))]),
    ],
)
def test_both_sides_say_what_the_case_says(
    wanted: str, client: Literal["off", "zlib", "zstd"], server: Server, said: list[tuple[str, str]]
) -> None:
    counted = None if wanted == "off" else BYTES
    assert found(wanted, record(CompressionAgreed(client=client, server=server), counted)) == said


def test_of_connections_that_differ_each_kind_is_told_once() -> None:
    made = record(CompressionAgreed(client="zlib", server="zlib"), BYTES)
    assert made.ready is not None
    (seen, *_), off = made.ready.negotiated, CompressionAgreed(client="off", server="off")
    zstd = CompressionAgreed(client="zstd", server="zstd")
    negotiated = tuple(seen.model_copy(update={"compression": own}) for own in (zstd, None, off, zstd))
    mixed = made.model_copy(update={"ready": made.ready.model_copy(update={"negotiated": negotiated})})
    assert found("zlib", mixed) == [
        ("invalid", CLIENT.format("off", "zlib")),
        ("invalid", SERVER.format("off", "zlib")),
        ("invalid", CLIENT.format("zstd", "zlib")),
        ("invalid", SERVER.format("zstd", "zlib")),
        ("unknown", "no connection was asked whether it compresses"),
    ]


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
    assert found("zstd", record(agreed, BYTES, bytes_sent=500, bytes_received=4000)) == [], "all of it did"
    assert found("zstd", record(agreed, BYTES, bytes_sent=499, bytes_received=3999)) == [
        ("invalid", "500 bytes of compressed packets were sent, and only 499 on the wire"),
        ("invalid", "4,000 bytes of compressed packets were received, and only 3,999 on the wire"),
    ]
    made = record(agreed, BYTES)
    assert made.done is not None
    nothing_known = made.model_copy(update={"done": made.done.model_copy(update={"wire": None})})
    assert found("zstd", nothing_known) == [("unknown", "how many bytes crossed the wire is not known")]


def copied(wanted: str, crossed: int | None) -> list[tuple[str, str]]:
    """What is doubted of a dump of a million bytes, of which N crossed the wire."""
    made = record(None, None)
    assert made.done is not None
    streamed = Streamed(copy_bytes=1_000_000, written=(9, 9), holds={}, received_bytes=crossed)
    trial = made.model_copy(update={"done": made.done.model_copy(update={"streamed": streamed})})
    levels: dict[str, Level] = {**CASE.levels, "compression": wanted, "client": "mysqldump"}
    return doubts(compressed, trial, levels)


@pytest.mark.parametrize(
    ("wanted", "crossed", "holds"),
    [
        ("off", 960_000, True),
        ("off", 800_000, True),
        ("off", 799_999, False),
        ("zlib", 799_999, True),
        ("zstd", 450_000, True),
        ("zlib", 800_000, False),
        ("zstd", 1_100_000, False),
    ],
)
def test_a_copy_is_shorter_on_the_wire_exactly_where_it_is_compressed(
    wanted: str, crossed: int, holds: bool
) -> None:
    words = f"{crossed:,} bytes crossed the wire for a copy of 1,000,000, where the case has compression = "
    assert copied(wanted, crossed) == ([] if holds else [("invalid", words + wanted)])


def test_a_copy_whose_bytes_were_not_counted_is_believed_only_where_none_was_compressed() -> None:
    assert copied("off", None) == []
    assert copied("zlib", None) == [("unknown", "how many bytes of a copy crossed the wire is not known")]
