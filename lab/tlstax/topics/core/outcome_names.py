"""What outcomes and phases are called where room is short: the heads of tables, the parts of a chart."""

from __future__ import annotations

from typing import NamedTuple

from tlstax.study.outcomes import OUTCOMES


class Names(NamedTuple):
    """The head of an outcome's column (its unit is put below) and the title of its chart."""

    head: str
    title: str


MAIN_OUTCOMES = {
    "ops_per_s": Names("ops/s", "Operations a second"),
    "latency_p50_us": Names("latency p50", "Latency, median"),
    "latency_p99_us": Names("latency p99", "Latency, 99th percentile"),
    "connect_p50_us": Names("connect p50", "Time to connect, median"),
    "server_cpu_us_per_op": Names("server CPU/op", "Server CPU per operation"),
    "client_cpu_us_per_op": Names("client CPU/op", "Client CPU per operation"),
    "path_cpu_us_per_op": Names("path CPU/op", "CPU per operation of the programs between"),
    "all_cpu_us_per_op": Names("all CPU/op", "CPU per operation of client, path and server"),
}
"""The outcomes of the main tables, in their order."""

PHASE_NAMES = {
    "tcp_connect": "TCP connect",
    "greeting": "greeting",
    "tls_handshake": "TLS handshake",
    "authentication": "authentication",
    "first_query": "first query",
    "query": "later queries",
    "close": "close",
}
"""The phases that make up an operation, in their order; none contains another."""


def words(outcome: str) -> str:
    """An outcome in words; one that this version does not know is spelt out from its identifier."""
    return OUTCOMES[outcome].words if outcome in OUTCOMES else outcome.replace("_", " ")


def title(outcome: str) -> str:
    """The title of an outcome's chart or figure."""
    if outcome in MAIN_OUTCOMES:
        return MAIN_OUTCOMES[outcome].title
    spelt = words(outcome)
    return spelt[:1].upper() + spelt[1:]


def in_order(found: set[str]) -> list[str]:
    """These outcomes in a report's order: the main table's, then the known ones, then the rest by name."""
    known = [*MAIN_OUTCOMES, *(name for name in OUTCOMES if name not in MAIN_OUTCOMES)]
    return [name for name in known if name in found] + sorted(found - set(known))


def better(outcome: str) -> str:
    """Which way is better, in words; empty where neither is or it is not known."""
    known = OUTCOMES.get(outcome)
    if known is None or known.lower_is_better is None:
        return ""
    return "lower is better" if known.lower_is_better else "higher is better"


MIB = 1 << 20

MIB_PER_S, OF_A_MIB = "MiB a second", "{} CPU of a MiB"
"""What topics about bytes call their rows, the second with a side in it."""
