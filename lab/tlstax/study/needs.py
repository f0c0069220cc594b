"""What the cases of a study need together: data, servers, clients, TLS libraries, paths.

And what they cannot have where their load comes from several machines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tlstax.study.case_workload import Own
from tlstax.study.client_kinds import FLOOR_TLS, kind_of
from tlstax.study.design import Study
from tlstax.study.exclusions import of_auth, of_compression
from tlstax.study.factor import Of
from tlstax.study.factors import FACTORS, CaseLevels, ServerChoice
from tlstax.study.level_names import DIRECT, NO_FAULT, OWN, STREAM, UNIX_SOCKET
from tlstax.study.workloads import Shape
from tlstax.support.errors import UserMistake
from tlstax.support.text import enumerated


@dataclass(frozen=True)
class DataNeeds:
    """The tables that a run's workloads read, those that they change, and the workloads of the user's own.

    `answer_bytes` are the sizes that a table of answers holds. `writes` is whether any of them changes data,
    its own tables' too.
    """

    tables: tuple[Shape, ...] = ("sbtest",)
    changed: tuple[Shape, ...] = ()
    own: Own = field(default_factory=dict)
    answer_bytes: tuple[int, ...] = ()
    writes: bool = False

    @property
    def makes_tables(self) -> bool:
        """Whether anything is made in the schema: a load table, or what a user's own workload prepares."""
        return bool(self.tables) or any(one.prepare or one.restore for one in self.own.values())


def data_needs(study: Study) -> DataNeeds:
    """What a study's cases need, each table once."""
    used = list(dict.fromkeys(study.workload_of(case) for case in study.included()))
    shapes = dict.fromkeys(each.table for each in used if each.needs_table)
    changed = dict.fromkeys(each.table for each in used if each.needs_table and each.changes_data)
    sizes = sorted({each.answer_bytes for each in used if each.answer_bytes is not None})
    writes = any(each.changes_data for each in used)
    return DataNeeds(tuple(shapes), tuple(changed), study.workloads, tuple(sizes), writes)


def has_plaintext(study: Study) -> bool:
    """Whether any case of the study logs in without TLS."""
    return any(not case.is_encrypted for case in study.included())


def cases_at(study: Study, choice: ServerChoice) -> Iterator[CaseLevels]:
    """The study's cases that are measured on this server."""
    return (case for case in study.included() if case.server_choice == choice)


def paths_of(study: Study, choice: ServerChoice) -> tuple[tuple[str, bool], ...]:
    """The paths on which the study's cases reach this server, each with whether it is over a distance."""
    return tuple(dict.fromkeys((case.path, case.distance.is_any) for case in cases_at(study, choice)))


def paths(study: Study) -> tuple[str, ...]:
    """The paths of the study's cases that have a program between client and server."""
    named = dict.fromkeys(case.path for case in study.included())
    return tuple(name for name in named if name not in (DIRECT, UNIX_SOCKET))


def needs_distance(study: Study) -> bool:
    """Whether any case of the study has a distance between client and server."""
    return any(case.distance.is_any for case in study.included())


def lacking(study: Study) -> dict[str, int]:
    """What servers of the study lack that cases are about, and how many cases are left out for it."""
    reasons = (of_auth(wanted) or of_compression(wanted) for wanted in map(study.wanted, study.product()))
    return dict(Counter(reason for reason in reasons if reason))


def clients(study: Study) -> tuple[str, ...]:
    """The names of the load clients that the study's cases are measured with."""
    return tuple(dict.fromkeys(case.client for case in study.included()))


def has_one_thread(study: Study) -> bool:
    """Whether any of those has one thread, so that the others are to have no more processors than it."""
    return any(kind_of(name).has_one_thread for name in clients(study))


def only_tls_version(study: Study, choice: ServerChoice) -> str | None:
    """The one TLS version that this server is to accept, None where all that it accepts by itself.

    That proves what a client has negotiated which asks nothing. UserMistake where other cases need more.
    """
    encrypted = [case for case in cases_at(study, choice) if case.is_encrypted]
    product = study.product_at(choice.server)
    silent = [case.client for case in encrypted if kind_of(case.client).is_silent_at(product)]
    if not silent:
        return None
    others = sorted({case.tls for case in encrypted} - {FLOOR_TLS})
    if others:
        raise UserMistake(
            f"{silent[0]} is proved by a server that accepts TLS {FLOOR_TLS} alone, and other cases "
            f"there have TLS {enumerated(others)}",
            remedy=f"leave out {silent[0]}, or what has other versions",
        )
    return FLOOR_TLS


def replicates(study: Study, choice: ServerChoice) -> bool:
    """Whether this server's data or its log are copied whole, for which it keeps a log."""
    return any(case.workload == STREAM for case in cases_at(study, choice))


def server_choices(study: Study) -> tuple[ServerChoice, ...]:
    """Every server that the study's cases need, each once, in the order of its cases.

    After them come those whose locks are counted, where it is to count them.
    """
    own = [case.server_choice for case in study.included()]
    counting = [case.counting for case in study.included()] if study.count is not None else []
    return tuple(dict.fromkeys((*own, *(choice for choice in counting if choice is not None))))


def faults(study: Study) -> tuple[str, ...]:
    """The names of the faults that the study's cases plant in a server."""
    named = dict.fromkeys(choice.fault for choice in server_choices(study))
    return tuple(name for name in named if name != NO_FAULT)


def tls_libraries(study: Study) -> tuple[str, ...]:
    """The names of the TLS libraries that the study's cases put under a server or the client."""
    named = (name for case in study.included() for name in (case.tls_library, case.client_tls_library))
    return tuple(name for name in dict.fromkeys(named) if name != OWN)


RATHER = "leave it out, or --clients-on"

_IN_TURN: tuple[Of, ...] = ("client", "server", "load", "way", "distance")
"""What is refused first: the client, what it runs on, what it does, then what lies between."""


def check_shared(study: Study) -> None:
    """UserMistake where the study asks for what only a client on the server's own machine can do."""
    if study.capture:
        raise UserMistake(
            "--capture needs a client on the server's own machine, where its tap is", remedy=RATHER
        )
    beside = [
        (factor.name, factor.beside)
        for of in _IN_TURN
        for factor in FACTORS.values()
        if factor.of == of and factor.beside is not None
    ]
    for case in study.included():
        for name, cannot_be in beside:
            if refused := cannot_be(getattr(case, name)):
                what, why = refused
                raise UserMistake(f"{what}, where the load comes from other machines: {why}", remedy=RATHER)
