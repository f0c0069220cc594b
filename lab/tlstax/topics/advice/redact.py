"""An advice as it may be shared: what it says in our words, and nothing of whose server it is. Pure."""

from __future__ import annotations

from functools import cache
from typing import get_args

from tlstax.contract import TlsView
from tlstax.records import public_texts as texts
from tlstax.records.public_texts import Fields, Public, always, form, out
from tlstax.results.inspection import (
    Asked,
    Certificate,
    Concern,
    ConnectPhase,
    Inside,
    InspectedServer,
    LockedOut,
    Obstacle,
    Program,
    ServerWord,
    Step,
    Way,
    WhoConnects,
)
from tlstax.stats import remedies
from tlstax.stats.programs import TOPICS, all_programs
from tlstax.study.product import Family
from tlstax.topics.advice.advise import Advice, Advised, Saving, how_to

SERVER, NAME = "the server", "(left out)"

_ROOMS = (
    "topics/advice", "stats", "topics/inspection", "results/inspection", "tools/inspection", "tools/advice",
    "external", "run", "support", "study", "plan", "specimens", "mysql", "postgres", "clients", "contract",
)  # fmt: skip
"""Where sentences of an advice come from."""


def redacted(found: Advice) -> Advice:
    """The same advice with what is public."""
    return PUBLIC.of(found)


@cache
def _said(text: str) -> str:
    """What of a sentence is ours; lines to paste, for servers and for drivers, are known one by one."""
    said = text if text in _lines() else texts.ours(text, _ROOMS, texts.is_term)
    return NAME if said is None else said.replace(texts.LEFT_OUT, NAME)


@cache
def _lines() -> frozenset[str]:
    families: tuple[Family, ...] = get_args(Family)
    for_programs = (
        own.says(topic) for family in families for own in all_programs(family) for topic in TOPICS[family]
    )
    for_servers = (step for entry in remedies.TABLE for step in entry.steps)
    how_tos = [how for family in families for how in how_to(family).values()]
    steps = (*for_servers, *(step for how in how_tos for step in how.steps))
    most = (how.most for how in how_tos)
    return frozenset((*for_programs, *most, *(line for own in steps for line in (own.where, *own.lines))))


def _sentence(text: str) -> str:
    return _said(text) if text else text


def _name(text: str) -> str:
    """What is asked for by its name: a version, a suite, a group."""
    return text if texts.is_term(text) else _sentence(text)


def _day(text: str) -> str | None:
    """A time without its hour: with it, public logs of certificates would have few that fit."""
    when = texts.TIME(text)
    return when and f"{when[:10]}T00:00:00+00:00"


def _client(text: str) -> str:
    """How a driver names itself, where it is a known one."""
    known = (name for family in get_args(Family) for own in all_programs(family) for name in own.clients)
    return next((name for name in known if text.startswith(name)), NAME)


_DRIVERS = dict.fromkeys(
    ("drivers", "encrypted", "in_clear", "kept", "unknown", "unmended"), form("[a-z0-9.-]+")
)
_IDENTITY = dict.fromkeys(("subject", "issuer"), always(NAME))

FIELDS: Fields = {
    Advice: {
        "stand_in": lambda text: text if texts.is_level(text) else NAME,
        "runs": form(r"\d{8}-\d{6}-[0-9a-f]{4}"),
        "spent_there": _sentence,
        "not_measured": _sentence,
    },
    Saving: {"measured_on": lambda text: text if texts.is_level(text) else (text and SERVER)},
    Step: {"where": _sentence, "lines": _sentence},
    Advised: {"what": _sentence, "seen": _sentence, "why_not": _sentence},
    InspectedServer: {"server": always(SERVER), "at": texts.TIME, "stopped_because": _sentence},
    Asked: {"name": _name, "why_not": _sentence},
    TlsView: {
        "version": texts.TLS_VERSION,
        "cipher": texts.cipher,
        "group": texts.groups,
        "certificate_key": form(texts.KEY.pattern),
        "certificate_sha256": out,
        "client_name": out,
    },
    Certificate: {
        **_IDENTITY,
        "key": form(texts.KEY.pattern, NAME),
        "signature": form(r"(?:SHA|MD)\d[\d-]*|[\d.]+"),
        "names": out,
        "purposes": form("[A-Za-z]+", NAME),
        "not_before": _day,
        "not_after": _day,
        "sha256": out,
    },
    ServerWord: {
        "version": texts.version,
        "tls_library": texts.library_version,
        "account_plugin": form(
            "caching_sha2_password|mysql_native_password|ed25519|sha256_password|parsec|"
            "scram-sha-256(?:-plus)?|md5|password|none"
        ),
        "password_encryption": form("scram-sha-256|md5"),
        "costly_settings": form(r"[a-z_]{1,40} = (?:on|\d{1,12} m?s)"),
        "admission": form(r"host(?:no)?(?:ssl|gssenc)? (?:[a-z0-9-]{1,20}|trust \(behind other lines\))"),
    },
    Program: {
        "client": _client,
        "version": texts.version,
        "program": always(NAME),
        "transport": _name,
        "tls": _name,
    },
    Inside: {"unread": _sentence},
    ConnectPhase: {"name": _sentence},
    Concern: dict.fromkeys(("what", "why", "remedy"), _sentence),
    Obstacle: {**_DRIVERS, "why": _sentence, "says": _sentence},
    Way: _DRIVERS,
    LockedOut: _DRIVERS,
    WhoConnects: {"measured_at": form(r"\d{4}-\d{2}-\d{2}")},
}
"""The rule for every field in which any text may stand."""

PUBLIC = Public(FIELDS)
