"""From the connections that external servers have free to what a run takes of them. Pure.

Cases that keep their connections hold them while others have their turn, so that a group of them holds many
times as many. Where that is too many, there are fewer connections for each, unless the user said how many
there are to be; else fewer cases sit together, each of them beside the baseline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tlstax.plan.elsewhere import SHARE, Elsewhere, ExternalLimits, Promise, Room
from tlstax.plan.order import blocks, cases
from tlstax.plan.sittings import companies
from tlstax.records.beforehand import AtWork, ExternalServer
from tlstax.records.trial import Trial
from tlstax.study import Study, override
from tlstax.study.factors import CaseLevels
from tlstax.study.labels import group_label
from tlstax.support.errors import UserMistake


@dataclass(frozen=True)
class Leeway:
    """How far a study may give way to external servers; by default not at all.

    Of the connections of each a run has `at_most`, None for a share of those that are free. With
    `fewer_connections` cases have fewer each than the study says where that is too few, and with
    `no_plaintext` those in the clear are left out where a server or its account rule them out;
    `tls_demanded_by` is what the user did that by already, by the level of the server that it is for. With
    `no_tables` statements that read nothing take the place of point selects where nothing may be made. With
    `looks` it is seen first whether others are at work there; with `raises_load` cases have only as many
    connections then as the server bears beside them.
    """

    at_most: int | None = None
    fewer_connections: bool = False
    no_plaintext: bool = False
    tls_demanded_by: Mapping[str | None, str] = field(default_factory=dict)
    no_tables: bool = False
    looks: bool = False
    raises_load: bool = False


@dataclass(frozen=True)
class Admission:
    """What a run takes of an external server, whose level of `server` this is (None: no case names it)."""

    server: str | None
    promise: Promise
    room: Room
    fewer_than: int | None = None

    def words(self) -> str:
        """For example "at most 35 connections at once (of 151 connections, 3 of them in use): 32 for …"."""
        return words_of(self.promise, self.room)

    def record(self, round_trip_s: float, no_plaintext: str, no_tables: str) -> ExternalServer:
        """What a run's header has of it, with how fast the server answers and why something was left out."""
        return ExternalServer(
            server=self.server,
            max_connections=self.room.max_connections,
            in_use=self.room.in_use,
            at_most=self.room.at_most,
            promised=self.promise.total,
            fewer_than=self.fewer_than,
            round_trip_s=round_trip_s,
            no_plaintext=no_plaintext,
            no_tables=no_tables,
        )


def admit(
    study: Study, rooms: Mapping[str | None, Room], *, fewer: bool
) -> tuple[Study, tuple[Admission, ...]]:
    """The study with as many connections as fit everywhere, and what it takes of each external server.

    `rooms` has what each has free by its level of `server`, None for one that no case names. Cases have fewer
    connections than the study says only with `fewer`, at all servers alike. UserMistake where a case needs
    more by itself than the run may have of its server.
    """
    for room in rooms.values():
        _check_asked(room)
    fitting = _with_fewer(study, rooms) if fewer else study
    limits = ExternalLimits({name: Elsewhere(room.at_most, 0.0) for name, room in rooms.items()})
    fewer_than = _connections(study)[-1] if fitting != study else None
    admitted = []
    for name, room in rooms.items():
        promise = max(_promises(fitting, limits, name), key=lambda one: one.total, default=Promise())
        if promise.total > room.at_most:
            raise _too_many(study, promise, room, name)
        admitted.append(Admission(name, promise, room, fewer_than))
    return fitting, tuple(admitted)


def words_of(promise: Promise, room: Room) -> str:
    """What a server is promised, and of how many; with how to make it fewer, where nobody said how many."""
    own = "; --max-connections takes fewer" if room.asked is None else ""
    return f"at most {promise.total} connections at once (of {room.words()}): {promise.parts()}{own}"


def most_that_fits(of: Callable[[int], Promise], room: Room, *, least: int, most: int) -> int:
    """As many connections as a server has room for, up to `most`; `of` says what they are promised as.

    UserMistake where it has no room for `least`.
    """
    _check_asked(room)
    fitting = (count for count in range(min(most, room.at_most), 0, -1) if of(count).total <= room.at_most)
    found = next(fitting, 0)
    if found >= least:
        return found
    raise _no_room(of(least), room, "")


def _check_asked(room: Room) -> None:
    if room.asked is not None and room.asked > room.free:
        raise UserMistake(
            f"--max-connections {room.asked} is more than {room.server} has free ({room.words()})",
            remedy=f"give at most {room.free}",
        )


def beside_others(study: Study, seen: Iterable[AtWork]) -> Study:
    """The study with as many connections as each server bears beside others who are at work there.

    What was promised stays: the load was raised within it.
    """
    fewer = [one.taken for one in seen if one.taken != one.most]
    return override(study, "connections", [str(min(fewer))]) if fewer else study


def without_room(study: Study, external: Sequence[ExternalServer]) -> Iterator[str]:
    """What a run does otherwise since external servers have no room for all, a sentence each."""
    if not external:
        return
    tightest = min(external, key=lambda own: own.at_most)
    if tightest.fewer_than is not None:
        seen = tightest.at_work
        now = seen.most if seen is not None else _connections(study)[0]
        whose = "the server's" if tightest.server is None else f"{tightest.server}'s"
        yield (
            f"{now} of {tightest.fewer_than} connections for each case, so that all that are compared take "
            f"turns within {tightest.at_most} of {whose} connections (--max-connections allows more)"
        )
    limits = ExternalLimits({own.server: Elsewhere(own.at_most, own.round_trip_s) for own in external})
    for company in _companies(study):
        here = [own for own in external if _at(own.server, company)]
        if limits.is_too_far(_levels(company), study):
            yield _too_far(company, study, max(own.round_trip_s for own in here))
            continue
        parts = limits.parted(company, study)
        if len(parts) != 1:
            own = max(here, key=lambda own: _needed(company, study, own.server) - own.at_most)
            yield turns_apart(company, study, own.at_most, parts=len(parts), server=own.server)


def _too_far(company: Sequence[Trial], study: Study, round_trip_s: float) -> str:
    group = group_label(company[0].case.levels, study)
    return (
        f"{f'{group}: ' if group else ''}each by itself, since the server answers after "
        f"{round_trip_s * 1000:.2g} ms, and a turn would be long before it had some operations of each "
        "connection"
    )


def turns_apart(
    company: Sequence[Trial], study: Study, at_most: int, *, parts: int, server: str | None = None
) -> str:
    """Why these trials do not all take turns with each other, but in `parts`; 0 for each by itself.

    It is this server that was promised `at_most`.
    """
    needed = _needed(company, study, server)
    how = f"in {parts} parts, each with the baseline" if parts else "each by itself"
    group = group_label(company[0].case.levels, study)
    return (
        f"{f'{group}: ' if group else ''}{how}, since all {len(company)} cases in turns take "
        f"{needed} connections at once, and {server or 'the server'} was promised at most {at_most} "
        f"(--max-connections {needed} lets all of them take turns)"
    )


def _at(server: str | None, trials: Sequence[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.case.levels.server == server]


def _needed(company: Sequence[Trial], study: Study, server: str | None) -> int:
    """How many connections those of these trials need at once that are measured at this server."""
    return Promise.of(_levels(_at(server, company)), study).total


def _with_fewer(study: Study, rooms: Mapping[str | None, Room]) -> Study:
    """The study with as many connections as all that are compared can have at once; at least one each.

    As it is where it names several numbers of connections, or none.
    """
    named = _connections(study)
    if len(named) != 1 or "connections" in study.baseline:
        return study
    for connections in range(named[0], 0, -1):
        fewer = study if connections == named[0] else override(study, "connections", [str(connections)])
        fits = (
            promise.total <= room.at_most for name, room in rooms.items() for promise in _at_once(fewer, name)
        )
        if all(fits):
            return fewer
    return override(study, "connections", ["1"])


def _at_once(study: Study, server: str | None) -> Iterator[Promise]:
    """What each group needs there whose cases all sit together, and each case by itself."""
    yield from _alone(study, server)
    for company in _companies(study):
        yield Promise.of(_levels(_at(server, company)), study)


def _promises(study: Study, limits: ExternalLimits, server: str | None) -> Iterator[Promise]:
    """What each case needs by itself at this server, and those that sit together there."""
    yield from _alone(study, server)
    for company in _companies(study):
        yield from (Promise.of(_levels(_at(server, part)), study) for part in limits.parted(company, study))


def _alone(study: Study, server: str | None) -> Iterator[Promise]:
    """What each case of this server needs by itself."""
    own = (case for case in cases(study) if case.levels.server == server)
    return (Promise.of([case.levels], study) for case in own)


def _companies(study: Study) -> Iterator[list[Trial]]:
    block = next(block for block in blocks(study, seed=0) if not block[0].goes_before)
    return companies(study, block)


def _levels(trials: Sequence[Trial]) -> list[CaseLevels]:
    return [trial.case.levels for trial in trials]


def _connections(study: Study) -> list[int]:
    return sorted(int(level) for level in study.levels_of().get("connections", ()))


def _too_many(study: Study, promise: Promise, room: Room, server: str | None) -> UserMistake:
    """That the run needs more than it may have, with the option that helps."""
    if promise.total <= room.free:
        fitting = _fitting(study, room.at_most, server)
        fewer = f", or ask for fewer with --connections {fitting}" if fitting else ""
    elif fitting := _fitting(study, room.free, server):
        total = _most_alone(override(study, "connections", [str(fitting)]), server)
        allowing = f" --max-connections {total}" if total > room.at_most else ""
        fewer = f", or ask for fewer with --connections {fitting}{allowing}"
    else:
        fewer = ""
    return _no_room(promise, room, fewer)


def _no_room(promise: Promise, room: Room, remedy_beside: str) -> UserMistake:
    """That more is needed than may be had; `remedy_beside` goes behind what allows or makes room for it."""
    has = f"{room.server} has {room.free} free ({room.words()})"
    needed = f"at most {promise.total} connections at once are needed: {promise.parts()}"
    if promise.total <= room.free:
        allowed = (
            f"and a run takes one in {SHARE} of those unless it is told more"
            if room.asked is None
            else f"and --max-connections {room.asked} allows fewer"
        )
        remedy = f"allow it with --max-connections {promise.total}{remedy_beside}"
        return UserMistake(f"{needed}; {has}, {allowed}", remedy=remedy)
    limit = room.limit_of_account if room.is_the_accounts else "max_connections"
    return UserMistake(f"{needed}; {has}", remedy=f"raise {limit}{remedy_beside}")


def _fitting(study: Study, at_most: int, server: str | None) -> int:
    """The most connections with which every case of this server fits by itself; 0 where none does."""
    if not _connections(study) or "connections" in study.baseline:
        return 0
    for connections in range(min(_connections(study)[-1], at_most), 0, -1):
        if _most_alone(override(study, "connections", [str(connections)]), server) <= at_most:
            return connections
    return 0


def _most_alone(study: Study, server: str | None) -> int:
    """The most connections that one of this server's cases needs by itself."""
    return max(promise.total for promise in _alone(study, server))
