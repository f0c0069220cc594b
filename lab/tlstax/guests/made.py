"""What a run makes in somebody else's schema: on record before it is made, so that nothing else is dropped.

The record is a table of ours, `tlstax_made`, to which rows are only added: an account needs no more rights
than for the load tables. By it the next run finds what one that was killed had made, and knows it again by
its sign (`mysql/schema_objects.py`):

- A table gets a comment with a number of its own in the same statement that creates it, and the row with this
  comment is written before. So whatever bears the comment was made by that statement, whenever the run ended.
- Anything else, and a table that cannot be given a comment, is created first and then looked at. A run that
  was killed in between leaves a row that proves nothing; what stands there is left and named.

A CREATE that succeeds made the object: the server refuses a name that is taken, and with IF NOT EXISTS
warns. Before an object is dropped, it must still have the sign that is on record. Between that look and the
DROP there is a millisecond in which another could put something else in its place; neither MySQL nor MariaDB
has a DROP that asks.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from tlstax.guests import statements
from tlstax.guests.statements import Creation, Unrecognised
from tlstax.mysql import answers, error_codes, made_record, schema_objects, server_facts, session, table
from tlstax.mysql.database import Database, SqlError
from tlstax.mysql.made_record import Entry
from tlstax.mysql.schema_objects import KINDS, Kind, Thing
from tlstax.support.errors import UserMistake

RECORD = made_record.NAME
"""The record's name, `tlstax_made`."""

_DROPPED_FIRST: tuple[Kind, ...] = ("EVENT", "TRIGGER", "VIEW", "PROCEDURE", "FUNCTION")
"""What works on others goes before them; a trigger may stand at a table that is not ours."""

BROKEN_OFF_S, LOOK_AGAIN_S = 20.0, 0.05
"""How long the server may take to end a statement that was broken off."""

Warn = Callable[[str], None]


class StatementRefused(Exception):
    """The server does not carry out a statement of the user's; `error` is what it says."""

    def __init__(self, error: SqlError) -> None:
        super().__init__(error)
        self.error = error


class Made:
    """What this run has made in the schema, load tables among it, and the record of what else it makes."""

    def __init__(self, schema: str, warn: Warn) -> None:
        self._schema, self._warn = schema, warn
        self._run = secrets.token_hex(16)
        self._signs: dict[Thing, set[str]] = {}
        self._filled: set[Thing] = set()
        self._named: set[Thing] = set()
        self._unsettled: tuple[Thing, int] | None = None
        self._lower_case = False

    def remaining(self) -> list[str]:
        """The names of all that was made and is not known to be gone."""
        return sorted(thing.name for thing in {*self._signs, *self._filled})

    def known(self) -> set[Thing]:
        """What statements of the user's made or found there, as far as it is ours or was named."""
        return {*self._signs, *self._named}

    def begin(self, database: Database, comment: str) -> None:
        """Make the record anew, with this run in it; what a killed run left is cleared before.

        UserMistake where a table of its name is not ours.
        """
        self._lower_case = server_facts.lowers_table_names(database)
        if table.exists(database, RECORD):
            table.check_ours(database, RECORD)
            self._clear_left_over(database)
            table.drop(database, RECORD)
        self._filled.add(Thing("TABLE", RECORD))
        made_record.create(database, comment)
        self._write(database, "run")

    def fills(self, load_table: str) -> None:
        """A load table is about to be made."""
        self._filled.add(Thing("TABLE", load_table))

    def is_on_record(self, database: Database) -> bool:
        """Whether the record there is still this run's, so that no other run has settled in since."""
        return table.exists(database, RECORD) and made_record.has(database, self._run)

    def carry_out(self, database: Database, worker: Database, statement: str) -> None:
        """Carry out a statement of the user's on `worker`; what it creates is ours from then on.

        Raises StatementRefused, SqlError for what is asked beside it, and UserMistake for a statement
        whose work could not be taken back.
        """
        try:
            creation = statements.creation_of(statement, self._schema)
        except Unrecognised as why:
            raise UserMistake(
                f"an external server is left as it was found, and {why}: {statement}",
                remedy="change the statement, or carry it out there yourself before the run",
            ) from why
        if creation is None:
            _execute(worker, statement)
        else:
            self._create(database, worker, statement, creation)

    def leave(self, database: Database, load_tables: Iterable[str]) -> list[str]:
        """Drop all that was made, the load tables and the record; what has to be left, in words.

        Nothing is dropped that is no longer known to be ours, or that tables of others refer to.
        """
        self._filled |= {Thing("TABLE", name) for name in load_tables if table.exists(database, name)}
        left = self._settle(database) + self._drop_all(database)
        table.drop(database, RECORD)
        self._filled.discard(Thing("TABLE", RECORD))
        return left

    def _create(self, database: Database, worker: Database, statement: str, creation: Creation) -> None:
        name = (
            creation.name.lower()
            if self._lower_case and creation.kind in {"TABLE", "VIEW"}
            else creation.name
        )
        thing = Thing(creation.kind, name)
        comment = f"{table.COMMENT} made this for a workload {secrets.token_hex(16)}"
        marked = statements.with_comment(statement, creation, comment)
        self._write(database, "intended", thing, comment if thing.kind == "TABLE" else "")
        self._unsettled = thing, int(worker.thread_id())  # type: ignore[no-untyped-call]
        if thing.kind == "TABLE":
            # Before it is made: whatever bears this comment when we are interrupted is ours.
            self._signs.setdefault(thing, set()).add(comment)
        try:
            is_new = _created(worker, marked or statement, creation)
        except StatementRefused as refused:
            if marked is None or error_codes.number_of(refused.error) != error_codes.PARSE_ERROR:
                self._give_up(database, thing, comment)
                raise
            # The place for the comment was none after all.
            is_new, marked = _created(worker, statement, creation), None
        sign = schema_objects.sign(database, self._schema, thing)
        if marked is None and is_new and thing.kind == "TABLE":
            sign = _commented(database, thing, comment)
        if sign and (sign == comment if thing.kind == "TABLE" else is_new):
            self._signs.setdefault(thing, set()).add(sign)
            self._unsettled = None
            self._write(database, "made", thing, sign)
            return
        self._give_up(database, thing, comment)
        if thing not in {*self._signs, *self._named}:
            self._named.add(thing)
            why = "cannot be distinguished from what others make" if is_new else "was there before"
            self._warn(f"{thing} in {self._schema} {why}, so it stays there when the run ends")

    def _give_up(self, database: Database, thing: Thing, comment: str) -> None:
        """The statement made nothing that is ours."""
        self._unsettled = None
        known = self._signs.get(thing, set())
        known.discard(comment)
        if not known:
            self._signs.pop(thing, None)
        self._write(database, "void", thing)

    def _settle(self, database: Database) -> list[str]:
        """Where a CREATE was broken off, wait for the server to end it; what it may have made, in words."""
        if self._unsettled is None:
            return []
        thing, connection = self._unsettled
        with suppress(SqlError):
            session.end(database, connection)
        deadline = time.monotonic() + BROKEN_OFF_S
        while time.monotonic() < deadline and session.is_there(database, connection):
            time.sleep(LOOK_AGAIN_S)
        if thing.kind == "TABLE" or schema_objects.sign(database, self._schema, thing) is None:
            return []
        return [f"tlstax may have made {thing} in {self._schema}; that is not certain, so it stays there"]

    def _clear_left_over(self, database: Database) -> None:
        """Drop what a killed run has on record and is still as it was made; name what is not certain."""
        signs: dict[Thing, set[str]] = {}
        open_steps: dict[Thing, int] = {}
        for step, kind, name, sign in made_record.entries(database):
            if kind not in KINDS:
                continue
            thing = Thing(kind, name)
            open_steps[thing] = open_steps.get(thing, 0) + (1 if step == "intended" else -1)
            if sign:
                signs.setdefault(thing, set()).add(sign)
        for thing, steps in open_steps.items():
            current = schema_objects.sign(database, self._schema, thing)
            if current and current in signs.get(thing, ()):
                self._signs[thing] = signs[thing]
            elif current is not None and steps > 0:
                self._warn(
                    f"a run that was killed may have made {thing} in {self._schema}; that is not certain, "
                    "so it stays there: drop it if nobody needs it"
                )
        for words in self._drop_all(database):
            self._warn(words)
        self._signs.clear()

    def _drop_all(self, database: Database) -> list[str]:
        """All but the record, in an order that foreign keys allow; what has to be left, in words."""
        left: list[str] = []
        for kind in _DROPPED_FIRST:
            for thing in [one for one in self._signs if one.kind == kind]:
                self._drop(database, thing, left)
        record = Thing("TABLE", RECORD)
        waiting = [one for one in (*self._signs, *sorted(self._filled)) if one != record]
        untied = False
        while waiting:
            held = [thing for thing in waiting if not self._drop(database, thing, left)]
            if len(held) == len(waiting):
                if untied or not _untied(database, self._schema, held):
                    break
                untied = True
            waiting = held
        why = "because a foreign key of another table refers to it"
        return left + [f"{thing} in {self._schema} stays there, {why}" for thing in waiting]

    def _drop(self, database: Database, thing: Thing, left: list[str]) -> bool:
        """Drop it if it is still ours, else name it in `left`; False where a foreign key keeps it."""
        current = schema_objects.sign(database, self._schema, thing)
        known = self._signs.get(thing)
        if current is not None:
            if current in known if known is not None else current.startswith(table.COMMENT):
                if not schema_objects.drop(database, thing):
                    return False
            else:
                left.append(f"{thing} in {self._schema} is no longer as tlstax made it, so it stays there")
        self._signs.pop(thing, None)
        self._filled.discard(thing)
        return True

    def _write(self, database: Database, step: str, thing: Thing | None = None, sign: str = "") -> None:
        kind, name = (thing.kind, thing.name) if thing else ("", "")
        made_record.add(database, self._run, Entry(step, kind, name, sign))


def _execute(worker: Database, statement: str) -> None:
    try:
        answers.carry_out(worker, statement)
    except SqlError as error:
        raise StatementRefused(error) from error


def _created(worker: Database, statement: str, creation: Creation) -> bool:
    """Carry out a CREATE; whether it made the object, which IF NOT EXISTS leaves open."""
    warns = creation.if_not_exists and session.warns_of_notes(worker)
    _execute(worker, statement)
    if not creation.if_not_exists:
        return True
    codes = session.warning_codes(worker)
    return warns and not codes & error_codes.OBJECT_EXISTS


def _commented(database: Database, thing: Thing, comment: str) -> str:
    """Give a table that was just made its comment; empty where the account may not alter it."""
    try:
        schema_objects.comment_on(database, thing, comment)
    except SqlError:
        return ""
    return comment


def _untied(database: Database, schema: str, tables: list[Thing]) -> bool:
    """Whether foreign keys among these tables were dropped; not where the account may not alter them."""
    try:
        return schema_objects.untie(database, schema, tables)
    except SqlError:
        return False
