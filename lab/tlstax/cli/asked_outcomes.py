"""Outcomes as users name them on the command line, for the commands that take some."""

from __future__ import annotations

from tlstax.study import Study
from tlstax.study.outcomes import OUTCOMES
from tlstax.support.errors import UserMistake
from tlstax.support.text import closest

SERVER_CPU = "server_cpu_us_per_op"


def asked_outcomes(given: str | None, study: Study) -> tuple[str, ...]:
    """Those of --outcomes, with commas between, each once; None: the deciding one, and the server's CPU time.

    Raises UserMistake for one that there is not.
    """
    if given is None:
        return tuple(dict.fromkeys((study.deciding_outcome, SERVER_CPU)))
    names = tuple(dict.fromkeys(name.strip() for name in given.split(",")))
    for name in names:
        check_outcome(name, "--outcomes")
    return names


def check_outcome(name: str, where: str) -> None:
    """UserMistake, which names the option `where` it was given, for what is no outcome."""
    if name not in OUTCOMES:
        raise UserMistake(
            f"{where}: {name!r} is not an outcome{closest(name, OUTCOMES)}",
            remedy="`tlstax runs export --format json` has the names of all that the run yields",
        )
