"""Quantities as users write them: durations, percentages, lists."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tlstax.contract import HIGHEST_RATE_PER_S, OpenLoop
from tlstax.plan.cpu_shares import AskedCpus
from tlstax.study import load_study, override
from tlstax.study.design import LONGEST_BUDGET_S
from tlstax.support.credentials import quoted
from tlstax.support.errors import UserMistake

_SECONDS = {"ms": 0.001, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def seconds(text: str, option: str) -> float:
    """A duration such as `60s`, `2m`, `1.5h` or `90` (seconds), in seconds. Raises UserMistake."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|)", text.strip())
    length_s = float(found[1]) * _SECONDS[found[2]] if found else 0.0
    if not 0 < length_s <= LONGEST_BUDGET_S:
        raise UserMistake(f"{option}: {text!r} is not a duration", remedy="write it like 60s, 2m or 1h")
    return length_s


def fraction(text: str, option: str) -> float:
    """A percentage such as `2%`, or a fraction such as `0.02`, as a fraction. Raises UserMistake."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%?)", text.strip())
    value = float(found[1]) / (100 if found[2] else 1) if found else 0.0
    if not 0 < value < 1:
        raise UserMistake(f"{option}: {text!r} is not a share between 0 and 1", remedy="write it like 2%")
    return value


def open_loop(rate: str, arrivals: str | None) -> OpenLoop:
    """An open loop at a rate like `5000` or `0.5` and its spacing (None: Poisson). Raises UserMistake."""
    found = re.fullmatch(r"\d+(?:\.\d+)?", rate.strip())
    rate_per_s = float(found[0]) if found else 0.0
    if not 0 < rate_per_s <= HIGHEST_RATE_PER_S:
        raise UserMistake(
            f"--rate: {rate!r} is not a number of operations a second, up to {HIGHEST_RATE_PER_S:,}",
            remedy="write it like 5000",
        )
    if arrivals not in {None, "poisson", "uniform"}:
        raise UserMistake(f"--arrivals: {arrivals!r} is unknown", remedy="write poisson or uniform")
    return OpenLoop(rate_per_s=rate_per_s, arrivals="uniform" if arrivals == "uniform" else "poisson")


def names(text: str, option: str) -> tuple[str, ...]:
    """A list such as `a,b,c`, without repetitions. Raises UserMistake when it, or a name in it, is empty."""
    found = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    if not any(found):
        raise UserMistake(f"{option}: nothing is named", remedy="name one or more, with commas between")
    if not all(found):
        raise UserMistake(
            f"{option}: nothing is named before or after a comma",
            remedy="leave the comma out, or name what is missing",
        )
    return found


LEVELS = ("tls", "tls_library", "client_tls_library", "connections", "rtt_ms")
"""Options whose levels are known without anything that measures."""


def check_levels(study: str, typed: Mapping[str, str | None]) -> None:
    """UserMistake for a level that its factor does not have, before what it takes to measure is loaded."""
    known = load_study(study)
    for factor in LEVELS:
        text = typed.get(factor)
        if text is not None:
            override(known, factor, names(text, f"--{factor.replace('_', '-')}"))


def setting(text: str) -> tuple[str, tuple[str, ...]]:
    """A factor and its levels, as --set factor=a,b gives them. Raises UserMistake."""
    factor, equals, levels = text.partition("=")
    if not equals:
        raise UserMistake(f"--set: {quoted(text)} names no level", remedy="write it like --set tls=1.2,1.3")
    return factor.strip(), names(levels, f"--set {factor.strip()}")


def share(text: str) -> float:
    """A share of the time, up to all of it, as `--share` takes it. Raises UserMistake."""
    return 1.0 if text.strip() in {"1", "100%", "100 %"} else fraction(text, "--share")


def asked_cpus(server: str | None, client: str | None) -> AskedCpus:
    """What `--server-cpus` and `--client-cpus` ask for; None where one was not given. Raises UserMistake."""
    return AskedCpus(
        server=None if server is None else cpus(server, "--server-cpus"),
        client=None if client is None else cpus(client, "--client-cpus"),
    )


def cpus(text: str, option: str) -> tuple[int, ...]:
    """A list of CPUs as the kernel writes them, such as `0-11` or `0,2,4-7`, in ascending order.

    That is the "List format" of cpuset(7). Raises UserMistake for any other text, and for an empty one.
    """
    if not text.strip():
        raise UserMistake(f"{option}: no CPU is named", remedy=_LIKE_CPUS)
    found = set[int]()
    for part in text.split(","):
        ends = re.fullmatch(r"([0-9]{1,5})(?:-([0-9]{1,5}))?", part.strip())
        first, last = (int(ends[1]), int(ends[2] or ends[1])) if ends else (1, 0)
        if first > last:
            raise UserMistake(f"{option}: {text!r} is not a list of CPUs", remedy=_LIKE_CPUS)
        found.update(range(first, last + 1))
    return tuple(sorted(found))


_LIKE_CPUS = "write it like 0-11, or 0,2,4-7"


def rate(text: str, option: str) -> float:
    """How often a second, such as `200/s`, `12/min` or `200` (a second). Raises UserMistake."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:/\s*(s|min|m|h))?", text.strip())
    a_second = float(found[1]) / _SECONDS[found[2] or "s"] if found else 0.0
    if not 0 < a_second <= HIGHEST_RATE_PER_S:
        raise UserMistake(f"{option}: {text!r} is not a rate", remedy="write it like 200/s")
    return a_second


def size(text: str, option: str) -> int:
    """A number of bytes such as `120`, `2k` (2,048) or `1M`. Raises UserMistake."""
    found = re.fullmatch(r"(\d{1,9})\s*(k|m|)(?:i?b)?", text.strip().lower())
    number = int(found[1]) * _BYTES[found[2]] if found else 0
    if number < 1:
        raise UserMistake(
            f"{option}: {text!r} is not a number of bytes", remedy="write it like 120, 2k or 1M"
        )
    return number


_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20}
