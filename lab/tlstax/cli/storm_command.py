"""`tlstax storm`: its options into a request, what is shown meanwhile, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from tlstax.cli import quantities
from tlstax.cli.exit import INTERRUPTED
from tlstax.cli.progress import ProgressLine
from tlstax.cli.streams import show_found
from tlstax.probes.storms.measure import StormRequest, storm_limits
from tlstax.probes.storms.table import storm_text
from tlstax.support.errors import UserMistake

LONGEST_S = 60.0
"""Storms that take longer are not searched."""


@dataclass(frozen=True)
class StormOptions:
    """The options of `tlstax storm` as they were typed."""

    within: str = "1s"
    share: str = "99%"
    most: int = 2000
    server: str | None = None
    back_log: int | None = None
    seed: int | None = None
    beside_others: bool = False
    json: bool = False


def storm_command(options: StormOptions) -> int:
    """Search and show what was found; the exit status. UserMistake for an option that cannot be."""
    line = ProgressLine(quiet=options.json)
    try:
        found = storm_limits(_request(options), line.step, line.warn)
    finally:
        line.close()
    show_found(found, partial(storm_text, found), as_json=options.json)
    return INTERRUPTED if found.status == "interrupted" else 0


def _request(options: StormOptions) -> StormRequest:
    whole = options.share.strip() in {"1", "100%", "100 %"}
    share = 1.0 if whole else quantities.fraction(options.share, "--share")
    within_s = quantities.seconds(options.within, "--within")
    if within_s > LONGEST_S:
        raise UserMistake(
            f"--within: {within_s:g} s is more than {LONGEST_S:g} s", remedy="name a shorter time"
        )
    return StormRequest(
        within_s=within_s,
        share=share,
        largest=options.most,
        server=options.server,
        back_log=options.back_log,
        seed=options.seed,
        beside_others=options.beside_others,
    )
