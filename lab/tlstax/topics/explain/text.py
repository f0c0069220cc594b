"""An explanation as text for a terminal: the answer, what shifted, a waterfall, functions, caveats.

Readable without colour and from 60 columns on: a bar that grows has `+` before its figure, one that shrinks
a minus sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from tlstax.findings.core.wording import capitalised, microseconds, percent, signed
from tlstax.results.explanation import Explanation
from tlstax.topics.core.printed import aligned, bullets, grid, pairs, printed, styled
from tlstax.topics.explain.sections import Step, place, shift_words, shown_components, steps

NARROWEST = 60
WIDEST_BAR = 60
LEAST_BAR = 10
LABEL = 40
MOST_WITH_FUNCTIONS = 4
MOST_FUNCTIONS = 3
FULL, LEFT_HALF, RIGHT_HALF = "█", "▌", "▐"
COLOURS = {"baseline": "bold", "case": "bold", "component": "", "rest": "dim"}


def explanation_text(
    found: Explanation, *, others: Sequence[tuple[str, str]] = (), width: int = 80, colour: bool = False
) -> str:
    """The text, at most `width` columns wide (from 60 on); `others`: a sentence and a command for each."""
    width = max(width, NARROWEST)
    return printed(_parts(found, others, width), width=width, colour=colour)


def _parts(found: Explanation, others: Sequence[tuple[str, str]], width: int) -> Iterable[RenderableType]:
    first, *more = (f"{capitalised(sentence)}." for sentence in found.sentences)
    yield styled(first, style="bold")
    yield styled(f"{found.title}, run {found.run}", style="dim")
    yield from (styled(sentence) for sentence in more)
    yield ""
    shifts = (shift_words(row, found.operation) for row in found.of("shift"))
    heads = (styled(word, style="bold") for word in ("baseline", "case"))
    yield aligned(("words", "figure", "figure"), [("", *heads), *shifts])
    yield ""
    yield styled(f"CPU per {found.operation}, client and server together", style="bold")
    yield _waterfall(steps(found), width)
    yield from _functions(found)
    yield ""
    yield _facts(found)
    if found.whole.caveats:
        yield ""
        yield styled("Bear in mind", style="bold")
        yield from bullets(found.whole.caveats)
    if others:
        yield ""
        yield styled("The other cases", style="bold")
    for sentence, command in others:
        yield from bullets([capitalised(sentence)])
        yield Padding(styled(command, style="dim"), (0, 0, 0, 2))


def _waterfall(bars: Sequence[Step], width: int) -> RichTable:
    labels = max(min(LABEL, cell_len(bar.label)) for bar in bars)
    words = max(cell_len(bar.text) for bar in bars)
    intervals = max(cell_len(bar.interval) for bar in bars)
    room = width - labels - words - intervals - 6
    if room < LEAST_BAR:
        intervals, room = 0, width - labels - words - 4
    cells = max(LEAST_BAR, min(WIDEST_BAR, room))
    scale = cells / max(*(max(bar.start_us, bar.end_us) for bar in bars), 1e-9)
    table = grid()
    table.add_column(max_width=labels, overflow="ellipsis", no_wrap=True)
    table.add_column(no_wrap=True, width=cells)
    table.add_column(justify="right", no_wrap=True)
    if intervals:
        table.add_column(no_wrap=True)
    for bar in bars:
        row = [
            styled(bar.label, style=COLOURS[bar.kind]),
            Text(_bar(bar, scale, cells), style=_bar_style(bar)),
            styled(bar.text),
        ]
        table.add_row(*row, *([styled(bar.interval, style="dim")] if intervals else []))
    return table


def _bar(step: Step, scale: float, cells: int) -> str:
    """The bar in half cells; the smallest still shows."""
    low, high = sorted((step.start_us, step.end_us))
    start = min(int(low * scale * 2), 2 * cells - 1)
    end = min(max(round(high * scale * 2), start + 1), 2 * cells)
    text = " " * (start // 2)
    if start % 2:
        text += RIGHT_HALF
        start += 1
    text += FULL * ((end - start) // 2)
    return text + (LEFT_HALF if end > start and (end - start) % 2 else "")


def _bar_style(step: Step) -> str:
    if step.kind in ("baseline", "case"):
        return "blue"
    return "red" if step.change_us > 0 else "green"


def _functions(found: Explanation) -> Iterable[RenderableType]:
    """Below each of the first components, where its cost changed most."""
    for part in shown_components(found)[:MOST_WITH_FUNCTIONS]:
        yield ""
        yield styled(f"{capitalised(place(part))}: {signed(part.difference.point)} µs", style="bold")
        own = [row for row in found.of("function") if row.outcome == part.outcome]
        lines = []
        for row in own[:MOST_FUNCTIONS]:
            through = f", called through {caller}" if (caller := row.word("through")) else ""
            function = f"{row.word('function')} ({row.word('library')}){through}"
            lines.append((f"{signed(row.difference.point)} µs", function))
        yield Padding(aligned(("figure", "words"), lines), (0, 0, 0, 2))


def _facts(found: Explanation) -> RichTable:
    sampled = {row.word("side"): row for row in found.of("sampled")}
    samples = ", ".join(f"{side} {row.value:,.0f}" for side, row in sampled.items())
    unattributed = ", ".join(
        f"{side} {percent(share)}"
        for side, row in sampled.items()
        if (share := row.number("unattributed_share")) is not None
    )
    noise = found.whole.noise_floor
    interval = f"in brackets the {percent(found.extra.confidence)} interval"
    rows = [
        ("Samples without a component", unattributed),
        ("Samples of the case", samples),
        ("Blocks", f"{found.extra.blocks}; {interval}"),
        ("Noise", f"two equal cases differ by up to {microseconds(noise)}" if noise is not None else ""),
    ]
    return pairs((styled(name, style="bold"), styled(words)) for name, words in rows if words)
