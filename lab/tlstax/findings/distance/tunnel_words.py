"""When a tunnel is worth it, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor

from tlstax.findings.distance.words import away, number
from tlstax.results.distance import TunnelWorth
from tlstax.study.labels import label_levels
from tlstax.support.grouping import grouped
from tlstax.support.text import counted, some_of

HEADLINE = "ssh-aes256-ctr"
"""The tunnel that the answer is about, where a study has several; all are in the table."""

MOST_RIVALS = 3
"""The most ways of TLS in a sentence."""

OF = {
    "time": "in time",
    "many": "in time with many at a time",
    "CPU": "in CPU time of client, tunnel and server",
}


def sentence(found: TunnelWorth) -> str:
    """Who is compared, in what, and when the tunnel is worth it."""
    compared = f"{tunnel_words(found)} in place of {found.rival}"
    return f"{_where(found)}: {compared}, {OF[found.measure]}: {when(found)}"


def tunnel_words(found: TunnelWorth) -> str:
    """What the tunnel is called."""
    return label_levels({"path": found.tunnel})


def when(found: TunnelWorth) -> str:
    """The verdict in words: "worth it below 31 statements a connection (28 to 35)"."""
    if found.verdict in {"always", "never"}:
        return f"{found.verdict} worth it"
    if found.statements is not None:
        return f"worth it {found.verdict} {number(found.statements)} statements a connection"
    if found.worth_until is not None and found.worth_until >= 1:
        until = counted(floor(found.worth_until), "statement")
        return f"worth it up to {until} a connection; beyond that is inconclusive"
    if found.not_from is not None:
        start = counted(ceil(found.not_from), "statement")
        return f"not worth it from {start} a connection on; below that is inconclusive"
    return "whether it is worth it is inconclusive"


def briefly(found: TunnelWorth) -> str:
    """The verdict as the cell of a table whose head says what it is of: "below 31 (28 to 35)"."""
    if found.verdict in {"always", "never"}:
        return found.verdict
    if found.statements is not None:
        return f"{found.verdict} {number(found.statements)}"
    if found.worth_until is not None and found.worth_until >= 1:
        return f"up to {floor(found.worth_until):,} or more"
    if found.not_from is not None:
        return f"not from {ceil(found.not_from):,} on"
    return "inconclusive"


def tunnel_sentences(found: Sequence[TunnelWorth]) -> list[str]:
    """For each server, distance and measure a sentence of one tunnel against every TLS of that server."""
    names = {each.tunnel for each in found}
    shown = HEADLINE if HEADLINE in names else next((each.tunnel for each in found), "")
    of_shown = (each for each in found if each.tunnel == shown)
    sides = grouped(of_shown, lambda each: (each.server, each.rtt_ms, each.measure))
    return [_of_all_rivals(several) for several in sides.values()]


def _of_all_rivals(several: Sequence[TunnelWorth]) -> str:
    first, verdicts = several[0], {when(each) for each in several}
    begin = f"{_where(first)}: {tunnel_words(first)}, {OF[first.measure]}"
    if len(verdicts) == 1 and len(several) > 1:
        return f"{begin}: in place of any of {len(several)} kinds of TLS {verdicts.pop()}"
    by_rival = [f"in place of {each.rival} {when(each)}" for each in several]
    return f"{begin}: {'; '.join(some_of(by_rival, MOST_RIVALS, '{} more in the table'))}"


def _where(found: TunnelWorth) -> str:
    return ", ".join(part for part in (found.server, away(found.rtt_ms)) if part)
