"""Passwords in what users write: seen by their form, so that no sentence of ours repeats one.

Whatever is refused may hold a password, since people paste an address as their other tools take it. The forms
are those of URLs (RFC 3986, section 3.2.1), of JDBC and Go's driver, of libpq's and ODBC's keywords, and
Oracle's user/password@host.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

HIDDEN = "\N{HORIZONTAL ELLIPSIS}"
"""Stands where a password stood."""

_KEYWORD = r"(?:\w*_)?(?:password|passwd|pwd)"

_SOCKET_URL = r"(?:-{0,2}[\w.-]+=)*(?:mysql|mariadb)://[^/@:]*@/"
"""How the address of a Unix socket begins, which has no host: only Go's driver has a password there."""

_NAME_OR_ADDRESS = (
    r"(?:[\w.+-]*|(?:mysql|mariadb)://(?:[^/@:,\s]*@)?(?:\[[0-9A-Fa-f:.]+\]|[^/@:,\s\[\]]*)(?::\d{1,5})?"
    r"(?:/[^/@:,?\s]*)?(?:\?socket=[^@,\s]*)?)"
)
_SERVERS = re.compile(rf"(?:-{{0,2}}[\w.-]+=)*{_NAME_OR_ADDRESS}(?:,{_NAME_OR_ADDRESS})+")
"""Several servers with commas between them, none with a password: one's @ may follow another's colon."""

_NO_PORT = r"(?!\d{1,5}(?:[/?#,]|$))"
"""What follows the colon behind a host is the port; anything else that an @ ends is a password."""

_IN_URLS = (
    re.compile(r"://[^/@:]*:.*@", re.DOTALL),
    re.compile(rf"://[^/:\[]*@(?:\[[^\]/]*\])?[^/:\[]*:{_NO_PORT}.*@", re.DOTALL),
)
"""A URL with a password behind the name of a user, which may have an @ of its own; not an encoded colon."""

_CERTAIN = (
    *_IN_URLS,
    re.compile(rf"^(?!{_SOCKET_URL})(?:-{{0,2}}[\w.-]+=)*[^/:\s]+:.*@(?:/|\w*\()", re.DOTALL),
    re.compile(rf"(?:^-{{0,2}}|[?&;,(\s]){_KEYWORD}\s*=\s*[^\s&;,)]", re.IGNORECASE),
)
"""An argument of one of these forms has a password in it, whichever option it goes with."""

_LIKELY = (
    re.compile(r"^(?:-{0,2}[\w.-]+=)*[^\s:/=]*:(?!//)(.+)@", re.DOTALL),
    re.compile(r"^(?:-{0,2}[\w.-]+=)*[^\s:/@=]+/(.+)@[^/@]*$", re.DOTALL),
    re.compile(r"://[^/:\[]*:(?!\d{1,5}(?:/|$))([^/@]+)(?:/|$)", re.DOTALL),
    re.compile(r"://[^/]*/([^?]*)@", re.DOTALL),
)
"""And one of these may have, or is the name of a file."""

_FILE = re.compile(r"\.(?:cnf|conf|csv|html|json|md|parquet|pem|prom|svg|tlstax|toml|txt)$")

_IN_SENTENCES = (
    re.compile(r"(://[^/@:\s'\"]*:)[^\s'\"]*(?=@)"),
    re.compile(rf"(://[^/:\s'\"\[]*@(?:\[[^\]/\s]*\])?[^/:\s'\"\[]*:){_NO_PORT}[^\s'\"]*(?=@)"),
    re.compile(r"(://[^/@:\s'\"]*:)(?!\d{1,5}\b)[^/@\s'\"),;]+"),
    re.compile(r"((['\"])[^'\"]*?://[^/@:'\"]*:)(?:(?!\2).)*(?=@)", re.DOTALL),
    re.compile(
        rf"((?<![a-z]){_KEYWORD}\s*=\s*)(?:\"[^\"]*\"|'[^']*'|(?:(?!,\s*\w+=)[^\s&;)'\"])+)", re.IGNORECASE
    ),
    re.compile(r"((?<=['\"])[^\s:/@'\"]+(?::(?!//)|/))(?:(?!['\"](?:\W|$)).)+(?=@)"),
)

_HARMLESS = re.compile(r"[\w+-](?:[\w.+%!*~=-]| (?! )){0,60}|")


def has_password(argument: str) -> bool:
    """Whether an argument of the command line has a password in it for certain."""
    return not _SERVERS.fullmatch(argument) and any(form.search(argument) for form in _CERTAIN)


def url_has_password(url: str) -> bool:
    """Whether a URL has a password in it for certain."""
    return any(form.search(url) for form in _IN_URLS)


def likely_passwords(arguments: Iterable[str]) -> list[re.Pattern[str]]:
    """What in these arguments may be a password, as sentences may have it."""
    likely: list[re.Pattern[str]] = []
    for argument in arguments:
        found = [match[1] for form in _LIKELY for match in form.finditer(argument)]
        if found and not _FILE.search(argument) and not _SERVERS.fullmatch(argument):
            parts = {part for secret in found for part in (secret, *secret.split(","))}
            likely.extend(_as_written(parts))
    return likely


def without_passwords(text: str, likely: Iterable[re.Pattern[str]] = ()) -> str:
    """The text without what has the form of a password in it, and without what is `likely` to be one."""
    for form in _IN_SENTENCES:
        text = form.sub(rf"\g<1>{HIDDEN}", text)
    for secret in likely:
        text = secret.sub(HIDDEN, text)
    return text


def quoted(given: object) -> str:
    """What was given, in quotes, where it is a name by its form; anything else is not repeated."""
    return repr(given) if _HARMLESS.fullmatch(str(given)) else "what was given"


def called(name: str) -> str:
    """What follows "there is no server": its name, or that what was given is none by its form."""
    return f"named {name!r}" if _HARMLESS.fullmatch(name) else "of that name, which is none by its form"


def _as_written(secrets: Iterable[str]) -> list[re.Pattern[str]]:
    """Each as sentences may have it: as it is, or escaped; the longest first, none inside a longer word."""
    spelled = {one for secret in secrets for one in (secret, unquote(secret), repr(secret)[1:-1])}
    longest_first: Sequence[str] = sorted(filter(None, spelled), key=len, reverse=True)
    return [re.compile(rf"(?<!\w){re.escape(one)}(?!\w)") for one in longest_first]
