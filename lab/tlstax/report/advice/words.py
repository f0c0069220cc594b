"""An advice in words: how a server is used, what each change saves, what measuring took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlstax.findings.core.wording import MINUS, capitalised, number
from tlstax.results.advice import Advice, Advised, Saving, SeenUse
from tlstax.results.interval import Interval
from tlstax.support.text import counted

MILLISECOND_US = 1000.0

RANKED = "What could be changed, what saves most first"


def use_words(use: SeenUse) -> str:
    """How the server is used, and from where that is known."""
    each = f"{counted(use.statements, 'statement')} a connection, {use.answer_bytes:,} bytes each"
    if use.source == "assumed":
        return f"How it is used is not known; assumed are {each} (--connects, --queries and --bytes say it)"
    rate = "" if use.connects_per_s is None else f"{use.connects_per_s:,.3g} connections/s, "
    return f"{capitalised(use.source)}: {rate}{each}"


def saving_lines(saving: Saving) -> Iterator[str]:
    """What a change saves, a line for each that is known."""
    if saving.server_cpu_us is not None and saving.server_share is not None:
        each = f"{_micros(saving.server_cpu_us)} a connection"
        how = "computed from parts measured on" if saving.is_computed else "measured on"
        yield f"{share_words(saving.server_share)} of the server's CPU ({each}), {how} {saving.measured_on}"
    if saving.time_us is not None:
        yield f"{_micros(saving.time_us)} of a connection's time, measured here"
    counts = []
    if saving.round_trips:
        trips = saving.round_trips
        trips = int(trips) if trips.is_integer() else round(trips, 1)
        counts.append(f"{MINUS}{counted(trips, 'round trip')} a connection")
    if saving.bytes:
        counts.append(f"{MINUS}{saving.bytes:,.0f} bytes a full handshake")
    if counts:
        yield f"{', '.join(counts)}, counted"
    if saving.inconclusive:
        yield f"of {' and of '.join(saving.inconclusive)} inconclusive: too few blocks, or too unquiet"


def share_words(found: Interval) -> str:
    """What is saved, as a change: "-61 % [-63, -58]"."""
    ends = [found.point, *(end for end in (found.high, found.low) if end is not None)]
    texts = [f"{-100 * end:+.0f}".replace("-", MINUS).replace("+0", "0") for end in ends]
    return f"{texts[0]} %{_ends(texts[1:])}"


def nothing_words(found: Advice) -> str:
    """Why no change is advised."""
    if any(own.agreed for own in found.inspected.asked if own.topic == "default"):
        if found.changes:
            return "no change is advised; what could be changed says why not"
        return "nothing to change: what was seen costs no more than it needs to"
    return (
        "nothing was measured, since clients left to themselves get no TLS there: mend what is unsafe first"
    )


def reason_words(own: Advised) -> str:
    """Why a change is advised, or why it is not."""
    return f"not advised: {own.why_not}" if own.why_not else f"seen: {own.seen}" if own.seen else ""


def end_words(found: Advice) -> Iterator[str]:
    """What could not be measured, and what was made there."""
    for words in found.not_measured:
        yield f"Not measured: {words}."
    spent = f" {found.spent_there}." if found.spent_there else ""
    runs = f" Runs {' and '.join(found.runs)}." if found.runs else ""
    yield f"{counted(f'{found.connections_there:,}', 'connection')} to the server in all.{spent}{runs}"


def _micros(found: Interval) -> str:
    """What is saved of a time, as a change, in ms where it is long."""
    ends = [found.point, *(end for end in (found.high, found.low) if end is not None)]
    in_ms = abs(found.point) >= MILLISECOND_US
    texts = [_signed(-end / MILLISECOND_US if in_ms else -end) for end in ends]
    return f"{texts[0]} {'ms' if in_ms else 'µs'}{_ends(texts[1:])}"


def _signed(value: float) -> str:
    text = number(value)
    return text if text.startswith(MINUS) else f"+{text}"


def _ends(texts: Sequence[str]) -> str:
    return f" [{', '.join(texts)}]" if texts else ""
