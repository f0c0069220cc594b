"""What of a record may leave the machine. Pure.

`Public` takes a document and keeps only texts of fields known to be public: a type's fields are classified by
name, each with a rule that says what stays of its text. Numbers, truth values and words of a closed list
(`Literal`) stay of any field. Whatever is not classified is left out.

A text that is kept of a trial may have a server's words in it, a name or a path. What leaves the machine has
only what is known to be ours: the literal parts of a string in this program's own source. What was put into
its braces stays where it is a number, a public term, or a sentence of ours again; otherwise an ellipsis
stands there.

Texts that say nothing of anybody are versions, names of ciphers, levels of ours and terms of the field. A
rule takes a text and returns what of it is public; `public_words.toml` has the words.
"""

from __future__ import annotations

import ast
import re
import tomllib
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from types import UnionType
from typing import Any, TypeVar

from tlstax.contract import Frozen
from tlstax.records.server_counts import WORDS, in_words
from tlstax.study import factors, level_names, workloads
from tlstax.study.outcomes import OUTCOMES
from tlstax.study.server_abilities import CATALOGUED
from tlstax.support.text import counted, natural

Rule = Callable[[str], str | None]
"""What stays of a text: itself, another one, or None for nothing."""

Kept = TypeVar("Kept", bound=Frozen)


@dataclass(frozen=True)
class Texts:
    """The rules of a table: one for its keys, one for what they lead to."""

    keys: Rule
    values: Rule = lambda _: None


Fields = Mapping[type[Frozen], Mapping[str, Rule | Texts]]
"""A rule for each field in which any text may stand, by the type that it belongs to."""


def out(_: str) -> None:
    """Nothing stays."""


def always(word: str) -> Rule:
    """The same word, whatever stood there."""
    return lambda text: word if text else text


def form(pattern: str, otherwise: str | None = None) -> Rule:
    """What has this form; `otherwise` in the place of any other text."""
    wanted = re.compile(pattern)
    return lambda text: text if not text or wanted.fullmatch(text) else otherwise


class Public:
    """Documents as they may leave the machine; `without` are types of which no value may."""

    def __init__(self, fields: Fields, without: tuple[type[Frozen], ...] = ()) -> None:
        self.fields, self.without = fields, without
        self._known: dict[type[Frozen], Mapping[str, Rule | Texts]] = {}

    def of(self, value: Kept) -> Kept:
        """The same document with what is public."""
        kind = type(value)
        kept = {name: self.field(kind, name, getattr(value, name)) for name in kind.model_fields}
        return kind.model_validate(kept, by_name=True)

    def field(self, kind: type[Frozen], name: str, value: Any) -> Any:
        """What of a field's value is public."""
        rule = self._rules(kind).get(name, out) if name in open_fields(kind) else None
        return _or_nothing(kind, name, self._public(value, rule))

    def unclassified(self, root: type[Frozen]) -> list[str]:
        """Fields below this type that any text may stand in, and for which there is no rule."""
        return [
            f"{kind.__name__}.{name}"
            for kind in types_below(root)
            if kind not in self.without
            for name in sorted(open_fields(kind) - self._rules(kind).keys())
        ]

    def _rules(self, kind: type[Frozen]) -> Mapping[str, Rule | Texts]:
        """Those of the type and of the types that it is made from."""
        if kind not in self._known:
            bases = (self.fields.get(base, {}) for base in reversed(kind.__mro__))
            self._known[kind] = {name: rule for rules in bases for name, rule in rules.items()}
        return self._known[kind]

    def _public(self, value: Any, rule: Rule | Texts | None) -> Any:
        if isinstance(value, Frozen):
            return self.of(value)
        if isinstance(value, Mapping):
            return self._table(value, rule)
        if isinstance(value, tuple | list):
            kept = ((own, self._public(own, rule)) for own in value if not isinstance(own, self.without))
            return tuple(public for own, public in kept if public is not None or own is None)
        if not isinstance(value, str) or rule is None:
            return value
        return (rule.values if isinstance(rule, Texts) else rule)(value)

    def _table(self, value: Mapping[Any, Any], rule: Rule | Texts | None) -> dict[Any, Any]:
        """What keys lead to that have become the same is added up, where it is numbers."""
        kept: dict[Any, Any] = {}
        for key, own in value.items():
            public_key, public = self._key(key, rule), self._public(own, rule)
            if public_key is not None and public is not None:
                both = public_key in kept and isinstance(public, int)
                kept[public_key] = kept[public_key] + public if both else public
        return kept

    @staticmethod
    def _key(key: Any, rule: Rule | Texts | None) -> Any:
        if not isinstance(key, str) or rule is None:
            return key
        return (rule.keys if isinstance(rule, Texts) else rule)(key)


def _or_nothing(kind: type[Frozen], name: str, value: Any) -> Any:
    """A text that is left out is None where there may be none, and empty elsewhere."""
    return "" if value is None and not _takes_none(kind, name) else value


@cache
def _takes_none(kind: type[Frozen], name: str) -> bool:
    return type(None) in _leaves(kind.model_fields[name].annotation)


@cache
def open_fields(kind: type[Frozen]) -> frozenset[str]:
    """The type's fields in which any text may stand, itself or within a table or list."""
    return frozenset(
        name for name, field in kind.model_fields.items() if str in set(_leaves(field.annotation))
    )


def types_below(root: type[Frozen]) -> Iterator[type[Frozen]]:
    """The type and all types that its fields may have, each once."""
    seen: dict[type[Frozen], None] = {}
    waiting = [root]
    while waiting:
        kind = waiting.pop()
        if kind not in seen:
            seen[kind] = None
            fields = kind.model_fields.values()
            waiting += [
                leaf
                for field in fields
                for leaf in _leaves(field.annotation)
                if isinstance(leaf, type) and issubclass(leaf, Frozen)
            ]
    return iter(seen)


_CLOSED = (Frozen, int, float, type(None))
"""Types in which no text stands but in fields of their own; in any other, such as a case, some may."""


def _leaves(annotation: Any) -> Iterator[Any]:
    """What an annotation is made of in the end; the words of a `Literal` are no text."""
    origin = typing.get_origin(annotation)
    if origin is typing.Literal:
        return
    arguments = typing.get_args(annotation)
    if origin is typing.Annotated:
        yield from _leaves(arguments[0])
    elif origin is typing.Union or isinstance(annotation, UnionType) or arguments:
        for inner in arguments:
            yield from _leaves(inner)
    elif isinstance(annotation, type) and issubclass(annotation, _CLOSED):
        yield annotation
    elif annotation is not Ellipsis:
        yield str


LEFT_OUT = "…"

LEAST_LETTERS = 6
"""Shorter literal parts are no sentence: any text would be one."""

LONGEST_TEXT = 4000
DEEPEST = 3

IsPublic = Callable[[str], bool]
"""Whether a word between blanks, without punctuation around it, may stay."""

Template = tuple[str, ...]
"""A sentence's literal parts, in their order; what is put in stands between two of them."""

_NUMBER = re.compile(
    r"[±+\-−~÷×#]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:%|×|ms|us|µs|ns|s|min|h|[kKMG]i?B|bit)?"
)
_UNIT = frozenset({"%", "ms", "us", "µs", "ns", "s", "min", "h", "B", "kB", "MB", "GB", "KiB", "MiB", "GiB"})
_AROUND = "()[]{},;:.!?'\"`“”"


@cache
def sentences(*rooms: str) -> tuple[Template, ...]:
    """The strings in the source below these folders or in these modules, those with most of ours first."""
    found = {template for room in rooms for template in _of_source(room)}
    return tuple(sorted(found, key=lambda parts: (-sum(map(len, parts)), parts)))


@cache
def constants(*rooms: str) -> frozenset[str]:
    """The strings there into which nothing is put, whole."""
    return frozenset(parts[0] for parts in sentences(*rooms) if len(parts) == 1)


def ours(text: str, rooms: Sequence[str], is_public: IsPublic) -> str | None:
    """What of the text is ours, with an ellipsis for the rest; None where nothing is.

    Of what it returns, it returns the same again.
    """
    said = _ours(text, rooms, is_public, DEEPEST)
    while said is not None and said != text:
        text, said = said, _ours(said, rooms, is_public, DEEPEST)
    return said


def _ours(text: str, rooms: Sequence[str], is_public: IsPublic, depth: int) -> str | None:
    if not text or len(text) > LONGEST_TEXT:
        return None
    for template in sentences(*rooms):
        put_in = _put_in(template, text) if depth == DEEPEST or " " in "".join(template) else None
        if put_in is not None:
            kept = [_kept(value, rooms, is_public, depth) for value in put_in]
            return "".join(part for pair in zip(template, [*kept, ""], strict=True) for part in pair)
    first, separator, rest = text.partition("; ")
    if not separator or not depth:
        return None
    parts = [_ours(part, rooms, is_public, depth - 1) for part in (first, rest)]
    return separator.join(part or LEFT_OUT for part in parts) if any(parts) else None


def is_number(word: str) -> bool:
    """Whether it is one, maybe with a unit. Four numbers with dots are an address, and none."""
    return _NUMBER.fullmatch(word) is not None or word in _UNIT


_COUNTED = re.compile(r"""counted\([^\n]*?["']([A-Za-z -]+)["']""")


@cache
def _counted_words(*rooms: str) -> frozenset[str]:
    """The words behind a number in our sentences (`counted`, `was`, `in_words`), for one and for many."""
    things = {thing for room in rooms for source in _texts(room) for thing in _COUNTED.findall(source)}
    said = [counted(number, thing) for thing in things for number in (1, 2)]
    said += [in_words(number, many) for many in WORDS.values() for number in (1, 2)]
    return frozenset({"was", "were", *(word for one in said for word in one.split()[1:])})


def _kept(value: str, rooms: Sequence[str], is_public: IsPublic, depth: int) -> str:
    words, ours = [word.strip(_AROUND) for word in value.split()], _counted_words(*rooms)
    if all(not word or is_number(word) or is_public(word) or word in ours for word in words):
        return value
    return (_ours(value, rooms, is_public, depth - 1) if depth else None) or LEFT_OUT


def _put_in(template: Template, text: str) -> list[str] | None:
    """What stands between the literal parts, each found as early as it can be; None for another text."""
    first, *rest = template
    if not text.startswith(first) or not text.endswith(template[-1]) or len(text) < sum(map(len, template)):
        return None
    if not rest:
        return [] if text == first else None
    place, found = len(first), []
    for part in rest[:-1]:
        at = text.find(part, place)
        if at < 0:
            return None
        found.append(text[place:at])
        place = at + len(part)
    end = len(text) - len(rest[-1])
    return [*found, text[place:end]] if end >= place else None


def _of_source(room: str) -> Iterator[Template]:
    for text in _texts(room):
        for node in _strings(ast.parse(text)):
            if isinstance(node, ast.Constant):
                yield (str(node.value),)
            else:
                parts = _parts(node)
                if sum(map(str.isalpha, "".join(parts))) >= LEAST_LETTERS:
                    yield parts


def _strings(tree: ast.AST) -> Iterator[ast.Constant | ast.JoinedStr]:
    """The strings below, but those that stand by themselves: these are documents."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.strip()
        ):
            yield node
        yield from _strings(node)


def _parts(node: ast.JoinedStr) -> Template:
    """What stands around what is put in, empty where that begins or ends it."""
    parts, is_open = [""], False
    for value in node.values:
        if isinstance(value, ast.Constant):
            parts[-1] += str(value.value)
            is_open = False
        elif not is_open:
            parts.append("")
            is_open = True
    return tuple(parts)


def _texts(room: str) -> Iterator[str]:
    """The source of a folder's modules, or of one module."""
    package = resources.files("tlstax")
    module = package.joinpath(f"{room}.py")
    waiting: list[Traversable] = [module if module.is_file() else package.joinpath(room)]
    while waiting:
        place = waiting.pop()
        if place.is_dir():
            waiting += sorted(place.iterdir(), key=lambda entry: entry.name)
        elif place.name.endswith(".py"):
            yield place.read_text(encoding="utf-8")


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

COUNTER = re.compile(
    rf"(?:{'|'.join(sorted(COUNTERS))})(?:_(?:[a-z0-9]{{1,24}}|TLS|SSL|CA|RPL))*|"
    r"pg_stat(?:_[a-z]{1,24}){1,3}\.[a-z_]{1,40}"
)


GROUP = re.compile(
    r"(?:secp|sect|ffdhe|brainpoolP)\d{3,4}[kr]?\d?(?:tls13)?|[xX](?:25519|448)|P-\d{3}|prime256v1|"
    r"(?:X25519|SecP(?:256|384)r1)?MLKEM\d{3,4}|[A-Z]{2,3}256r1"
)
KEY = re.compile(
    r"(?:RSA|DSA|EC|ECDSA|ML-DSA|MLDSA|ED|Ed|mldsa)?[- ]?(?:\d{2,5}|[PK]-\d{3}|Ed25519|ED25519|ED448)"
)
SPECIMEN = re.compile(
    r"(?:mysql|mariadb|percona|postgresql|openssl|libressl|boringssl|aws-lc|wolfssl|mysqlslap|sysbench|haproxy|"
    r"stunnel|openssh|mysql-router|mysqlrouter|pgbouncer)(?:-\d{1,3}(?:\.\d{1,3}){0,3}[a-z]?|-sid)?"
    r"(?:-(?:wolfssl|yassl|openssl1\.1))?"
)
PACKAGE = re.compile(
    r"(?:lib|mysql-|mariadb-|postgresql-|openssl|percona-|gcc-|galera-|perl|python3|zlib|openssh-|haproxy|stunnel)"
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
    named = constants("specimens/server_recipes", "specimens/catalogue")
    return frozenset({*own, *CATALOGUED, *level_names.GROUPS, *level_names.GROUP_LISTS, level_names.OWN} | {
        name for name in named if re.fullmatch(r"[a-z0-9][a-z0-9.+_-]*", name)
    })  # fmt: skip


def is_level(text: str) -> bool:
    """A level of any factor that is ours, or that anybody has; or what stands for another one."""
    return (
        text in _levels()
        or text in CLIENTS
        or text.lower() in OPTION_WORDS
        or is_number(text)
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
    """The numbers of a version, and what distributions put behind them.

    PostgreSQL says who built it in brackets, or after a comma.
    """
    text = re.sub(r"^(?:PostgreSQL )?(\d{2}(?:\.\d+)?)(?: \(.*| on .*|$)", r"\1", text)
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
        else LEFT_OUT
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
