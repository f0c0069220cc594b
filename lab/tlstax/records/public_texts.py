"""Texts that say nothing of anybody: versions, names of ciphers, levels of ours, terms of the field. Pure.

A rule takes a text and returns what of it is public. `public_words.toml` has the words.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources

from tlstax.records import own_sentences
from tlstax.records.public_fields import form
from tlstax.study import factors, level_names, workloads
from tlstax.study.outcomes import OUTCOMES
from tlstax.study.server_abilities import CATALOGUED
from tlstax.support.text import natural

HOST, DIRECTORY = "server.invalid", "/left-out"
"""What stands in their places; no host has a name that ends so (RFC 6761, 6.4)."""


def _public_words(table: str) -> frozenset[str]:
    words = resources.files("tlstax") / "records" / "public_words.toml"
    return frozenset(tomllib.loads(words.read_text(encoding="utf-8"))[table].split())


TERMS, OPTION_WORDS, CIPHER_WORDS = map(_public_words, ("terms", "options", "ciphers"))
PROCESSORS, RELEASES, TLS_LIBRARIES = map(_public_words, ("processors", "releases", "tls_libraries"))
LIBRARIES, COUNTERS = map(_public_words, ("libraries", "counters"))
PROGRAMS = LIBRARIES | _public_words("programs")

CLIENTS = frozenset({"tlstax-engine", "tlstax-floor", "sysbench", "mysqlslap", "Connector/J"})
"""What load clients call themselves that are no driver."""

MODEL = re.compile(r"(?:[A-Z]{1,4}|i\d|E\d)?-?\d{1,5}[A-Z]{0,3}\d?|v\d{1,2}|\d+-Core|\d\.\d+GHz")
"""The number of a processor."""


_MADE_BY = (
    r"\d*(?:MariaDB|log|debug|ubuntu|ubu|deb|el|fc|dfsg|ds|bpo|nmu|build|really|maria|valgrind|t64|amd64|arm64|"
    r"aarch64|x86_64|cloud|generic|rt|aws|azure|gcp|lts|Percona|Server|a|b|rc|beta|fips|t|u|c|v)?\d*"
)
_SUFFIX = re.compile(rf"{_MADE_BY}(?:\.{_MADE_BY})*")
"""What distributions put behind a version."""

_SHARED_OBJECT = re.compile(r"\.so(?:[.\d]+[a-z]?)?$")

COUNTER = re.compile(rf"(?:{'|'.join(sorted(COUNTERS))})(?:_(?:[a-z0-9]{{1,24}}|TLS|SSL|CA|RPL))*")


GROUP = re.compile(
    r"(?:secp|sect|ffdhe|brainpoolP)\d{3,4}[kr]?\d?(?:tls13)?|[xX](?:25519|448)|P-\d{3}|prime256v1|"
    r"(?:X25519|SecP(?:256|384)r1)?MLKEM\d{3,4}|[A-Z]{2,3}256r1"
)
KEY = re.compile(
    r"(?:RSA|DSA|EC|ECDSA|ML-DSA|MLDSA|ED|Ed|mldsa)?[- ]?(?:\d{2,5}|[PK]-\d{3}|Ed25519|ED25519|ED448)"
)
SPECIMEN = re.compile(
    r"(?:mysql|mariadb|percona|openssl|libressl|boringssl|aws-lc|wolfssl|mysqlslap|sysbench|haproxy|stunnel|"
    r"openssh|mysql-router|mysqlrouter)(?:-\d{1,3}(?:\.\d{1,3}){0,3}[a-z]?|-sid)?(?:-(?:wolfssl|yassl))?"
)
PACKAGE = re.compile(
    r"(?:lib|mysql-|mariadb-|openssl|percona-|gcc-|galera-|perl|python3|zlib|openssh-|haproxy|stunnel)"
    r"[a-z0-9+.-]{0,40}"
)

TIME = form(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", "1970-01-01T00:00:00+00:00")
DIGEST = form(r"[0-9a-f]{64}")
TLS_VERSION = form(r"TLSv1(?:\.[0-3])?|SSLv[23]|1\.[0-3]")
AMOUNT = form(r"[+±]?\d+(?:\.\d+)?(?:%|ms|s|m|min|h|/s|k|M)?|(?:\d+(?:-\d+)?,?)+")

MADE = re.compile(
    r"(?:server|workload|tls-library|client-tls-library|client|path|option|own)-\d{1,4}|"
    r"left-out-\d{1,4}=0|server(?:-\d{1,4})?\.invalid"
)
MADE_OPTION = re.compile(rf"{re.escape(level_names.OPTION)}left-out-\d{{1,4}}")
"""What stands for names already, in a run that was made anonymous before."""


@cache
def _levels() -> frozenset[str]:
    """Levels that the program itself has."""
    own = {level for factor in factors.FACTORS.values() for level in factor.levels or ()}
    named = own_sentences.constants("specimens/server_recipes", "specimens/catalogue")
    return frozenset({*own, *CATALOGUED, *level_names.GROUPS, *level_names.GROUP_LISTS, level_names.OWN} | {
        name for name in named if re.fullmatch(r"[a-z0-9][a-z0-9.+_-]*", name)
    })  # fmt: skip


def is_level(text: str) -> bool:
    """A level of any factor that is ours, or that anybody has; or what stands for another one."""
    return (
        text in _levels()
        or text in CLIENTS
        or text.lower() in OPTION_WORDS
        or own_sentences.is_number(text)
        or workloads.by_numbers(text) is not None
        or SPECIMEN.fullmatch(text) is not None
        or cipher(text) == text
        or MADE.fullmatch(text) is not None
        or all(CONFIGURED.fullmatch(part) for part in text.split(" "))
    )


CONFIGURED = re.compile(
    r"(?:innodb|performance[-_]schema|max|table|thread|key|query|sort|join|read|sync|log|ssl|tls|binlog|skip|"
    r"back|host|net|caching|open|flush)[a-z_-]{0,48}=(?:\d+[kKmMgG]?|ON|OFF|on|off)"
)


def is_term(word: str) -> bool:
    """A word that may stand in a sentence: a term of TLS or MySQL, a version, a level of ours."""
    return (
        word in TERMS
        or word in OUTCOMES
        or is_level(word)
        or TLS_VERSION(word) is not None
        or groups(word) is not None
        or COUNTER.fullmatch(word) is not None
        or (re.fullmatch(r"\d+\.\d+(?:\.\d+)?[a-z]?(?:-\d+)?", word) is not None)
    )


def version(text: str) -> str:
    """The numbers of a version, and what distributions put behind them."""
    first, *rest = re.split(r"(?<=[^+~:-])(?=[+~:-])", text)
    if not re.fullmatch(r"v?\d{1,9}(?:\.\d{1,9})*[a-z]?\d?(?:\.?dfsg\d*)?", first):
        return "" if not text else "0"
    kept = [part for part in rest if _SUFFIX.fullmatch(part[1:])]
    return "".join((first, *kept))


def words(text: str, known: frozenset[str], pattern: re.Pattern[str] | None = None) -> str:
    """The text with an ellipsis for each word that is not known."""
    kept = (
        word
        if word.strip("(),") in known
        or word in known
        or re.fullmatch(r"\(?\d{1,4}(?:\.\d+){0,3}[a-z]?\)?", word)
        or (pattern and pattern.fullmatch(word))
        else own_sentences.LEFT_OUT
        for word in text.split(" ")
    )
    return " ".join(kept) if text else text


def library_version(text: str) -> str:
    """What a TLS library or a client says of itself: its name where it is a known one, numbers, a date."""
    return words(text, TLS_LIBRARIES, _NUMBERED)


_NUMBERED = re.compile(r"\d{1,4}(?:\.\d{1,4}){0,3}[a-z]?(?:-(?:dev|alpha|beta|rc|fips)?\d{0,3})?")


def cipher(text: str) -> str | None:
    """Suites by their names, or a list of them as OpenSSL takes it."""
    parts = [word for word in re.split(r"[-_:+!@]", text) if word]
    fits = all(word in CIPHER_WORDS or (len(word) < 4 and natural(word) is not None) for word in parts)
    fits = fits and any(word in CIPHER_WORDS for word in parts)
    return text if not text or fits or re.fullmatch(r"0x[0-9a-f]{4}|@SECLEVEL=\d", text) else None


def groups(text: str) -> str | None:
    """Key exchange groups by their names, one or a list as OpenSSL takes it."""
    fits = all(GROUP.fullmatch(word) or re.fullmatch(r"0x[0-9a-f]{4}", word) for word in text.split(":"))
    return text if not text or fits else None


def base(name: str) -> str:
    """A file's name without what says that it is a shared object of some version."""
    return _SHARED_OBJECT.sub("", name)


def file(path: str) -> str:
    """A path without its directory; the file's name where it is one that anybody has."""
    name = path.rpartition("/")[2]
    if not path or base(name) in PROGRAMS:
        return f"{DIRECTORY}/{name}" if path else path
    return f"{DIRECTORY}/file"


_OWN_HOST = re.compile(r"127(?:\.\d{1,3}){3}|::1|localhost|server\.invalid")


def host(text: str) -> str:
    """Loopback as it is; HOST for any other address or name."""
    return text if not text or _OWN_HOST.fullmatch(text) else HOST


def loopback(text: str) -> str | None:
    """An address of loopback."""
    return text if re.fullmatch(r"127(?:\.\d{1,3}){3}", text) else None
