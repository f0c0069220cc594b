"""Pages as HTML files that stand alone: no script of their own, no font, no picture from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from tlstax import __version__
from tlstax.findings.core.wording import capitalised
from tlstax.records.trial import StoredRun
from tlstax.report.page.page import page
from tlstax.report.site.index import PROOF, SiteRun, site_index
from tlstax.results.document import RunDocument
from tlstax.study.labels import full_label
from tlstax.topics.advice.advise import Advice, Advised
from tlstax.topics.advice.sections import advice_sections, share_words, use_words
from tlstax.topics.core import figures, palette
from tlstax.topics.core.untrusted import printable
from tlstax.topics.flames import Draw

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


class Link(NamedTuple):
    """Another page of a site, and what it is."""

    href: str
    words: str


def html(
    stored: StoredRun, document: RunDocument, draw: Draw | None = None, beside: Sequence[Link] = ()
) -> str:
    """The report. Whatever a server or a client said is escaped. `draw` draws flame graphs, if there are any.

    `beside` are the pages that it stands beside, where it is part of a site. Raises MachineFault where a
    stored histogram cannot be decoded.
    """
    found = page(stored, document, draw)
    return template("template.html.j2").render(page=found, beside=beside, proof=PROOF, style=style())


FOLDED_FROM = 40
"""More figures of one server than that are shown when they are asked for."""

MOST_SENTENCES = 6
"""As many of a run's answers stand in the index; the others are on its page."""


def site_html(runs: Sequence[SiteRun]) -> str:
    """The index of a site of these runs. Whatever a server or a client said is escaped."""
    return template("site.html.j2").render(
        site=site_index(runs),
        proof=PROOF,
        folded_from=FOLDED_FROM,
        most_sentences=MOST_SENTENCES,
        version=__version__,
        style=style(),
    )


def advice_html(found: Advice) -> str:
    """An advice as a page of its own. Whatever a server said is escaped."""
    return template("advice.html.j2").render(
        title=found.inspected.server,
        answers=(use_words(found.use), *(_answer(own) for own in found.advised)),
        sections=advice_sections(found),
        version=__version__,
        at=found.inspected.at,
        style=style(),
    )


def _answer(own: Advised) -> str:
    saved = own.saving.server_share
    return own.what if saved is None else f"{own.what}: {share_words(saved)} of the server's CPU"
