"""The page of a run that goes on: what stays as it is, and the parts that change."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from tlstax import __version__
from tlstax.report.live import strip, words
from tlstax.report.live.strip import strips
from tlstax.report.page.templates import style, template
from tlstax.results.live import LiveRun

LIVE_PARTS = (
    *("title", "question", "status", "report", "progress", "facts_heading", "facts"),
    *("ratios_heading", "ratios", "strips", "trials"),
)
"""The parts of a live page, as its template has them."""


def live_html(parts: Mapping[str, str], *, version: int, is_last: bool, nonce: str) -> str:
    """The page of a run that goes on, with its `parts` as `live_parts` makes them, by `version`.

    Its only style and script have the `nonce`, for the server's policy; the script asks for what is new.
    """
    marked = {name: Markup(part) for name, part in parts.items()}  # noqa: S704 - made below
    return template("live.html.j2").render(
        parts=marked, version=version, is_last=is_last, nonce=nonce, tlstax=__version__, style=style()
    )


def live_parts(live: LiveRun, *, has_report: bool = False) -> dict[str, str]:
    """What changes on that page, by name, as HTML. Whatever a server or a client said is escaped."""
    of_part = template("live_parts.html.j2")
    shown = {
        "live": live,
        "status": words.status(live),
        "facts": tuple(words.facts(live)),
        "rows": words.rows(live),
        "strips": strips(live.ratios, live.wanted),
        "drawing": strip,
        "has_report": has_report,
    }
    return {name: of_part.render(part=name, **shown).strip() for name in LIVE_PARTS}
