"""Whether load clients agree on what a server's work costs, each one's own cost left out. Pure.

Operations a second are the client's doing as much as the server's, and are not compared. What may be
compared is the server's CPU per operation; what TLS adds to it, as each client's ratio to its own plaintext;
and on one connection the time of an operation less the client's CPU. The last is no exact science: CPU that a
client uses while the server is at work already (falling asleep after it has sent) is taken off as well,
though it delays nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import exp
from statistics import fmean
from typing import Literal

from tlstax.findings.agreement.client_clues import Seen, clues, seen_by_case
from tlstax.findings.agreement.words import sentence
from tlstax.findings.core import stats
from tlstax.findings.core.contrasts import nearest
from tlstax.findings.core.judgements import judge
from tlstax.findings.core.outcomes import UNITS
from tlstax.findings.core.series import Frozen, Logs, Series, difference, frozen
from tlstax.records.trial import TrialRecord
from tlstax.results.document import Agreement, ClientAgreement, Clue
from tlstax.results.interval import DIFFERENCES, Interval
from tlstax.study import Level, Levels
from tlstax.study.case_levels import CaseLevels
from tlstax.study.labels import TLS_SWITCH
from tlstax.study.level_names import ENGINE, LEFT_TO_THE_DRIVER

CLIENT = "client"
SWITCH = "tls_switch"
WHO = (CLIENT, SWITCH)
"""The factors that say who asks, and not what the server is to do."""

COSTS = ("server_cpu_us_per_op", "outside_client_us_per_op")
TAXED = "server_cpu_us_per_op"

AGREE_WITHIN = 1.10
"""Clients agree where the whole interval of their ratio lies within this factor, and the noise floor too."""

Kind = Literal["cost", "tax"]


@dataclass(frozen=True)
class _Group:
    """The same case with every client: the levels that they share, and each client's own."""

    shared: dict[str, Level]
    clients: Mapping[str, Levels]

    @property
    def reference(self) -> str:
        """The engine, or else the first client of the study."""
        return ENGINE if ENGINE in self.clients else next(iter(self.clients))


def agreements(series: Series, records: Iterable[TrialRecord]) -> tuple[Agreement, ...]:
    """Every case that several clients ran, in each outcome that they may be compared by.

    Drivers without TLS options each do what they like, and cannot be expected to agree. In the order
    of the plan; nothing where the study has one client.
    """
    groups = [group for group in _groups(series) if len(group.clients) > 1]
    if not groups:
        return ()
    seen = seen_by_case(records)
    found = []
    for outcome in COSTS:
        floors = series.control_ratios(outcome)
        found += [_agreement(series, group, outcome, "cost", floors, seen) for group in groups]
        if outcome == TAXED:
            taxed = (group for group in groups if group.shared.get("tls", "off") != "off")
            found += [_agreement(series, group, outcome, "tax", floors, seen) for group in taxed]
    return tuple(agreement for agreement in found if agreement is not None)


def _groups(series: Series) -> Iterator[_Group]:
    groups: dict[Frozen, dict[str, Levels]] = {}
    for case in series.cases.values():
        if CLIENT in case.levels and case.typed.tls not in LEFT_TO_THE_DRIVER:
            groups.setdefault(frozen(case.levels, *WHO), {})[_named(case.levels)] = case.levels
    for clients in groups.values():
        levels = next(iter(clients.values()))
        yield _Group({name: level for name, level in levels.items() if name not in WHO}, clients)


def _named(levels: Levels) -> str:
    """The client, and how it comes to its TLS where that is not by its own option."""
    case = CaseLevels.of(levels)
    at_server = levels.get(SWITCH) == "server"
    return f"{case.client} ({TLS_SWITCH['server']})" if at_server else case.client


def _agreement(  # noqa: PLR0913, PLR0917 (what is compared, how, and what it is judged by)
    series: Series,
    group: _Group,
    outcome: str,
    kind: Kind,
    controls: Mapping[Frozen, Interval],
    seen: Mapping[Frozen, Seen],
) -> Agreement | None:
    """None where fewer than two of the clients have the outcome."""
    reference = group.reference
    control = nearest(series.own_baseline(group.clients[reference]), controls)
    floor = stats.noise_floor(control) if control else None
    comparison = _Comparison(series, kind, group.clients[reference], floor, seen)
    clients = tuple(
        found
        for client, levels in group.clients.items()
        if client != reference and (found := comparison.beside(client, levels, outcome)) is not None
    )
    if not clients:
        return None
    unit = UNITS[outcome] if kind == "cost" else "×"
    agreement = Agreement(
        kind=kind,
        outcome=outcome,
        unit=unit,
        case=group.shared,
        reference=reference,
        noise_floor=floor,
        clients=clients,
        sentence="",
    )
    return agreement.model_copy(update={"sentence": sentence(agreement, series.study)})


@dataclass(frozen=True)
class _Comparison:
    """Sets clients beside the reference client, by cost or by what TLS adds to it."""

    series: Series
    kind: Kind
    reference: Levels
    floor: float | None
    seen: Mapping[Frozen, Seen]

    def beside(self, client: str, levels: Levels, outcome: str) -> ClientAgreement | None:
        """The client with these levels; None where the two have no block in common."""
        own, others = self._logs(levels, outcome), self._logs(self.reference, outcome)
        cost = self.series.log_ratios(levels, self.reference, outcome) if self.kind == "cost" else None
        ratios = difference(own, others) if cost is None else cost
        ratio = self.series.interval(ratios)
        if ratio is None:
            return None
        verdict = _verdict(ratio, self.floor)
        reference = exp(fmean(others[block] for block in ratios))
        return ClientAgreement(
            client=client,
            value=stats.beside(reference, ratio, exp(fmean(own[block] for block in ratios))),
            reference_value=reference,
            ratio=ratio,
            verdict=verdict,
            clues=self._clues(levels, outcome, ratio) if verdict == "differs" else (),
        )

    def _clues(self, levels: Levels, outcome: str, ratio: Interval) -> tuple[Clue, ...]:
        """The clues to why; a tax has none by itself, as both of its terms have their own."""
        if self.kind == "tax":
            return ()
        return clues(self.series, self.seen, levels, self.reference, outcome=outcome, higher=ratio.point > 1)

    def _logs(self, levels: Levels, outcome: str) -> Logs:
        if self.kind == "cost":
            return self.series.logs(levels, outcome)
        plain = {**levels, "tls": "off"} | ({"resumption": "off"} if "resumption" in levels else {})
        return self.series.log_ratios(levels, plain, outcome)


def _verdict(ratio: Interval, floor: float | None) -> Literal["agrees", "differs", "inconclusive"]:
    """Agreement is claimed only where a difference that mattered would have been seen."""
    judged = judge(ratio, floor, AGREE_WITHIN)
    return "differs" if judged in DIFFERENCES else "agrees" if judged == "alike" else "inconclusive"
