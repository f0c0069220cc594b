"""Outcomes and their limits as users type them on the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from difflib import get_close_matches

from tlstax.cli import quantities
from tlstax.cli.options import LimitOptions
from tlstax.stats.limits import Limit, Limits, regression_limit
from tlstax.study import Study
from tlstax.study.outcomes import OUTCOMES
from tlstax.support.errors import UserMistake
from tlstax.support.text import enumerated

SERVER_CPU = "server_cpu_us_per_op"

OFTEN = (
    *("ops_per_s", "latency_p50_us", "latency_p99_us", "connect_p50_us", "tls_handshake_p50_us"),
    *(SERVER_CPU, "client_cpu_us_per_op", "bytes_per_op"),
)
"""What is offered where no name is like the one that was typed: the outcomes that are asked for most."""

REGRESSION = "--max-regression"
_WORDS = re.compile(r"(?:(?P<outcome>[a-z0-9_]+)\s+)?(?P<sign>[+-]?)(?P<number>[0-9]+(?:\.[0-9]+)?)\s*%")
_EXAMPLES = {
    "--max": "server_cpu_us_per_op +5%",
    "--min": "ops_per_s -5%",
    REGRESSION: "5% or 'ops_per_s 5%",
}


def asked_outcomes(given: str | None, study: Study) -> tuple[str, ...]:
    """Those of --outcomes, with commas between, each once; None: the deciding one, and the server's CPU time.

    Raises UserMistake for one that there is not.
    """
    if given is None:
        return tuple(dict.fromkeys((study.deciding_outcome, SERVER_CPU)))
    names = quantities.names(given, "--outcomes")
    for name in names:
        check_outcome(name, "--outcomes")
    return names


def check_outcome(name: str, where: str) -> None:
    """UserMistake, which names the option `where` it was given, for what is no outcome."""
    if name not in OUTCOMES:
        near = get_close_matches(name, OUTCOMES, n=5)
        raise UserMistake(
            f"{where}: {name!r} is not an outcome",
            remedy=f"there is {enumerated(near)}" if near else f"often asked for are {enumerated(OFTEN)}",
        )


def limits_of(typed: LimitOptions, warn: Callable[[str], None]) -> Limits:
    """Limits as they were typed, for either side of an outcome one. Raises UserMistake.

    `warn` is given a sentence for each limit that holds an outcome back on its better side alone.
    """
    named: list[Limit] = []
    literal = [*_literal(typed, warn)]
    regressions = [*map(_regression, typed.max_regression or ())]
    for limit in (*literal, *(regression_limit(outcome, share) for outcome, share in regressions if outcome)):
        if any(own.outcome == limit.outcome and (own.most is None) == (limit.most is None) for own in named):
            side = "how far it may fall" if limit.most is None else "how far it may rise"
            raise UserMistake(f"{limit.outcome} has several limits of {side}", remedy="give each outcome one")
        named.append(limit)
    general = [share for outcome, share in regressions if not outcome]
    if len(general) > 1:
        raise UserMistake(
            f"{REGRESSION} is given {len(general)} times for all main outcomes",
            remedy="give it once, and name an outcome with each other one",
        )
    return Limits(tuple(named), general[0] if general else None)


def _literal(typed: LimitOptions, warn: Callable[[str], None]) -> Iterator[Limit]:
    for option, texts in (("--max", typed.most or ()), ("--min", typed.least or ())):
        for text in texts:
            outcome, change = _change(text, option)
            if not outcome:
                raise _unreadable(text, option)
            if OUTCOMES[outcome].lower_is_better is (option == "--min"):
                warn(_wrong_way(outcome, option))
            yield Limit(outcome=outcome, **{"most" if option == "--max" else "least": change})


def _regression(text: str) -> tuple[str, float]:
    found = _WORDS.fullmatch(text.strip())
    if found is not None and found["sign"]:
        raise UserMistake(
            f"{REGRESSION}: {text!r} has a sign, and what is worse may be more or less, as the outcome is",
            remedy="leave the sign out, or say by --max or --min how far the outcome may rise or fall",
        )
    outcome, share = _change(text, REGRESSION)
    if share >= 1 and outcome in {"", *(name for name in OUTCOMES if not OUTCOMES[name].lower_is_better)}:
        raise UserMistake(f"{REGRESSION}: {text!r}: {_NOTHING_LEFT}", remedy="name less")
    return outcome, share


def _change(text: str, option: str) -> tuple[str, float]:
    """The outcome, empty where none is named, and by how much it may change. Raises UserMistake."""
    found = _WORDS.fullmatch(text.strip())
    if found is None:
        raise _unreadable(text, option)
    outcome, share = found["outcome"] or "", float(found["number"]) / 100
    if outcome:
        check_outcome(outcome, option)
    if found["sign"] == "-" and share >= 1:
        raise UserMistake(f"{option}: {text!r}: {_NOTHING_LEFT}", remedy="name a smaller fall")
    return outcome, -share if found["sign"] == "-" else share


_NOTHING_LEFT = "nothing can fall by 100 % or more"


def _unreadable(text: str, option: str) -> UserMistake:
    return UserMistake(
        f"{option}: {text!r} is not an outcome and a percentage", remedy=f"write '{_EXAMPLES[option]}'"
    )


def _wrong_way(outcome: str, option: str) -> str:
    way, other = ("rise", "--min") if option == "--max" else ("fall", "--max")
    better = "more" if option == "--max" else "less"
    sign = "-" if option == "--max" else "+"
    return (
        f"{option} limits how far {outcome} may {way}, and {better} of it is better; a limit of how much "
        f"worse it may become is {REGRESSION} '{outcome} 5%', or {other} '{outcome} {sign}5%'"
    )
