"""From pairs of slices to what reading results takes, and to the engine's ratios to the bare loop. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tlstax.findings.core import stats
from tlstax.results.interval import Interval
from tlstax.selfbench.bytes_document import (
    BytesDocument,
    BytesFigures,
    BytesHeader,
    Pair,
    ReaderFigures,
    Reading,
    Shape,
)
from tlstax.selfbench.records import Status
from tlstax.topics.answer.caveats import BESIDE_ANOTHER

MIB = 1 << 20
CONFIDENCE = 0.95
WANTED = 0.9
"""The engine is to read as fast as that part of what a bare loop does."""


def document(
    header: BytesHeader, found: Mapping[Shape, Sequence[Pair]], status: Status, *, beside_another: bool
) -> BytesDocument:
    """What the pairs show, the pair being the unit of every interval."""
    results = tuple(_figures(shape, pairs) for shape, pairs in found.items())
    return BytesDocument(
        **{name: getattr(header, name) for name in BytesHeader.model_fields},
        status=status,
        results=results,
        caveats=(*([BESIDE_ANOTHER] if beside_another else ()), *_slow(results), *header.machine.notes),
    )


def _figures(shape: Shape, pairs: Sequence[Pair]) -> BytesFigures:
    return BytesFigures(
        rows=shape.rows,
        row_bytes=shape.row_bytes,
        engine=_reader([pair.engine for pair in pairs]),
        bare=_reader([pair.bare for pair in pairs]),
        rate_to_bare=_ratio(pairs, _rate),
        cpu_to_bare=_ratio(pairs, _reader_cpu),
    )


def _rate(reading: Reading) -> float:
    return reading.received_bytes / MIB / reading.elapsed_s


def _reader_cpu(reading: Reading) -> float:
    return reading.reader_cpu_us / (reading.received_bytes / MIB)


def _sender_cpu(reading: Reading) -> float:
    return reading.sender_cpu_us / (reading.received_bytes / MIB)


def _reader(readings: Sequence[Reading]) -> ReaderFigures:
    sent = [_sender_cpu(reading) for reading in readings]
    return ReaderFigures(
        mib_per_s=_mean([_rate(reading) for reading in readings]),
        reader_cpu_us_per_mib=_mean([_reader_cpu(reading) for reading in readings]),
        sender_cpu_us_per_mib=_mean(sent) if min(sent) > 0 else None,
    )


def _mean(values: Sequence[float]) -> Interval:
    return stats.interval(stats.log_ratios([(value, 1.0) for value in values]), CONFIDENCE)


def _ratio(pairs: Sequence[Pair], of: Callable[[Reading], float]) -> Interval:
    logs = stats.log_ratios([(of(pair.engine), of(pair.bare)) for pair in pairs])
    return stats.interval(logs, CONFIDENCE)


def _slow(results: Sequence[BytesFigures]) -> list[str]:
    return [
        f"results in rows of {found.row_bytes:,} bytes: the engine reads less than {WANTED} of what a bare "
        "loop does, so that its own work is part of what is measured there"
        for found in results
        if found.rate_to_bare.high is not None and found.rate_to_bare.high < WANTED
    ]
