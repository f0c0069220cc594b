"""HelloRetryRequests in sentences: who met them, what they cost, what avoids them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tlstax.findings.core.wording import alike
from tlstax.results.document import RunDocument
from tlstax.results.hello_retry import Avoided, Retried, RetriedCase, RetryCost
from tlstax.results.interval import DIFFERENCES
from tlstax.study.level_names import GROUP_LISTS, P256_FIRST
from tlstax.support.text import enumerated

STUDY = "hello-retry"
"""The built-in study that measures the remedy."""

RFC = "RFC 8446, section 4.1.4"

COST_WORDS = {
    "tls_handshake_round_trips": "round trips",
    "tls_handshake_bytes": "bytes",
    "connect_p50_us": "median connect time",
    "server_cpu_us_per_connection": "server CPU",
    "client_cpu_us_per_connection": "client CPU",
}

MOST_SERVERS = 2
"""More than this many servers share one sentence."""

_MS = 1000.0


@dataclass(frozen=True)
class Facts:
    """What sentences are made from; `unasked` names servers that needed no retry, and in how many handshakes.

    It is empty where the study does not ask.
    """

    kinds: tuple[Retried, ...]
    cases: tuple[RetriedCase, ...]
    unasked: tuple[tuple[str, int], ...]


def is_answer(document: RunDocument) -> bool:
    """Whether these sentences are what the run answers: its study compares groups with each other."""
    return document.hello_retries is not None and "group" in document.design.baseline


def sentences(facts: Facts) -> tuple[str, ...]:
    """All sentences, the most important first."""
    return (*_asked(facts), *_round_trips(facts), *_costs(facts), *_none_needed(facts))


def remedy(facts: Facts) -> tuple[str, ...]:
    """What a user can do, and what none can; empty where no handshake was retried."""
    if not facts.cases:
        return ()
    first = Counter(retried.group for retried in facts.cases).most_common(1)[0][0]
    others = [group for group in GROUP_LISTS[P256_FIRST].split(":") if group != first]
    groups = ":".join([first, *others])
    return (
        f"offer {first} first, and the client's key share is one that the server takes: in the client's "
        f"openssl.cnf `Groups = {groups}` in the section that `system_default` names, or "
        f'`SSL_CTX_set1_groups_list(context, "{groups}")` in a program of your own',
        "MySQL's own clients have no option for groups, but read openssl.cnf, and the environment variable "
        "OPENSSL_CONF names another one for them; the server names its groups itself, whatever its file says",
    )


def command(facts: Facts) -> str:
    """What would measure the remedy; empty where every retried case has one in this run, or there is none."""
    lacking = [retried for retried in facts.cases if best(retried) is None]
    return f"tlstax study run {STUDY}" if lacking else ""


def best(retried: RetriedCase) -> Avoided | None:
    """The case of this run in which the client avoids the retry: by a list where there is one."""
    by_client = [found for found in retried.avoided if found.by == "client"]
    lists = [found for found in by_client if found.case.get("group") in GROUP_LISTS]
    return next(iter(lists or by_client), None)


def _asked(facts: Facts) -> Iterator[str]:
    """Which servers asked, of whom, how often."""
    servers = dict.fromkeys(_name(kind) for kind in facts.kinds if kind.retried)
    together = len(servers) > MOST_SERVERS
    groups: dict[tuple[str, str], list[Retried]] = {}
    for kind in facts.kinds:
        if kind.retried:
            groups.setdefault(("" if together else _name(kind), kind.group), []).append(kind)
    for (_, group), kinds in groups.items():
        libraries = len({kind.server for kind in kinds})
        over = f", over {libraries} TLS libraries," if libraries > 1 and not together else ""
        clients = enumerated(sorted({kind.client_library for kind in kinds if kind.client_library}))
        of_client = f" of a client over {clients}" if clients else ""
        yield (
            f"{enumerated(list(dict.fromkeys(map(_name, kinds))))}{over} asked for a second ClientHello "
            f"(HelloRetryRequest) in {_of(kinds)}{of_client}: they agreed on {group}, for which the client "
            "had sent no key share"
        )


def _name(kind: Retried) -> str:
    """The server without what it ran over."""
    return kind.server.partition(" over ")[0]


def _of(kinds: Iterable[Retried]) -> str:
    """How many were retried of how many: "all 120 full and 3 of 40 resumed TLS 1.3 handshakes"."""
    made, retried = Counter[bool](), Counter[bool]()
    for kind in kinds:
        made[kind.resumed] += kind.handshakes
        retried[kind.resumed] += kind.retried
    parts = [
        f"{_share(retried[resumed], made[resumed])} {word}"
        for resumed, word in ((False, "full"), (True, "resumed"))
        if retried[resumed]
    ]
    return f"{' and '.join(parts)} TLS 1.3 handshakes"


def _share(part: int, whole: int) -> str:
    return f"all {whole:,}" if part == whole else f"{part:,} of {whole:,}"


def _round_trips(facts: Facts) -> Iterator[str]:
    """How many round trips a handshake took, where no remedy shows what it would take without."""
    lacking = [retried for retried in facts.cases if best(retried) is None]
    counted = sorted(
        {round(retried.round_trips, 1) for retried in lacking if retried.round_trips is not None}
    )
    if lacking:
        took = f"such a handshake took {' to '.join(_plain(n) for n in counted[:: max(1, len(counted) - 1)])}"
        took = f"{took} round trips, " if counted else "it costs a handshake a round trip, "
        far = sorted({retried.rtt_ms for retried in lacking if retried.rtt_ms})
        at = f": {' or '.join(f'{rtt_ms:.10g} ms' for rtt_ms in far)} of every connection here" if far else ""
        yield f"{took}{'one of them for this' if counted else 'whatever the distance'} ({RFC}){at}"


def _plain(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _costs(facts: Facts) -> Iterator[str]:
    """What the retry costs at each place, against the client's remedy and what a server could give."""
    for retried in facts.cases:
        found = best(retried)
        if found is not None:
            yield f"{retried.place}: with {found.label}, {_less(found.costs)}"
        given = [other for other in retried.avoided if other.by == "server" and _is_as_sent(other, retried)]
        for other in given:
            yield f"{retried.place}: with {other.label}, which gave {other.group}, {_less(other.costs)}"


def _is_as_sent(other: Avoided, retried: RetriedCase) -> bool:
    """Whether the client offered the same, so that what the server gives is all the difference."""
    return other.case.get("group") == retried.case.get("group")


def _less(costs: Iterable[RetryCost]) -> str:
    """All costs in words: "a connection costs 1 round trip less; alike in client CPU"."""
    known = tuple(costs)
    parts = []
    ways = (("less", "higher"), ("more", "lower"))
    moved = [
        f"{enumerated(found)} {way}"
        for way, judgement in ways
        if (found := [quantity(cost) for cost in known if cost.judgement == judgement])
    ]
    if moved:
        parts.append(f"a connection costs {enumerated(moved)}")
    for judgement in ("alike", "inconclusive"):
        unseen = [COST_WORDS[cost.cost] for cost in known if cost.judgement == judgement]
        if unseen:
            parts.append(f"{judgement} in {enumerated(unseen)}")
    return "; ".join(parts) or "nothing could be compared"


def is_seen(cost: RetryCost) -> bool:
    """Whether a difference is seen."""
    return cost.judgement in DIFFERENCES


def quantity(cost: RetryCost) -> str:
    """The size of an extra, with its interval where it scatters: "45.1 ms of connect time (44.9 to 45.3)"."""
    extra, words = cost.extra, COST_WORDS[cost.cost]
    if cost.unit == "1":
        number = _plain(abs(extra.point))
        return f"{number} round trip{'' if number == '1' else 's'}"
    ends = [] if extra.low is None or extra.high is None else sorted((abs(extra.low), abs(extra.high)))
    in_ms = cost.unit == "us" and abs(extra.point) >= _MS
    values = [value / (_MS if in_ms else 1.0) for value in (abs(extra.point), *ends)]
    point, *rounded = alike(*values) if len(set(values)) > 1 else [f"{value:.4g}" for value in values]
    if cost.unit == "B":
        return f"{values[0]:,.0f} bytes"
    between = f" ({rounded[0]} to {rounded[1]})" if set(rounded) - {point} else ""
    return f"{point} {'ms' if in_ms else 'µs'} of {words}{between}"


def _none_needed(facts: Facts) -> Iterator[str]:
    """Who needed none, in a study that asks."""
    handshakes: dict[str, int] = {}
    for server, made in facts.unasked:
        handshakes[server] = handshakes.get(server, 0) + made
    for server, made in handshakes.items():
        yield (
            f"{server} needed no HelloRetryRequest in {made:,} TLS 1.3 handshakes as the client chose them"
        )
