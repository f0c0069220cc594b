"""`tlstax storm`: its options into a request, what is shown meanwhile, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from tlstax.cli import quantities
from tlstax.cli.exit import INTERRUPTED
from tlstax.cli.lent_server import external_of
from tlstax.cli.progress import ProgressLine
from tlstax.cli.streams import show_found
from tlstax.contract import HIGHEST_RATE_PER_S
from tlstax.guests.access import GuestOptions
from tlstax.probes.storms.document import Sought
from tlstax.probes.storms.measure import StormRequest, storm_limits
from tlstax.probes.storms.table import storm_text
from tlstax.support.errors import UserMistake

LONGEST_S = 60.0
"""Storms and rates that take longer are not searched."""

MOST: dict[Sought, int] = {"connections": 2000, "connections_per_s": 100_000}
LASTING_S = 3.0


@dataclass(frozen=True)
class StormOptions:
    """The options of `tlstax storm` as they were typed."""

    steady: bool = False
    within: str = "1s"
    share: str = "99%"
    most: int | None = None
    lasting: str | None = None
    budget: str = "6m"
    server: str | None = None
    max_connections: int | None = None
    back_log: int | None = None
    seed: int | None = None
    beside_others: bool = False
    json: bool = False
    external: GuestOptions = field(default_factory=lambda: GuestOptions(url=""))


def storm_command(options: StormOptions) -> int:
    """Search and show what was found; the exit status. UserMistake for an option that cannot be."""
    request = _request(options)
    line = ProgressLine(quiet=options.json)
    try:
        found = storm_limits(request, line)
    finally:
        line.close()
    show_found(found, partial(storm_text, found), as_json=options.json)
    return INTERRUPTED if found.status == "interrupted" else 0


def _request(options: StormOptions) -> StormRequest:
    sought: Sought = "connections_per_s" if options.steady else "connections"
    if options.lasting is not None and not options.steady:
        raise UserMistake(
            "--lasting goes with --steady", remedy="a storm lasts until all are up; leave it out"
        )
    access = external_of(options.external, options.max_connections)
    if access is not None and options.back_log is not None:
        raise UserMistake(
            "--back-log starts a private server with it, and an external one keeps what it has",
            remedy="leave one of --back-log and --server out",
        )
    whole = options.share.strip() in {"1", "100%", "100 %"}
    return StormRequest(
        sought=sought,
        within_s=_short(options.within, "--within"),
        share=1.0 if whole else quantities.fraction(options.share, "--share"),
        most=_most(options.most, sought),
        budget_s=quantities.seconds(options.budget, "--budget"),
        lasting_s=LASTING_S if options.lasting is None else _short(options.lasting, "--lasting"),
        server=options.server,
        back_log=options.back_log,
        seed=options.seed,
        beside_others=options.beside_others,
        external=access,
        max_connections=options.max_connections,
    )


def _most(most: int | None, sought: Sought) -> int:
    if most is None:
        return MOST[sought]
    if sought == "connections_per_s" and most > HIGHEST_RATE_PER_S:
        raise UserMistake(
            f"--most: {most:,} connections a second are more than any client can make",
            remedy=f"name up to {HIGHEST_RATE_PER_S:,}",
        )
    return most


def _short(text: str, option: str) -> float:
    length_s = quantities.seconds(text, option)
    if length_s > LONGEST_S:
        raise UserMistake(
            f"{option}: {length_s:g} s is more than {LONGEST_S:g} s", remedy="name a shorter time"
        )
    return length_s
