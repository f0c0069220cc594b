"""The templates of pages: how what they are given is escaped, and their style."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from tlstax.findings.core.wording import capitalised
from tlstax.study.labels import full_label
from tlstax.topics.core import figures, palette
from tlstax.topics.core.untrusted import printable

_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|µs|ms|s|GiB|connections?|blocks?)\b|%)")


def _whole(sentence: str) -> str:
    """A sentence with a capital, in which no number is parted from its unit."""
    return _unparted(capitalised(sentence))


def _unparted(text: str) -> str:
    """Text in which no line ends between a number and its unit."""
    return _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", text)


@cache
def template(name: str) -> Template:
    """The template of this name; whatever it is given is escaped, and shows no character that steers."""
    environment = Environment(
        loader=PackageLoader("tlstax", "report/page"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(whole=_whole, unparted=_unparted, figures=figures, full_label=full_label)
    environment.globals.update(inks=palette)
    environment.globals.update(kind_of=lambda block: type(block).__name__)
    return environment.get_template(name)


def _finalized(value: object) -> object:
    """What is not markup yet shows no character that steers; escaping comes after this."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def style() -> Markup:
    """The stylesheet: what is written, and the dark colour of every light one that a chart was drawn in."""
    written = (resources.files("tlstax.report.page") / "report.css").read_text(encoding="utf-8")
    return Markup(written.replace("/* DARK_INKS */", _dark_inks()))  # noqa: S704 - our own file


def _dark_inks() -> str:
    return "\n  ".join(
        f'svg [{attribute}="{ink.light}"] {{ {attribute}: {ink.dark}; }}'
        for ink in palette.every_ink()
        for attribute in ("fill", "stroke")
    )
