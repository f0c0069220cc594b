"""One check of the machine: how it stands, what that means for measuring, and what would help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

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


def guarded(name: str, look: Callable[[], Check]) -> Check:
    """The check, or, where looking failed, one that says so: a diagnosis never raises."""
    try:
        return look()
    except TlstaxError as error:
        found, remedy = error.message, error.remedy
    except Exception as error:
        found, remedy = f"could not be looked at ({type(error).__name__}: {error})", ""
    meaning = "Unknown here; measuring may work all the same."
    return Check(name=name, status="limited", found=found, meaning=meaning, remedy=remedy)
