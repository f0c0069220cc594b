"""Pages as HTML files that stand alone: no script of their own, no font, no picture from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tlstax import __version__
from tlstax.records.trial import StoredRun
from tlstax.report.page.page import page
from tlstax.report.page.templates import style, template
from tlstax.report.site.index import PROOF, SiteRun, site_index
from tlstax.results.document import RunDocument
from tlstax.topics.advice.advise import Advice, Advised
from tlstax.topics.advice.sections import advice_sections, share_words, use_words
from tlstax.topics.flames import Draw


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
