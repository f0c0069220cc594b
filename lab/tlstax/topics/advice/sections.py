"""An advice as sections of a page and of a terminal: what is unsafe, what to change, what that saves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import get_args

from rich.console import RenderableType
from rich.text import Text

from tlstax.results.inspection import Concern, Step
from tlstax.results.interval import Interval
from tlstax.stats.wording import MINUS, capitalised, each, signed, with_ends
from tlstax.study.product import Family
from tlstax.support.text import counted
from tlstax.topics.advice.advise import Advice, Advised, Change, Saving, SeenUse, how_to
from tlstax.topics.core import palette
from tlstax.topics.core.charts import Panel, RatioMark, Style, at_both_widths, ratio_chart
from tlstax.topics.core.printed import Pasted, aligned, printed, styled
from tlstax.topics.core.section import Charts, Claim, Claims, Dump, Items, Section

MILLISECOND_US = 1000.0

LEAST_LEFT = 0.01
"""What is left of a cost is drawn down to a hundredth of it."""


def advice_sections(found: Advice) -> Iterator[Section]:
    """What is unsafe and what is weak, what to change, and what measuring took."""
    concerns = found.inspected.concerns
    for title, some in (
        ("Unsafe: mend first", [own for own in concerns if own.danger != "weak"]),
        ("Weak", [own for own in concerns if own.danger == "weak"]),
    ):
        if some:
            yield Section((Claims(tuple(map(_concern, some))),), title)
    if not found.advised:
        yield Section((Items((f"{capitalised(_nothing(found))}.",)),))
    if found.changes:
        changes = Claims(tuple(map(_claim, found.changes)), whole_width=True)
        yield Section((*_picture(found.changes), changes), "What could be changed, what saves most first")
    yield Section((Items(tuple(_end(found))),), "What was measured, and where")


def _concern(own: Concern) -> Claim:
    return Claim(own.what, own.danger, (own.why, own.remedy), blocks=_dumped(own.steps))


def _claim(own: Advised) -> Claim:
    first, *more = [*_savings(own.saving), ""]
    reason = f"not advised: {own.why_not}" if own.why_not else f"seen: {own.seen}" if own.seen else ""
    return Claim(own.what, first, tuple(more[:-1]), reason, () if own.why_not else _dumped(own.steps))


def _dumped(steps: Sequence[Step]) -> tuple[Dump, ...]:
    return tuple(Dump(step.where, step.lines) for step in steps)


def advice_text(found: Advice, *, width: int, colour: bool) -> str:
    """The same for a terminal, `width` columns wide."""
    parts: list[RenderableType] = [
        styled(f"{found.inspected.server}: what would be cheaper", "bold"),
        styled(use_words(found.use), "dim"),
    ]
    for section in advice_sections(found):
        parts.append(Text())
        for block in section.blocks:
            match block:
                case Claims(claims, is_ranking):
                    parts.append(styled(section.title, "bold red" if "Unsafe" in section.title else "bold"))
                    for place, claim in enumerate(claims, 1):
                        lines = (claim.verdict, *claim.lines) if is_ranking else ("; ".join(claim.lines),)
                        parts += _printed_claim(str(place) if is_ranking else "•", claim, lines)
                case Items(texts):
                    parts += map(styled, texts)
    return printed(parts, width=width, colour=colour)


def _printed_claim(mark: str, claim: Claim, lines: Sequence[str]) -> Iterator[RenderableType]:
    """The claim behind its mark, what follows below it dimmed, and lines to paste unbroken."""
    rows: list[tuple[str, str | Text]] = [(mark, claim.says)]
    rows += [(" ", styled(line, "dim")) for line in (*lines, claim.source) if line]
    for block in claim.blocks:
        if isinstance(block, Dump):
            yield aligned(("name", "words"), [*rows, (" ", styled(f"{block.title}:", "dim"))])
            yield Pasted(block.lines, indent=7)
            rows = []
    if rows:
        yield aligned(("name", "words"), rows)


def _picture(found: Sequence[Advised]) -> Iterator[Charts]:
    """What is left of the server's CPU time of a connection with its statements, change by change."""
    marks = []
    for place, own in enumerate(found):
        saved = own.saving.server_share
        if saved is not None:
            ink = palette.LEVELS[place % len(palette.LEVELS)].light
            style = Style(label_of(own.change), ink, palette.SHAPES[place % len(palette.SHAPES)])
            ends = (saved.point, saved.high or saved.point, saved.low or saved.point)
            left, low, high = (max(LEAST_LEFT, 1 - end) for end in ends)
            text = share_words(saved)
            marks.append(
                RatioMark(style, left, low, high, text.split(" [")[0], description=f"{own.what}: {text}")
            )
    if not marks:
        return
    low = min(0.9, *(mark.low for mark in marks))
    domain = (low * 0.9, max(1.1, *(mark.high * 1.05 for mark in marks)))
    words = "; ".join(mark.description for mark in marks)
    drawings = at_both_widths(
        words, lambda width: ratio_chart(marks, noise_floor=None, domain=domain, width=width)
    )
    reading = (
        "What is left of the server's CPU time of a connection with its statements, with 95 % intervals."
    )
    yield Charts((Panel("What each change would leave", reading, drawings),))


def label_of(change: Change) -> str:
    """What a change is called beside a picture; PostgreSQL has some that MySQL has not."""
    return next(how[change].label for how in map(how_to, get_args(Family)) if change in how)


def use_words(use: SeenUse) -> str:
    """How the server is used, and from where that is known."""
    each = f"{counted(use.statements, 'statement')} a connection, {use.answer_bytes:,} bytes each"
    if use.source == "assumed":
        return f"How it is used is not known; assumed are {each} (--connects, --queries and --bytes say it)"
    rate = "" if use.connects_per_s is None else f"{use.connects_per_s:,.3g} connections/s, "
    return f"{capitalised(use.source)}: {rate}{each}"


def _savings(saving: Saving) -> Iterator[str]:
    """What a change saves, a line for each that is known."""
    if saving.server_cpu_us is not None and saving.server_share is not None:
        each = f"{_micros(saving.server_cpu_us)} a connection"
        how = "computed from parts measured on" if saving.is_computed else "measured on"
        yield f"{share_words(saving.server_share)} of the server's CPU ({each}), {how} {saving.measured_on}"
    if saving.time_us is not None:
        yield f"{_micros(saving.time_us)} of a connection's time, measured here"
    if saving.client_cpu_us is not None:
        ms = saving.client_cpu_us.point / MILLISECOND_US
        how = "by OpenSSL's hashing here; drivers differ"
        yield f"about {MINUS}{ms:.3g} ms of the client's CPU a connection, {how}"
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


def share_words(saved: Interval) -> str:
    """A share that is saved, as a change: "-61 % [-63 … -58]"."""
    return _saved_words(
        saved, lambda share: f"{100 * share:+.0f}".replace("-", MINUS).replace("+0", "0"), "%"
    )


def _micros(saved: Interval) -> str:
    """A time that is saved, as a change, in ms where it is long."""
    if abs(saved.point) < MILLISECOND_US:
        return _saved_words(saved, signed, "µs")
    return _saved_words(saved, lambda us: signed(us / MILLISECOND_US), "ms")


def _saved_words(saved: Interval, said: Callable[[float], str], unit: str) -> str:
    return with_ends(-saved, each(said), f" {unit}", form="[…]")


def _nothing(found: Advice) -> str:
    """Why no change is advised."""
    if found.inspected.default is not None:
        if found.changes:
            return "no change is advised; what could be changed says why not"
        return "nothing to change: what was seen costs no more than it needs to"
    return (
        "nothing was measured, since clients left to themselves get no TLS there: mend what is unsafe first"
    )


def _end(found: Advice) -> Iterator[str]:
    """What could not be measured, and what was made there."""
    for words in found.not_measured:
        yield f"Not measured: {words}."
    spent = f" {found.spent_there}." if found.spent_there else ""
    runs = f" Runs {' and '.join(found.runs)}." if found.runs else ""
    yield f"{counted(f'{found.connections_there:,}', 'connection')} to the server in all.{spent}{runs}"
