"""How well predictions held, for a terminal: the errors of each outcome, and what was furthest off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from tlstax.findings.core.wording import percent, signed_percent
from tlstax.report.prediction.text import mix_words
from tlstax.results.validation import ValidatedCost, Validation
from tlstax.support.text import counted
from tlstax.topics.core.printed import grid, printed, styled

SHORT = {
    "latency_mean_us": "Time of a connection",
    "server_cpu_us_per_op": "Server CPU",
    "client_cpu_us_per_op": "Client CPU",
    "path_cpu_us_per_op": "CPU of paths",
    "bytes_sent_per_op": "Bytes sent",
    "bytes_received_per_op": "Bytes received",
}

FURTHEST = 5
"""How many of the costs that were furthest off are named."""


def validation_text(found: Validation, *, width: int, colour: bool) -> str:
    """The table, `width` columns wide."""
    head = f"Predicted for {found.server} and measured afterwards"
    parts: list[RenderableType] = [styled(head, "bold"), Text(), _errors(found)]
    if found.costs:
        parts += [Text(), styled("Furthest off", "bold"), _furthest(found.costs)]
    scaled_by = found.scaling.run if found.scaling is not None else None
    here = f", scaled by run {scaled_by}" if scaled_by is not None else ""
    end = (
        f"Predicted from run {found.calibration_run}{here}; the mixes were drawn at random and measured in "
        f"run {found.validation_run}, on other processes of the server."
    )
    return printed([*parts, Text(), *map(styled, _speeds(found)), styled(end)], width=width, colour=colour)


def _speeds(found: Validation) -> Iterator[str]:
    """What the machine's own speed was, which is taken out."""
    for own in found.speeds:
        change = signed_percent(own.factor - 1)
        yield (
            f"{SHORT.get(own.outcome, own.outcome)}: {own.mixes} known mixes took {change} against when "
            "the parts were measured, which is the machine's and taken out."
        )


def _errors(found: Validation) -> RenderableType:
    table = grid()
    table.add_column(overflow="fold")
    for _ in range(4):
        table.add_column(justify="right")
    names = ("", "mixes", "median error", "9 in 10 within", "in interval")
    table.add_row(*(styled(name, "bold") for name in names))
    for own in found.outcomes:
        cells = (SHORT.get(own.outcome, own.outcome), str(own.mixes), percent(own.median_error))
        share = percent(own.within_share) if own.has_interval else "exact"
        table.add_row(*map(styled, (*cells, percent(own.ninth_decile_error), share)))
    return table


def _furthest(costs: Sequence[ValidatedCost]) -> RenderableType:
    table = grid()
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for own in sorted(costs, key=lambda cost: -abs(cost.error))[:FURTHEST]:
        away = f", {own.rtt_ms:g} ms away" if own.rtt_ms else ""
        at_once = f", {counted(own.connections, 'connection')} at once"
        table.add_row(
            styled(signed_percent(own.error)),
            styled(f"{SHORT.get(own.outcome, own.outcome)}: {mix_words(own.mix)}{away}{at_once}"),
        )
    return table
