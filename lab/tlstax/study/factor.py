"""What a factor is that a study may vary, and which levels it has."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal

from tlstax.study import configuration as configured
from tlstax.study.client_kinds import Wanted
from tlstax.study.job_parts import JobTerms, Part
from tlstax.study.level_names import Level
from tlstax.study.workloads import by_numbers
from tlstax.study.workloads.sized import BULK_FORM, SESSION_FORM
from tlstax.support.credentials import quoted
from tlstax.support.errors import UserMistake
from tlstax.support.text import closest, integer

if TYPE_CHECKING:
    from tlstax.study.factors import CaseLevels

Of = Literal["server", "state", "connection", "client", "load", "way", "distance", "observation"]
"""What a factor is of. Cases that agree in those of the server share one, unless only one is observed; those
of its state are set at a running server, for each trial anew (`run/server_variables.py`). Ways and distance
say how bytes travel between client and server."""

Form = Literal["name", "workload", "configuration", "specimen", "word", "nanoseconds", "whole", "decimal"]
"""What a level may be beside the names that a factor lists: nothing, a workload by numbers (`workloads`),
options as of `configuration`, a specimen's name (whether it is known shows only where specimens are looked
up), any text, a time in nanoseconds, or a number."""

Named = Literal["always", "where varied", "unless plain"]
"""When a case's words have the factor's level: always; not where a study has no other level; or neither there
nor where that level is the default, but any other one even there."""


@dataclass(frozen=True)
class Factor:
    """A thing that a study may vary: its name, what it means, what it is of, and its levels.

    `least` is that of numbers. `words` are what a level is called in a case's label, None where the factor's
    name and the level have to do or labels put several factors in words together. `unsaid` is the level that
    goes without saying beside a TLS version, `encrypted` whether none does in the clear, where it means
    nothing. `tlstax run` has an option for it where `has_option`.

    `lacks` says why a case cannot be measured with its level of the factor, and nothing where it can.
    `job` has what it makes of a client's job, or the name of the field there that has the level as it is;
    `tls` what it makes of the job's TLS. `check` is the claim that holds a trial to its level, by its module
    and name in `tlstax.checks`; empty where none does. `beside` has what cannot be, and why, at a level that
    asks for a client on the server's own machine.
    """

    name: str
    meaning: str
    of: Of
    default: Level | None
    levels: tuple[str, ...] | None = None
    form: Form = "name"
    least: int = 1
    words: Callable[[Level], str] | None = None
    named: Named = "always"
    unsaid: Level | None = None
    encrypted: bool = False
    has_option: bool = False
    lacks: Callable[[Wanted], str] | None = None
    job: Callable[[CaseLevels, JobTerms], Part] | str = ""
    tls: Callable[[CaseLevels, JobTerms], Part] | None = None
    check: str = ""
    beside: Callable[[Level], tuple[str, str] | None] | None = None

    def part_of_job(self, case: CaseLevels, terms: JobTerms) -> Part:
        """The fields of the case's job that are its own; none where it has no part of a job."""
        if callable(self.job):
            return self.job(case, terms)
        return {self.job: getattr(case, self.name)} if self.job else {}

    @property
    def is_number(self) -> bool:
        """Whether its levels are numbers."""
        return self.form in {"whole", "decimal"}

    def allowed(self, level: object) -> str:
        """The levels in words, for a message about one that there is not."""
        return {
            "name": _some_like(level, self.levels or ()),
            "workload": ", ".join((*(self.levels or ()), SESSION_FORM, BULK_FORM)),
            "configuration": f"{configured.AS_IT_COMES}, and {configured.FORM}",
            "specimen": "names of specimens (`tlstax specimens list` shows them)",
            "word": "words of one line",
            "nanoseconds": f"{', '.join(self.levels or ())}, and from 0ns to 9999999ns, as in 400ns",
            "whole": f"whole numbers from {self.least}",
            "decimal": f"numbers from {self.least}",
        }[self.form]


_OPTION_LEVEL = re.compile(r"[^\s\x00-\x1f]+(?: [^\s\x00-\x1f]+)*")

_SPECIMEN_NAME = re.compile(r"[a-z0-9][a-z0-9.+_-]*")

_NANOSECONDS = re.compile(r"(0|[1-9][0-9]{0,6})ns")
"""Less than 10 ms: an operation with a longer cost needs no laboratory."""

EXTERNAL = "an external server is named by its address, mysql://user@host:port/schema"
"""What follows where the name of a server is none that is known."""


def is_specimen_name(text: str) -> bool:
    """Whether it is the name of a specimen by its form; there need not be one."""
    return _SPECIMEN_NAME.fullmatch(text) is not None


def check_level(
    factor: Factor, level: object, *, where: str, also: Collection[str] = ()
) -> str | int | float:
    """The level as the factor's own type (a number given as text becomes one). Raises UserMistake.

    `also` are levels beside the factor's: workloads of the user's own, labels of external servers.
    """
    known = (*(factor.levels or ()), *sorted(also))
    if factor.form == "configuration" and isinstance(level, str):
        return _configuration(level, where)
    if factor.form == "specimen":
        if isinstance(level, str) and (is_specimen_name(level) or level in also):
            return level
    elif factor.form == "word":
        if isinstance(level, str | int | float) and _OPTION_LEVEL.fullmatch(_as_option(level)):
            return _as_option(level)
    elif factor.is_number:
        number = _number(level, decimals=factor.form == "decimal")
        if number is not None and number >= factor.least:
            return number
        level = level if number is None else number
    elif isinstance(level, str) and (
        level in known
        or (factor.form == "nanoseconds" and _NANOSECONDS.fullmatch(level))
        or (factor.form == "workload" and by_numbers(level))
    ):
        return level
    raise _no_level(
        factor, level, where, known, allowed=_some_like(level, known) if also else factor.allowed(level)
    )


MOST_NAMED = 20
"""A message names the levels of a factor that has no more of them, and else those that are most alike."""

MOST_ALIKE = 6


def _some_like(level: object, known: Sequence[str]) -> str:
    """The levels in words; of many those that are most like this one."""
    if len(known) <= MOST_NAMED:
        return ", ".join(known)
    alike = get_close_matches(str(level), known, n=MOST_ALIKE, cutoff=0.0)
    return f"{', '.join(alike)} and {len(known) - len(alike)} others (docs/supported.md has all)"


def _no_level(
    factor: Factor, level: object, where: str, known: Sequence[str], *, allowed: str
) -> UserMistake:
    hint = closest(str(level), known)
    if not isinstance(level, str) and str(level) in known:
        hint = f" (write it in quotes: {str(level)!r})"
    remedy = f"allowed are {allowed}"
    if factor.name == "server":
        remedy = f"{remedy}; {EXTERNAL}"
        if is_specimen_name(str(level).lower()):
            hint = f" (did you mean {str(level).lower()!r}?)"
        return UserMistake(f"{where}: {quoted(level)} is the name of no server{hint}", remedy=remedy)
    return UserMistake(f"{where}: {quoted(level)} is not a level of {factor.name}{hint}", remedy=remedy)


def _configuration(level: str, where: str) -> str:
    """The options as they are; UserMistake where they are none, or not to be chosen."""
    why = configured.why_not(level)
    if why is not None:
        raise UserMistake(f"{where}: {why}", remedy=f"write {configured.FORM}")
    return level


def _as_option(level: str | float) -> str:
    """A level of an option as the driver is given it: TOML's true is the word true."""
    return str(level).lower() if isinstance(level, bool) else str(level)


_LARGEST = 2.0**53
"""Up to here a floating-point number distinguishes whole numbers (IEEE 754), and no factor has more."""


def _number(level: object, *, decimals: bool) -> int | float | None:
    """A level as a number: a whole one is always an int, so that 45 and 45.0 are one level."""
    if isinstance(level, str) and level.isascii():
        with contextlib.suppress(ValueError):
            level = float(level) if (whole := integer(level)) is None else whole
    if isinstance(level, bool) or not isinstance(level, int | float) or not abs(level) <= _LARGEST:
        return None
    if float(level).is_integer():
        return int(level)
    return level if decimals else None
