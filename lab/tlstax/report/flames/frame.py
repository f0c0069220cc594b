"""A flame graph as a document for a frame of the page: its picture packed, inferno's script, a search field.

The page itself has no script. The frame is sandboxed: it runs scripts in an origin of its own, which reaches
neither the page nor the network, and asks nothing. It inherits the page's policy, which lets run what has the
hash of `script` and nothing else: a function's name that broke out of the picture would still not run.
"""

from __future__ import annotations

import gzip
import re
from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources

from markupsafe import Markup, escape

SEARCH_BAR_PX = 76
"""Height of what stands above the picture, where it needs two lines."""

_SCRIPT = re.compile(r"<script[^>]*>(.*?)</script>", re.DOTALL)
_OUTER = re.compile(r'<svg [^>]*?height="(\d+)"[^>]*>')

TOO_OLD = "This browser cannot unpack flame graphs; tlstax flames draws them as files."


@dataclass(frozen=True)
class Framed:
    """The document of a frame, its height in CSS pixels, and the script that it runs."""

    document: str
    height_px: int
    script: str

    @property
    def srcdoc(self) -> Markup:
        """The document as the attribute of a frame; its line ends, which the hash counts, stay."""
        return escape(self.document)

    @property
    def policy(self) -> str:
        """What a Content-Security-Policy must name as a source of scripts for it to run (CSP 3, 2.3.1)."""
        return f"'sha256-{b64encode(sha256(self.script.encode()).digest()).decode()}'"


def framed(svg: str) -> Framed:
    """The document that shows what inferno drew."""
    start = _OUTER.search(svg)
    found = _SCRIPT.search(svg)
    if start is None or found is None:
        raise ValueError("not a flame graph of inferno's")
    height = start[1]
    # A policy by hash knows no attributes that are programs; the script begins the picture itself.
    outer = start[0].replace(' onload="init(evt)"', "")
    picture = outer + svg[start.end() : found.start()] + svg[found.end() :]
    script = f"{found[1].replace('<![CDATA[', '').replace(']]>', '')}\n{_text_of('search.js')}"
    return Framed(
        document=str(_document(picture, script)), height_px=int(height) + SEARCH_BAR_PX, script=script
    )


def _document(picture: str, script: str) -> Markup:
    packed = b64encode(gzip.compress(picture.encode(), mtime=0)).decode()
    return Markup(  # noqa: S704 - our own files, base64, and inferno's script
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>Flame graph</title><style>{_text_of('frame.css')}</style></head><body>"
        '<p><label for="wanted">Search</label><input type="search" id="wanted" placeholder="RSA_|libcrypto" '
        'autocomplete="off" spellcheck="false" disabled><output id="told" for="wanted"></output></p>'
        f'<div id="picture">{escape(TOO_OLD)}</div><div id="packed" hidden>{packed}</div>'
        f"<script>{script}</script></body></html>"
    )


@cache
def _text_of(name: str) -> str:
    return (resources.files("tlstax.report.flames") / name).read_text(encoding="utf-8")
