"""From a Vega-Lite specification to an SVG that stands inside a page: no script, no outside reference."""

from __future__ import annotations

import re

from tlstax.topics.core.chart_parts import Spec

_ARIA = re.compile(r' (?:aria-[a-z]+|role)="[^"]*"')
_DESCRIBED = re.compile(
    r'<(path|line|rect)((?: [^<>]*?)?) aria-label="([^"]+)" role="graphics-symbol"([^<>]*?)/>'
)
_PLACED = re.compile(r' (?:d|transform)="[^"]*"')
_LONG_NUMBER = re.compile(r"(\d+\.\d{2})\d+")


def svg(chart: Spec) -> str:
    """The chart drawn. What a mark describes becomes its title, which a browser shows when pointed at.

    The roles that Vega gives to each line and letter are dropped: the page names the whole chart, and
    holds its figures in a table.
    """
    import vl_convert  # noqa: PLC0415 - slow, and wanted for a page with charts alone

    drawn = vl_convert.vegalite_to_svg(chart, allowed_base_urls=[])
    titled = _DESCRIBED.sub(r"<\1\2\4><title>\3</title></\1>", drawn)
    return _PLACED.sub(lambda found: _LONG_NUMBER.sub(r"\1", found[0]), _ARIA.sub("", titled))
