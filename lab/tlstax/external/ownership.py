"""What at an external server is ours: signs that only this machine can make, and schemas that it has claimed.

What is at a server may be anybody's: a comment, a row of a table and a whole table of ours can be written by
others, copied, or restored from a dump of another schema or server. So nothing there is dropped on its word
alone. A sign has a random part and a keyed digest (HMAC-SHA-256) of it, of the server, the schema, the kind
and the name of the object; the key never leaves this machine. It is in the data directory, as are the claims:
files that say which schemas were about to be created, and which were.

What a machine that has another key left behind is nobody's here: it is named, with the statements that drop
it, and left.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Literal

from tlstax.support.directories import data_dir, ensure_directory
from tlstax.support.errors import MachineFault

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
