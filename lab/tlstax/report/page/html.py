"""Pages as HTML files that stand alone: no script of their own, no font, no picture from elsewhere."""

from __future__ import annotations

from tlstax import __version__
from tlstax.records.trial import StoredRun
from tlstax.report.advice.section import advice_sections
from tlstax.report.advice.words import share_words, use_words
from tlstax.report.flames.graphs import Draw
from tlstax.report.page.page import page
from tlstax.report.page.templates import style, template
from tlstax.results.advice import Advice, Advised
from tlstax.results.document import RunDocument


def html(stored: StoredRun, document: RunDocument, draw: Draw | None = None) -> str:
    """The report. Whatever a server or a client said is escaped. `draw` draws flame graphs, if there are any.

    Raises MachineFault where a stored histogram cannot be decoded.
    """
    return template("template.html.j2").render(page=page(stored, document, draw), style=style())


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
