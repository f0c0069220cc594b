"""The report as one HTML file that stands alone: no script, no font, no picture from elsewhere."""

from __future__ import annotations

from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from tlstax.labels import full_label
from tlstax.records import RunDocument, StoredRun
from tlstax.report import figures, palette
from tlstax.report.page import page


def html(stored: StoredRun, document: RunDocument) -> str:
    """The report. Whatever a server or a client said is escaped.

    Raises MachineFault where a stored histogram cannot be decoded.
    """
    shown = page(stored, document)
    return _template().render(page=shown, style=_style(), figures=figures, full_label=full_label)


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("tlstax", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("template.html.j2")


def _style() -> Markup:
    """The stylesheet: what is written, and the dark colour of every light one that a chart was drawn in."""
    written = (resources.files("tlstax.report") / "report.css").read_text(encoding="utf-8")
    return Markup(written.replace("/* DARK_INKS */", _dark_inks()))  # noqa: S704 - our own file


def _dark_inks() -> str:
    return "\n  ".join(
        f'svg [{attribute}="{ink.light}"] {{ {attribute}: {ink.dark}; }}'
        for ink in palette.every_ink()
        for attribute in ("fill", "stroke")
    )
