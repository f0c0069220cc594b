"""A check of the machine: how it stands, what that means for measuring, what would help; and many as text."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, get_args

from pydantic import ConfigDict, Field

from tlstax.contract import Frozen
from tlstax.support.errors import TlstaxError

Status = Literal["ok", "limited", "missing"]


class Check(Frozen):
    """`remedy` says what would help; it is empty where nothing needs to, or nothing can."""

    name: str
    status: Status
    found: str
    meaning: str
    remedy: str = ""


class Diagnosis(Frozen):
    """The document that `doctor --json` prints."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    checks: tuple[Check, ...]


class Seen(NamedTuple):
    """What a check saw, of which `CHECKS` knows the name; the fields are those of a `Check`."""

    status: Status
    found: str
    meaning: str
    remedy: str = ""


def missing(fault: TlstaxError, meaning: str) -> Seen:
    """That something is not to be had, in the words of the fault that told of it."""
    return Seen("missing", fault.message, meaning, fault.remedy)


def guarded(name: str, look: Callable[[], Seen]) -> Check:
    """The check of this name, or, where looking failed, one that says so: a diagnosis never raises."""
    meaning = "Unknown here; measuring may work all the same."
    try:
        seen = look()
    except TlstaxError as error:
        seen = Seen("limited", error.message, meaning, error.remedy)
    except Exception as error:
        seen = Seen("limited", f"could not be looked at ({type(error).__name__}: {error})", meaning)
    return Check(name=name, **seen._asdict())


LEAST_BESIDE, INDENT = 40, 4
"""How many columns of words stand beside a check's name at the least; with fewer they stand below it."""


def to_text(checks: Sequence[Check], width: int = 100) -> str:
    """One block a check: what was found; where it is not as it should be, what that means and what helps."""
    margin = max((len(check.name) for check in checks), default=0) + 2
    blocks = [_block(check, margin, width) for check in checks]
    counts = [(sum(check.status == status for check in checks), status) for status in get_args(Status)]
    summary = ", ".join(f"{count} {status}" for count, status in counts)
    return "\n".join([*blocks, "", summary]) + "\n"


def to_json(checks: Sequence[Check]) -> str:
    """The document of `doctor --json`, schema 1."""
    return Diagnosis(checks=tuple(checks)).model_dump_json(indent=2) + "\n"


def _block(check: Check, margin: int, width: int) -> str:
    head = f"{check.status:<9}{check.name:<{margin}}"
    parts = [check.found]
    if check.status != "ok":
        parts.append(check.meaning)
        if check.remedy:
            parts.append(f"What would help: {check.remedy}.")
    below = width - len(head) < LEAST_BESIDE
    indent = " " * (INDENT if below else len(head))
    # A path is left whole, to be copied.
    wrapper = textwrap.TextWrapper(width - len(indent), break_long_words=False, break_on_hyphens=False)
    lines = [line for part in parts for line in wrapper.wrap(part)]
    if below:
        return "\n".join([head.rstrip(), *(indent + line for line in lines)])
    return "\n".join((head if place == 0 else indent) + line for place, line in enumerate(lines))
