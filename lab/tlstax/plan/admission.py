"""From the connections that an external server has free to what a run takes of them. Pure.

Cases that keep their connections hold them while others have their turn, so that a group of them holds many
times as many. Where that is too many, there are fewer connections for each, unless the user said how many
there are to be; else fewer cases sit together, each of them beside the baseline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tlstax.plan.elsewhere import SHARE, Elsewhere, Promise, Room
from tlstax.plan.order import blocks, cases
from tlstax.plan.sittings import companies
from tlstax.records.external import ExternalServer
from tlstax.records.trial import Trial
from tlstax.study import Levels, Study, override
from tlstax.study.labels import group_label
from tlstax.support.errors import UserMistake


@dataclass(frozen=True)
class Leeway:
    """How far a study may give way to an external server; by default not at all.

    Of its connections a run has `at_most`, None for a share of those that are free. With `fewer_connections`
    cases have fewer each than the study says where that is too few, and with `no_plaintext` those in the
    clear are left out where server or account rule them out; `tls_demanded_by` is what the user did that by
    already. With `no_tables` statements that read nothing take the place of point selects where nothing may
    be made.
    """

    at_most: int | None = None
    fewer_connections: bool = False
    no_plaintext: bool = False
    tls_demanded_by: str = ""
    no_tables: bool = False


@dataclass(frozen=True)
class Admission:
    """What a run takes of an external server: the study with as many connections as fit, and the promise."""

    study: Study
    promise: Promise
    room: Room
    fewer_than: int | None = None

    def words(self) -> str:
        """For example "at most 35 connections at once (of 151 connections, 3 of them in use): 32 for …"."""
        return words_of(self.promise, self.room)

    def record(self, round_trip_s: float, no_plaintext: str, no_tables: str) -> ExternalServer:
        """What a run's header has of it, with how fast the server answers and why something was left out."""
        return ExternalServer(
            max_connections=self.room.max_connections,
            in_use=self.room.in_use,
            at_most=self.room.at_most,
            promised=self.promise.total,
            fewer_than=self.fewer_than,
            round_trip_s=round_trip_s,
            no_plaintext=no_plaintext,
            no_tables=no_tables,
        )


def admit(study: Study, room: Room, server: str, *, fewer: bool) -> Admission:
    """What the study takes of `server`; with `fewer` its cases have fewer connections where need be.

    UserMistake where one of its cases needs more by itself than the run may have.
    """
    _check_asked(room, server)
    fitting = _with_fewer(study, room.at_most) if fewer else study
    elsewhere = Elsewhere(room.at_most, round_trip_s=0.0)
    promise = max(_promises(fitting, elsewhere), key=lambda one: one.total)
    if promise.total > room.at_most:
        raise _too_many(study, promise, room, server)
    fewer_than = _connections(study)[-1] if fitting != study else None
    return Admission(fitting, promise, room, fewer_than)


def words_of(promise: Promise, room: Room) -> str:
    """What a server is promised, and of how many; with how to make it fewer, where nobody said how many."""
    own = "; --max-connections takes fewer" if room.asked is None else ""
    return f"at most {promise.total} connections at once (of {room.words()}): {promise.parts()}{own}"


def most_that_fits(of: Callable[[int], Promise], room: Room, server: str, *, least: int, most: int) -> int:
    """As many connections as a server has room for, up to `most`; `of` says what so many are promised as.

    UserMistake where it has no room for `least`.
    """
    _check_asked(room, server)
    fitting = (count for count in range(min(most, room.at_most), 0, -1) if of(count).total <= room.at_most)
    found = next(fitting, 0)
    if found >= least:
        return found
    raise _no_room(of(least), room, server, "")


def _check_asked(room: Room, server: str) -> None:
    if room.asked is not None and room.asked > room.free:
        raise UserMistake(
            f"--max-connections {room.asked} is more than {server} has free ({room.words()})",
            remedy=f"give at most {room.free}",
        )


def without_room(study: Study, external: ExternalServer | None) -> Iterator[str]:
    """What a run does otherwise since an external server has no room for all, a sentence each."""
    if external is None:
        return
    if external.fewer_than is not None:
        (now,) = _connections(study)
        yield (
            f"{now} of {external.fewer_than} connections for each case, so that all that are compared take "
            f"turns within {external.at_most} of the server's connections (--max-connections allows more)"
        )
    elsewhere = Elsewhere(external.at_most, external.round_trip_s)
    for company in _companies(study):
        if elsewhere.is_too_far(_levels(company), study):
            yield _too_far(company, study, external.round_trip_s)
            continue
        parts = elsewhere.parted(company, study)
        if len(parts) != 1:
            yield turns_apart(company, study, external.at_most, parts=len(parts))


def _too_far(company: Sequence[Trial], study: Study, round_trip_s: float) -> str:
    group = group_label(company[0].case.levels, study)
    return (
        f"{f'{group}: ' if group else ''}each by itself, since the server answers after "
        f"{round_trip_s * 1000:.2g} ms, and a turn would be long before it had some operations of each "
        "connection"
    )


def turns_apart(company: Sequence[Trial], study: Study, at_most: int, *, parts: int) -> str:
    """Why these trials do not all take turns with each other, but in `parts`; 0 for each by itself."""
    needed = Promise.of(_levels(company), study).total
    how = f"in {parts} parts, each with the baseline" if parts else "each by itself"
    group = group_label(company[0].case.levels, study)
    return (
        f"{f'{group}: ' if group else ''}{how}, since all {len(company)} cases in turns take "
        f"{needed} connections at once, and the server was promised at most {at_most} "
        f"(--max-connections {needed} lets all of them take turns)"
    )


def _with_fewer(study: Study, at_most: int) -> Study:
    """The study with as many connections as all that are compared can have at once; at least one each.

    As it is where it names several numbers of connections, or none.
    """
    named = _connections(study)
    if len(named) != 1 or "connections" in study.baseline:
        return study
    for connections in range(named[0], 0, -1):
        fewer = study if connections == named[0] else override(study, "connections", [str(connections)])
        if all(promise.total <= at_most for promise in _at_once(fewer)):
            return fewer
    return override(study, "connections", ["1"])


def _at_once(study: Study) -> Iterator[Promise]:
    """What each group needs whose cases all sit together, and each case by itself."""
    yield from (Promise.of([case.levels], study) for case in cases(study))
    for company in _companies(study):
        yield Promise.of(_levels(company), study)


def _promises(study: Study, elsewhere: Elsewhere) -> Iterator[Promise]:
    """What each case needs by itself, and those that sit together there."""
    yield from (Promise.of([case.levels], study) for case in cases(study))
    for company in _companies(study):
        yield from (Promise.of(_levels(part), study) for part in elsewhere.parted(company, study))


def _companies(study: Study) -> Iterator[list[Trial]]:
    block = next(block for block in blocks(study, seed=0) if not block[0].goes_before)
    return companies(study, block)


def _levels(trials: Sequence[Trial]) -> list[Levels]:
    return [trial.case.levels for trial in trials]


def _connections(study: Study) -> list[int]:
    return sorted(int(level) for level in study.levels_of().get("connections", ()))


def _too_many(study: Study, promise: Promise, room: Room, server: str) -> UserMistake:
    """That the run needs more than it may have, with the option that helps."""
    if promise.total <= room.free:
        fitting = _fitting(study, room.at_most)
        fewer = f", or ask for fewer with --connections {fitting}" if fitting else ""
    elif fitting := _fitting(study, room.free):
        total = _most_alone(override(study, "connections", [str(fitting)]))
        allowing = f" --max-connections {total}" if total > room.at_most else ""
        fewer = f", or ask for fewer with --connections {fitting}{allowing}"
    else:
        fewer = ""
    return _no_room(promise, room, server, fewer)


def _no_room(promise: Promise, room: Room, server: str, remedy_beside: str) -> UserMistake:
    """That more is needed than may be had; `remedy_beside` goes behind what allows or makes room for it."""
    has = f"{server} has {room.free} free ({room.words()})"
    needed = f"at most {promise.total} connections at once are needed: {promise.parts()}"
    if promise.total <= room.free:
        allowed = (
            f"and a run takes one in {SHARE} of those unless it is told more"
            if room.asked is None
            else f"and --max-connections {room.asked} allows fewer"
        )
        remedy = f"allow it with --max-connections {promise.total}{remedy_beside}"
        return UserMistake(f"{needed}; {has}, {allowed}", remedy=remedy)
    limit = "the account's MAX_USER_CONNECTIONS" if room.is_the_accounts else "max_connections"
    return UserMistake(f"{needed}; {has}", remedy=f"raise {limit}{remedy_beside}")


def _fitting(study: Study, at_most: int) -> int:
    """The most connections with which every case fits by itself; 0 where none does."""
    if not _connections(study) or "connections" in study.baseline:
        return 0
    for connections in range(min(_connections(study)[-1], at_most), 0, -1):
        if _most_alone(override(study, "connections", [str(connections)])) <= at_most:
            return connections
    return 0


def _most_alone(study: Study) -> int:
    """The most connections that one of the study's cases needs by itself."""
    return max(Promise.of([case.levels], study).total for case in cases(study))
