"""Agreement of load clients in words: a sentence for each case and outcome, and one for the run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlstax.findings.core.stats import relative_difference
from tlstax.findings.core.wording import alike, microseconds, percent, signed_percent, with_sign
from tlstax.results.document import Agreement, ClientAgreement
from tlstax.study import Levels, Study
from tlstax.study.labels import client_words, group_label, label_levels
from tlstax.support.text import counted, enumerated

MOST_SENTENCES = 4
"""More cases than this are counted, not named one by one."""

COST_WORDS = {
    "server_cpu_us_per_op": "server CPU per operation",
    "outside_client_us_per_op": "the time of an operation less the client's own CPU",
}
TAX_WORDS = {"server_cpu_us_per_op": "what TLS adds to the server CPU per operation"}

ALWAYS_SAID = ("workload", "connections", "tls")

NO_CLUE = "nothing that was measured tells why"
NO_CLUE_TO_TAX = "see what each costs"


def quantity_words(agreement: Agreement) -> str:
    """What is compared: "server CPU per operation"."""
    words = COST_WORDS if agreement.kind == "cost" else TAX_WORDS
    return words[agreement.outcome]


def case_words(levels: Levels, study: Study) -> str:
    """The case that the clients share: "point selects on kept connections, 1 connection, TLS 1.3".

    What is the same in the whole study goes without saying.
    """
    known = study.levels_of()
    named_levels = {n: level for n, level in levels.items() if n in ALWAYS_SAID or len(known.get(n, ())) > 1}
    named = set(study.baseline) & set(named_levels)
    parts = [group_label(named_levels, study), label_levels(named_levels, study) if named else ""]
    return ", ".join(part for part in parts if part)


def value_words(value: float, agreement: Agreement) -> str:
    """A value as people read it: "61.2 µs", or of a tax "+9.1 %"."""
    return microseconds(value) if agreement.kind == "cost" else signed_percent(value - 1)


def sentence(agreement: Agreement, study: Study) -> str:
    """What the clients show for one case: who agrees, who differs by how much and why, who is undecided."""
    return f"{case_words(agreement.case, study)}: {'; '.join(_verdicts(agreement))}"


def summary(agreements: Sequence[Agreement]) -> list[str]:
    """The answer of a run in a few sentences: each case's, or how often each client agrees."""
    if len(agreements) <= MOST_SENTENCES:
        return [agreement.sentence for agreement in agreements]
    found: dict[tuple[str, str], dict[str, list[tuple[Agreement, ClientAgreement]]]] = {}
    for agreement in agreements:
        clients = found.setdefault((quantity_words(agreement), agreement.reference), {})
        for client in agreement.clients:
            clients.setdefault(client.client, []).append((agreement, client))
    return [
        f"{quantity}: {'; '.join(_tally(reference, client, seen) for client, seen in clients.items())}"
        for (quantity, reference), clients in found.items()
    ]


def why(client: ClientAgreement, agreement: Agreement) -> str:
    """What was measured beside a difference, or that nothing was; empty where there is no difference."""
    if client.verdict != "differs":
        return ""
    nothing = NO_CLUE if agreement.kind == "cost" else NO_CLUE_TO_TAX
    return ", ".join(clue.words for clue in client.clues) or nothing


def _verdicts(agreement: Agreement) -> Iterator[str]:
    quantity = quantity_words(agreement)
    agreeing = [client for client in agreement.clients if client.verdict == "agrees"]
    if agreeing:
        named = enumerated([client_words(name) for name in (agreement.reference, *_names(agreeing))])
        first = value_words(agreeing[0].reference_value, agreement)
        values = ", ".join(
            f"{value_words(client.value, agreement)} ({interval_words(client)})" for client in agreeing
        )
        yield f"{named} agree on {quantity}, {first} and {values}"
    for client in agreement.clients:
        own, other = (value_words(value, agreement) for value in (client.value, client.reference_value))
        between = f"{own} and {other} with {client_words(agreement.reference)} ({interval_words(client)})"
        if client.verdict == "differs":
            yield f"{client.client} differs in {quantity}, {between}: {why(client, agreement)}"
        elif client.verdict == "inconclusive":
            yield f"{client.client} is inconclusive in {quantity}, {between}"


def interval_words(client: ClientAgreement) -> str:
    """How far it is from the reference client: "+1.3 %, −0.4 to +3.0 % at 95 %"."""
    ratio = client.ratio
    if ratio.low is None or ratio.high is None:
        return f"{signed_percent(ratio.point - 1)} in one block alone"
    if not ratio.is_telling:
        return f"{signed_percent(ratio.point - 1)} in {counted(ratio.blocks, 'block')}, which are too few"
    ends = alike(*(100 * (value - 1) for value in (ratio.point, ratio.low, ratio.high)))
    point, low, high = (with_sign(text) for text in ends)
    return f"{point} %, {low} to {high} % at {percent(ratio.confidence)}"


def _names(clients: Sequence[ClientAgreement]) -> list[str]:
    return [client.client for client in clients]


def _tally(reference: str, client: str, seen: Sequence[tuple[Agreement, ClientAgreement]]) -> str:
    """How often a client agrees, and of its largest difference how large it is and what goes with it."""
    agree, differ, inconclusive = (
        [place for place in seen if place[1].verdict == verdict]
        for verdict in ("agrees", "differs", "inconclusive")
    )
    in_cases = f"{len(agree)} of {counted(len(seen), 'case')}"
    parts = [f"{client} agrees with {client_words(reference)} in {in_cases}"]
    if agree:
        farthest = max(relative_difference(beside.ratio.point) for _, beside in agree)
        parts.append(f"within {percent(farthest)}")
    if differ:
        agreement, widest = max(differ, key=lambda place: relative_difference(place[1].ratio.point))
        largest = signed_percent(widest.ratio.point - 1)
        parts.append(f"differs in {len(differ)}, at most by {largest} ({why(widest, agreement)})")
    if inconclusive:
        parts.append(f"in {len(inconclusive)} {_hidden([beside for _, beside in inconclusive])}")
    return ", ".join(parts)


def _hidden(inconclusive: Sequence[ClientAgreement]) -> str:
    """How large a difference the intervals leave room for, where none is seen."""
    if not all(client.ratio.is_telling for client in inconclusive):
        return "it is inconclusive"
    ends = (
        end for client in inconclusive for end in (client.ratio.low, client.ratio.high) if end is not None
    )
    room = max(map(relative_difference, ends), default=None)
    if room is None:
        return "it is inconclusive"
    return f"it is inconclusive: a difference of up to {percent(room)} could hide"
