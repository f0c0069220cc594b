"""How many round trips connects take, in words: for each group, which cases take how many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tlstax.results.connect import RoundTripsResult
from tlstax.results.document import RunDocument
from tlstax.study import Study
from tlstax.study.labels import label_levels
from tlstax.support.grouping import grouped
from tlstax.support.text import counted

CERTIFICATE = "certificate"


def asks_for_counts(document: RunDocument) -> bool:
    """Whether the study's question is how many round trips there are."""
    return document.design.deciding_outcome.startswith("round_trips_")


def round_trip_sentences(document: RunDocument) -> list[str]:
    """For each group and number "mysql-9.7, 4 round trips to connect: TLS 1.3 resumed; TLS 1.2 resumed".

    What every certificate has in common is said without the certificates.
    """
    groups = grouped(document.round_trips, lambda result: result.group)
    return [
        sentence
        for group, results in groups.items()
        for sentence in _sentences(group, results, document.design)
    ]


def _sentences(group: str, results: list[RoundTripsResult], study: Study) -> Iterator[str]:
    cases: dict[str, list[str]] = {}
    for number, name in sorted(_named(results, study), key=lambda found: found[0]):
        cases.setdefault(_many(number), []).append(name)
    of_group = f"{group}, " if group else ""
    for many, names in cases.items():
        yield f"{of_group}{many} to connect: {'; '.join(dict.fromkeys(names))}"


def _many(number: float) -> str:
    return counted(int(number), "round trip") if number == int(number) else f"{number:.2f} round trips"


def _named(results: Iterable[RoundTripsResult], study: Study) -> Iterator[tuple[float, str]]:
    """Each case's round trips and its name; without its certificate where that makes no difference."""
    alike: dict[str, list[tuple[float, str]]] = {}
    for result in results:
        connect = result.of("connect")
        if connect is not None:
            alike.setdefault(_without_certificate(result, study), []).append(
                (connect.round_trips, result.label)
            )
    for name, found in alike.items():
        if len({number for number, _ in found}) == 1:
            yield found[0][0], name
        else:
            yield from found


def _without_certificate(result: RoundTripsResult, study: Study) -> str:
    named = {
        name: level
        for name, level in result.case.items()
        if name in {"tls", "resumption"} or level != study.baseline.get(name, level)
    }
    return label_levels({name: level for name, level in named.items() if name != CERTIFICATE}, study)
