"""`tlstax storm`: its options into a request."""

from __future__ import annotations

import secrets

from tlstax.cli import quantities
from tlstax.cli.bench_command import bench_command
from tlstax.cli.benches_app import StormOptions
from tlstax.cli.external_servers import external_of, external_url
from tlstax.contract import HIGHEST_RATE_PER_S
from tlstax.support.errors import UserMistake
from tlstax.tools.probes.storms.limits import TOPIC, Sought
from tlstax.tools.probes.storms.measure import StormRequest, storm_limits

LONGEST_S = 60.0
"""Storms and rates that take longer are not searched."""

MOST: dict[Sought, int] = {"connections": 2000, "connections_per_s": 100_000}
LASTING_S = 3.0


def storm_command(options: StormOptions) -> int:
    """Search and show what was found; the exit status. UserMistake for an option that cannot be."""
    request = _request(options)
    return bench_command(TOPIC, options, lambda line: storm_limits(request, line))


def _request(options: StormOptions) -> StormRequest:
    sought: Sought = "connections_per_s" if options.steady else "connections"
    url = external_url(options.server)
    access = external_of(options.login.access(url), options.max_connections)
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
        seed=secrets.randbelow(2**32) if options.seed is None else options.seed,
        server=None if url else options.server,
        back_log=options.back_log,
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
