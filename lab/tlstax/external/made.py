"""What a run makes in somebody else's schema: on record before it is made, so that nothing else is dropped.

What is at a server may be anybody's: a comment, a row of a table and a whole table of ours can be written by
others, copied, or restored from a dump of another schema or server. So nothing there is dropped on its word
alone. A sign has a random part and a keyed digest (HMAC-SHA-256) of it, of the server, the schema, the kind
and the name of the object; the key never leaves this machine. It is in the data directory, as are the claims:
files that say which schemas were about to be created, and which were.

What a machine that has another key left behind is nobody's here: it is named, with the statements that drop
it, and left.

The record is a table of ours, `tlstax_made`, to which rows are only added: an account needs no more rights
than for the load tables. By it the next run finds what one that was killed had made, and knows it again by
its sign (`schema.py` of its product). What counts is only what was signed with this machine's key, a table
as well as a row.

- A table gets a signed comment of its own in the same statement that creates it. So whatever bears the
  comment, under the name that it was signed for, was made by that statement, whenever the run ended.
- Anything else, and a table that cannot be given a comment, is created first and then looked at. A run that
  was killed in between leaves a row that proves nothing; what stands there is left and named.

A CREATE that succeeds made the object: the server refuses a name that is taken, and with IF NOT EXISTS
warns. Before an object is dropped, it must still have its sign. Between that look and the
DROP there is a millisecond in which another could put something else in its place; neither MySQL nor MariaDB
has a DROP that asks.

The record also says until when a run is at work, for the nodes of a cluster, which do not know of each
other's locks.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from tlstax.external import workload_guard
from tlstax.external.reading import Creation, Place, Reading, Refused
from tlstax.external.workload_guard import guard_of
from tlstax.products.external import ExternalProduct
from tlstax.sql import answers
from tlstax.sql.database import Database, SqlError
from tlstax.sql.ownership import RECORD, Entry, Lock, Mark, Thing, not_ours
from tlstax.study.workloads import KEPT
from tlstax.support.directories import data_dir, ensure_directory
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.support.text import enumerated

FOLDER, KEY_FILE = "external-servers", "key"
_KEY = re.compile(r"[0-9a-f]{64}\n?")

_SIGNED = re.compile(r"tlstax [a-z -]{1,60} ([0-9a-f]{16})-([0-9a-f]{32})")
_OLD = re.compile(
    r"tlstax load table(, in a schema that tlstax created)?|tlstax made this for a workload [0-9a-f]{32}"
)
"""The comments of versions that had no key."""

ClaimState = Literal["none", "intended", "created"]


class Ownership:
    """Signs for what is made in one schema of one server, with this machine's key.

    Where a server has databases with schemas of their own, `place` is the database and the schema.
    """

    def __init__(self, key: bytes, server: str, *place: str) -> None:
        self._key, self._place = key, (server, *place)

    def comment(self, kind: str, name: str, words: str) -> str:
        """A new sign for an object of this name, as its comment, which begins with these words."""
        chance = secrets.token_hex(8)
        return f"tlstax {words} {chance}-{self._digest('sign', kind, name, chance)[:32]}"

    def owns(self, kind: str, name: str, comment: str) -> bool:
        """Whether the comment is a sign that was made here, for an object of this kind and name."""
        parts = _SIGNED.fullmatch(comment)
        return parts is not None and hmac.compare_digest(
            parts[2], self._digest("sign", kind, name, parts[1])[:32]
        )

    def proof(self, *words: str) -> str:
        """What shows that these words of a row were written here."""
        return self._digest("row", *words)

    def proves(self, proof: str, *words: str) -> bool:
        """Whether the proof is that of these words."""
        return hmac.compare_digest(proof.encode(), self.proof(*words).encode())

    def claim(self) -> SchemaClaim:
        """What this machine claims of the schema itself."""
        return SchemaClaim(_folder() / f"{self._digest('schema')[:32]}.json", *self._place)

    def _digest(self, *words: str) -> str:
        message = json.dumps([*self._place, *words]).encode()
        return hmac.new(self._key, message, hashlib.sha256).hexdigest()


class SchemaClaim:
    """A file that says that this machine is about to create a schema, or has created it.

    It is written before CREATE DATABASE, so that what a run that is killed right after it leaves is found.
    """

    def __init__(self, path: Path, server: str, *place: str) -> None:
        self._path, self._server, self._schema = path, server, ".".join(place)

    def state(self) -> ClaimState:
        """What is on record; a file that makes no sense claims nothing."""
        try:
            state = json.loads(self._path.read_text(encoding="utf-8")).get("state")
        except (OSError, ValueError, AttributeError):
            return "none"
        return state if state in {"intended", "created"} else "none"

    def write(self, state: Literal["intended", "created"]) -> None:
        """Have it on disk before this returns. MachineFault where that is not possible."""
        content = {"state": state, "schema": self._schema, "server": self._server}
        try:
            _write(self._path, json.dumps(content) + "\n")
        except OSError as error:
            raise _unusable(self._path, error) from error

    def remove(self) -> None:
        """The schema is gone, or is not ours."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)


def key() -> bytes:
    """The key of this machine, made when there is none. MachineFault where it cannot be read or made."""
    path = _folder() / KEY_FILE
    try:
        if not path.exists():
            _make(path)
        text = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise _unusable(path, error) from error
    if not _KEY.fullmatch(text):
        raise MachineFault(
            f"{path} holds no key of tlstax's",
            remedy="remove it: what tlstax left at external servers until now is named then, and not dropped",
        )
    return bytes.fromhex(text.strip())


def looks_ours(comment: str) -> bool:
    """Whether a tlstax has made it, as far as a comment can say that: any version, on any machine."""
    return bool(_SIGNED.fullmatch(comment) or _OLD.fullmatch(comment))


def _folder() -> Path:
    return ensure_directory(data_dir() / FOLDER)


def _make(path: Path) -> None:
    """Whoever comes first makes it; all read what is there then."""
    draft = path.with_name(f"{path.name}-{secrets.token_hex(8)}")
    try:
        _write(draft, secrets.token_hex(32) + "\n")
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        except OSError:  # A file system without hard links.
            draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _write(path: Path, text: str) -> None:
    """The whole text or none, readable by this user alone, on disk when this returns."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _unusable(path: Path, error: Exception) -> MachineFault:
    why = getattr(error, "strerror", None) or str(error)
    return MachineFault(
        f"{path}, by which tlstax knows what it makes at external servers, cannot be used ({why})",
        remedy="make its directory writable, or name another one with TLSTAX_DATA",
    )


RENEWED_EVERY_S = 60.0
"""How old the record's last row may become before another says that this run is still at work."""

NAMED_AT_MOST = 12
"""Statements for pasting in one sentence."""

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

    def __init__(self, product: ExternalProduct, name: str, owner: Ownership, node: str, warn: Warn) -> None:
        self._schema, self._owner, self._node, self._warn = name, owner, node, warn
        self._product, self._guard = product, guard_of(product)
        self._schemas, self._records = product.schema, product.ownership_table(name)
        self._run = secrets.token_hex(16)
        self._signs: dict[Thing, set[str]] = {}
        self._filled: set[Thing] = set()
        self._named: set[Thing] = set()
        self._unsettled: tuple[Thing, Lock] | None = None
        self._renewed_s = 0.0
        self.has_begun = False
        self._is_bare = False

    def remaining(self) -> list[str]:
        """The names of all that was made and is not known to be gone."""
        return sorted(thing.name for thing in {*self._signs, *self._filled})

    def known(self) -> set[Thing]:
        """What statements of the user's made or found there, as far as it is ours or was named."""
        return {*self._signs, *self._named}

    def begin(self, database: Database, load_tables: Iterable[str], *, named: bool) -> None:
        """Make the record anew, with this run in it; what a killed run left is cleared before.

        The schema was `named` by the user, or else is one that a tlstax may have created.
        UserMistake where a run is at work on another node, or a table of a name that we need is not ours.
        """
        comments = self._schemas.table_comments(database, self._schema)
        if RECORD in comments:
            self._check_idle(database)
        taken = {name for name in (*load_tables, RECORD) if name in comments}
        foreign = sorted(name for name in taken if not self._owner.owns("TABLE", name, comments[name]))
        for name in foreign:
            if not looks_ours(comments[name]):
                raise not_ours(name)
        if foreign:
            raise self._left_by_another(database, foreign, named=named)
        if RECORD in comments:
            self._clear_left_over(database, comments, taken)
            self._drop_record(database)
        record = Thing("TABLE", RECORD)
        self._filled.add(record)
        self.has_begun = self._is_bare = True
        if not self._records.create(database, self._owner.comment(record.kind, RECORD, "record")):
            self._filled.discard(record)
            self.has_begun = False
            raise self._is_busy()
        try:
            self._write(database, "run")
            self._is_bare = False
        except SqlError:
            # A record without this run would be taken for another's, and be left there.
            with suppress(SqlError):
                self._drop_record(database)
                self._filled.discard(record)
                self.has_begun = False
            raise

    def fills(self, load_table: str) -> Mark:
        """A load table is about to be made: by which comment it is known."""
        self._filled.add(Thing("TABLE", load_table))
        words = "copy of a load table" if load_table.endswith(KEPT) else "load table"
        return Mark(
            self._owner.comment("TABLE", load_table, words),
            lambda comment: self._owner.owns("TABLE", load_table, comment),
        )

    def is_on_record(self, database: Database) -> bool | None:
        """Whether the record there is this run's, and not one that has settled in since; None for none.

        Whoever interrupts us between making it and its first entry leaves an empty one, which is ours.
        """
        has_entry = self._records.has(database, self._run)
        is_ours_and_empty = self._is_bare and has_entry is False and self._records.is_empty(database)
        return True if is_ours_and_empty else has_entry

    def renew(self, database: Database, node: str | None = None) -> None:
        """Say that this run is still at work, on this node from now on if it is another."""
        moved = node is not None and node != self._node
        if node is not None:
            self._node = node
        if moved or time.monotonic() - self._renewed_s > RENEWED_EVERY_S:
            self._write(database, "run")

    def check_load_tables(self, database: Database) -> None:
        """MachineFault where a load table is no longer the one that was made: trials would empty it.

        Without the record, what is made from now on would not be found after a kill.
        """
        comments = self._schemas.table_comments(database, self._schema)
        if RECORD not in comments:
            raise MachineFault(
                f"another has dropped {RECORD} in {self._schema}, where tlstax records what it makes there",
                remedy="start again",
            )
        for thing in sorted(self._filled):
            if thing.name in comments and not self._owner.owns("TABLE", thing.name, comments[thing.name]):
                raise MachineFault(
                    f"another has put a table of its own in the place of {thing.name} in {self._schema}",
                    remedy="rename that table, and start again",
                )

    def carry_out(self, database: Database, worker: Database, statement: str, place: Place) -> None:
        """Carry out a statement of the user's on `worker`; what it creates is ours from then on.

        Raises StatementRefused, SqlError for what is asked beside it, and UserMistake for a statement
        that is not known to leave everything of others as it is.
        """
        try:
            reading = self._guard.read(statement, place, self._schema, self._functions())
            has_work = self._check_names(database, reading)
        except Refused as why:
            raise UserMistake(
                workload_guard.sentence(str(why), statement), remedy=workload_guard.remedy(place)
            ) from why
        if reading.creation is not None:
            self._create(database, worker, statement, reading.creation)
        elif has_work:
            _execute(worker, statement)

    def check(self, database: Database, statement: str, place: Place) -> None:
        """Refused where a statement that a load client will say reaches what is not ours; SqlError."""
        self._check_names(database, self._guard.read(statement, place, self._schema, self._functions()))

    def owns(self, database: Database, thing: Thing) -> bool:
        """Whether this run has made it and it is still as it was made. Raises SqlError."""
        current = self._schemas.sign(database, self._schema, thing)
        if current is None or thing.name == RECORD:
            return False
        known = self._signs.get(thing)
        if known is not None:
            return current in known
        is_load_table = thing in self._filled and not thing.name.endswith(KEPT)
        return is_load_table and self._owner.owns(thing.kind, thing.name, current)

    def _check_names(self, database: Database, reading: Reading) -> bool:
        return workload_guard.check_names(
            self._product,
            database,
            self._schema,
            reading,
            lambda thing: self.owns(database, thing),
            lambda name: self._product.server_facts.as_kept(database, name),
        )

    def _functions(self) -> set[str]:
        return {thing.name.lower() for thing in self._signs if thing.kind == "FUNCTION"}

    def leave(self, database: Database, load_tables: Iterable[str]) -> list[str]:
        """Drop all that was made, the load tables and the record; what has to be left, in words.

        Nothing is dropped that is no longer known to be ours, or that tables of others refer to.
        """
        if not self.has_begun:
            return []
        comments = self._schemas.table_comments(database, self._schema)
        self._filled |= {
            Thing("TABLE", name)
            for name in load_tables
            if self._owner.owns("TABLE", name, comments.get(name, ""))
        }
        left = self._settle(database) + self._drop_all(database)
        self._drop(database, Thing("TABLE", RECORD), left)
        return left

    def _create(self, database: Database, worker: Database, statement: str, creation: Creation) -> None:
        is_table = creation.kind in {"TABLE", "VIEW"}
        name = self._product.server_facts.as_kept(database, creation.name) if is_table else creation.name
        thing = Thing(creation.kind, name)
        comment = self._owner.comment(thing.kind, name, "made this for a workload")
        marked = self._guard.with_comment(
            statement, creation, self._schemas.quoted_table(self._schema, name), comment
        )
        self._write(database, "intended", thing, comment if thing.kind == "TABLE" else "")
        at_work = self._product.session.NamedLock(f"tlstax-{secrets.token_hex(16)}")
        at_work.take(worker)
        self._unsettled = thing, at_work
        if thing.kind == "TABLE":
            # Before it is made: whatever bears this comment when we are interrupted is ours.
            self._signs.setdefault(thing, set()).add(comment)
        try:
            is_new = self._created(worker, marked or statement, creation)
        except StatementRefused as refused:
            if marked is None or refused.error.code not in self._product.database.PARSE_ERROR:
                self._give_up(database, thing, comment)
                raise
            # The place for the comment was none after all.
            is_new, marked = self._created(worker, statement, creation), None
        sign = self._schemas.sign(database, self._schema, thing)
        if marked is None and is_new and thing.kind == "TABLE":
            sign = self._commented(database, thing, comment)
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
        thing, at_work = self._unsettled
        at_work.end_holder(database)
        deadline = time.monotonic() + BROKEN_OFF_S
        while time.monotonic() < deadline and at_work.holder(database) is not None:
            time.sleep(LOOK_AGAIN_S)
        if thing.kind == "TABLE" or self._schemas.sign(database, self._schema, thing) is None:
            return []
        return [
            f"tlstax may have made {thing} in {self._schema}; that is not certain, so it stays there; "
            f"if nobody needs it: {self._for_pasting(database, [thing])}"
        ]

    def _clear_left_over(self, database: Database, comments: Mapping[str, str], kept: set[str]) -> None:
        """Drop what a killed run made and is still as it was made; name what is not certain.

        Tables that are `kept` are used again.
        """
        open_steps: Counter[Thing] = Counter()
        for step, kind, name, sign, proof in self._records.entries(database):
            if kind not in self._schemas.KINDS or not self._owner.proves(proof, step, kind, name, sign):
                continue
            thing = Thing(kind, name)
            open_steps[thing] += 1 if step == "intended" else -1
            if sign:
                self._signs.setdefault(thing, set()).add(sign)
        for name, comment in comments.items():
            if name not in kept and self._owner.owns("TABLE", name, comment):
                self._signs.setdefault(Thing("TABLE", name), set()).add(comment)
        uncertain = []
        for thing in {*open_steps, *self._signs}:
            current = self._schemas.sign(database, self._schema, thing)
            if current is None or not self._is_ours(thing, current):
                self._signs.pop(thing, None)
                uncertain += [thing] if current is not None and open_steps[thing] > 0 else []
        if uncertain:
            things = enumerated([str(thing) for thing in sorted(uncertain)])
            self._name_left(
                database, f"a run that was killed may have made {things} in {self._schema}", uncertain
            )
        for words in self._drop_all(database):
            self._warn(words)
        self._signs.clear()

    def _is_ours(self, thing: Thing, current: str) -> bool:
        """Whether what has this sign is ours: a table by the sign itself, anything else where we noted it."""
        if thing.kind == "TABLE":
            return self._owner.owns(thing.kind, thing.name, current)
        return bool(current) and current in self._signs.get(thing, ())

    def _check_idle(self, database: Database) -> None:
        """UserMistake where a run is at work on another node of the cluster, whose lock is not seen here."""
        busy_s = self._records.busy_elsewhere_s(database, self._node)
        if busy_s:
            minutes = math.ceil(busy_s / 60)
            raise self._is_busy(", on another node of the cluster", f" ({minutes} min if it was killed)")

    def _is_busy(self, where: str = "", how_long: str = "") -> UserMistake:
        return UserMistake(
            f"another tlstax is at work in the schema {self._schema}{where}",
            remedy=f"wait for it to end{how_long}, or name another schema in the URL",
        )

    def _left_by_another(self, database: Database, tables: Collection[str], *, named: bool) -> UserMistake:
        """These tables, and what the record among them names, are of a tlstax with another key, or none."""
        left = {Thing("TABLE", name) for name in tables}
        for kind, name, sign in self._records.claimed_things(database) if RECORD in tables else ():
            if kind in self._schemas.KINDS and sign and (kind != "TABLE" or looks_ours(sign)):
                thing = Thing(kind, name)
                left |= {thing} if self._schemas.sign(database, self._schema, thing) == sign else set()
        names = [str(thing) for thing in sorted(left)]
        lines = self._for_pasting(database, left)
        few = len(left) <= NAMED_AT_MOST
        if few and not named and self._schemas.listed(database, self._schema) <= {*names}:
            lines += f" {self._schemas.drop_statement(self._schema)};"
        return UserMistake(
            f"a tlstax of another version or on another machine seems to have left {enumerated(names)} in "
            f"{self._schema}, and this one drops only its own",
            remedy=f"look at them, and if nobody needs them: {lines}",
        )

    def _for_pasting(self, database: Database, things: Collection[Thing]) -> str:
        """The statements that drop these, as many as a sentence holds; the record, which names all, last."""
        record = Thing("TABLE", RECORD)
        others = self._schemas.object_drop_statements(database, self._schema, {*things} - {record})
        lines = others + self._schemas.object_drop_statements(database, self._schema, {*things} & {record})
        more = len(lines) - NAMED_AT_MOST
        rest = f" ({more} more when these are gone)" if more > 0 else ""
        return " ".join(lines[:NAMED_AT_MOST]) + rest

    def _name_left(self, database: Database, what: str, things: Collection[Thing]) -> None:
        self._warn(
            f"{what}; that is not certain, so it stays there; if nobody needs it: "
            f"{self._for_pasting(database, things)}"
        )

    def _drop_all(self, database: Database) -> list[str]:
        """All but the record, in an order that foreign keys allow; what has to be left, in words."""
        left: list[str] = []
        for kind in self._schemas.DROPPED_FIRST:
            for thing in [one for one in self._signs if one.kind == kind]:
                self._drop(database, thing, left)
        record = Thing("TABLE", RECORD)
        waiting = [one for one in (*self._signs, *sorted(self._filled)) if one != record]
        untied = False
        while waiting:
            held = [thing for thing in waiting if not self._drop(database, thing, left)]
            if len(held) == len(waiting):
                if untied or not self._untied(database, held):
                    break
                untied = True
            waiting = held
        why = self._schemas.HOLDS_IT
        return left + [f"{thing} in {self._schema} stays there, because {why}" for thing in waiting]

    def _drop(self, database: Database, thing: Thing, left: list[str]) -> bool:
        """Drop it if it is still ours, else name it in `left`; False where a foreign key keeps it."""
        current = self._schemas.sign(database, self._schema, thing)
        if current is not None:
            if not self._is_ours(thing, current):
                left.append(f"{thing} in {self._schema} is no longer as tlstax made it, so it stays there")
            elif not self._schemas.drop_object(database, self._schema, thing):
                return False
        self._signs.pop(thing, None)
        self._filled.discard(thing)
        return True

    def _write(self, database: Database, step: str, thing: Thing | None = None, sign: str = "") -> None:
        kind, name = (thing.kind, thing.name) if thing else ("", "")
        entry = Entry(step, kind, name, sign, self._owner.proof(step, kind, name, sign))
        self._records.add(database, self._run, self._node, entry)
        self._renewed_s = time.monotonic()

    def _created(self, worker: Database, statement: str, creation: Creation) -> bool:
        """Carry out a CREATE; whether it made the object, which IF NOT EXISTS leaves open."""
        try:
            return self._product.session.create(worker, statement, if_not_exists=creation.if_not_exists)
        except SqlError as error:
            raise StatementRefused(error) from error

    def _commented(self, database: Database, thing: Thing, comment: str) -> str:
        """Give a table that was just made its comment; empty where the account may not alter it."""
        try:
            self._schemas.set_table_comment(database, self._schema, thing, comment)
        except SqlError:
            return ""
        return comment

    def _untied(self, database: Database, tables: list[Thing]) -> bool:
        """Whether foreign keys among these tables were dropped; not where the account may not alter them."""
        try:
            return self._schemas.untie(database, self._schema, tables)
        except SqlError:
            return False

    def _drop_record(self, database: Database) -> None:
        self._product.table.drop(database, self._schemas.in_schema(self._schema, RECORD))


def _execute(worker: Database, statement: str) -> None:
    try:
        answers.carry_out(worker, statement)
    except SqlError as error:
        raise StatementRefused(error) from error
