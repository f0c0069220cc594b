"""The page's flame graphs: which it has, and the frame that each is shown in.

The page itself has no script. A frame is a document with its picture packed, inferno's script and a search
field. It is sandboxed: it runs scripts in an origin of its own, which reaches neither the page nor the
network, and asks nothing. It inherits the page's policy, which lets run what has the hash of `script` and
nothing else: a function's name that broke out of the picture would still not run.
"""

from __future__ import annotations

import gzip
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib import resources

from markupsafe import Markup, escape

from tlstax.plan.order import baseline_of, cases
from tlstax.records.profiles.stacks import SIDES, Side
from tlstax.records.trial import StoredRun
from tlstax.stats.outcomes import is_large
from tlstax.study import Case, Study
from tlstax.study.labels import group_label, label
from tlstax.support.errors import MachineFault
from tlstax.support.grouping import grouped
from tlstax.topics.answer.case_choice import choice_text
from tlstax.topics.flames import Draw, flame_graph, why_none

MOST_BYTES = 4_000_000
"""This much of the page may be flame graphs; what is left out is said, with the command that draws it."""

SEARCH_BAR_PX = 76
"""Height of what stands above the picture, where it needs two lines."""

_SCRIPT = re.compile(r"<script[^>]*>(.*?)</script>", re.DOTALL)
_OUTER = re.compile(r'<svg [^>]*?height="(\d+)"[^>]*>')

TOO_OLD = "This browser cannot unpack flame graphs; tlstax flames draws them as files."


@dataclass(frozen=True)
class Frame:
    """The document of a frame, its height in CSS pixels, and the script that it runs."""

    document: str
    height_px: int
    script: str

    @property
    def srcdoc(self) -> Markup:
        """The document as the attribute of a frame; its line ends, which the hash counts, stay."""
        return escape(self.document)


@dataclass(frozen=True)
class Shown:
    """One graph of the page: what it is called and compared with, what it rests on, its frame."""

    name: str
    group: str
    reading: str
    differential: bool
    frame: Frame


@dataclass(frozen=True)
class FlameSection:
    """All graphs of the page, by what the cases that are compared share.

    `command` draws any other pair, `fault` is why some, or all, are missing.
    """

    groups: Mapping[str, Sequence[Shown]]
    command: str
    left_out: int
    fault: str

    @property
    def policy(self) -> str:
        """What the page's policy allows to run in the frames, and so at all: scripts with these hashes.

        Each is what a Content-Security-Policy must name as a source of scripts (CSP 3, 2.3.1).
        """
        scripts = {shown.frame.script for own in self.groups.values() for shown in own}
        hashes = (b64encode(sha256(script.encode()).digest()).decode() for script in scripts)
        return " ".join(sorted(f"'sha256-{found}'" for found in hashes))


def flame_section(stored: StoredRun, draw: Draw | None) -> FlameSection | None:
    """The page's flame graphs; None where nothing was sampled, or nothing can draw.

    A study of very many groups shows treatments against their baselines alone.
    """
    if draw is None or not stored.profiled:
        return None
    study = stored.header.study
    shown: list[Shown] = []
    left_out, fault = 0, ""
    for case, against, side in _wanted(study):
        graph = flame_graph(stored, case, side, against)
        if graph is None:
            continue
        if sum(len(each.frame.document) for each in shown) > MOST_BYTES:
            left_out += 1
            continue
        try:
            frame = framed(draw(replace(graph, title="", subtitle="")))
        except MachineFault as found:
            fault = found.sentence()
            break
        versus = f" against {label(against, study)}" if against is not None else ""
        name = f"{side.capitalize()}: {label(case, study)}{versus}"
        group = group_label(case.levels, study)
        shown.append(Shown(name, group, graph.subtitle, graph.differential, frame))
    return FlameSection(
        groups=grouped(shown, lambda each: each.group),
        command=_command(stored),
        left_out=left_out,
        fault=fault or ("" if shown else why_none(stored, SIDES[0])),
    )


def _wanted(study: Study) -> Iterator[tuple[Case, Case | None, Side]]:
    """What is to be drawn, the most telling first: what there is no room for is at the end."""
    every = [case for case in cases(study) if case.role != "control"]
    for side in SIDES:
        for case in every:
            if case.role == "treatment":
                yield case, baseline_of(case, every, study), side
    for side in () if is_large(study) else SIDES:
        for case in every:
            yield case, None, side


def _command(stored: StoredRun) -> str:
    """How any two cases are drawn: the first and the last treatment, which the page does not compare."""
    study = stored.header.study
    treatments = [case for case in cases(study) if case.role == "treatment"] or list(cases(study))
    case, against = (choice_text(found, study) for found in (treatments[-1], treatments[0]))
    options = f"--case {case}" + (f" --against {against}" if against != case else "")
    return f"tlstax flames {stored.header.run} {options} --side server -o flames.svg"


def framed(svg: str) -> Frame:
    """The document that shows what inferno drew."""
    start = _OUTER.search(svg)
    found = _SCRIPT.search(svg)
    if start is None or found is None:
        raise ValueError("not a flame graph of inferno's")
    height = start[1]
    # A policy by hash knows no attributes that are programs; the script begins the picture itself.
    outer = start[0].replace(' onload="init(evt)"', "")
    picture = outer + svg[start.end() : found.start()] + svg[found.end() :]
    script = f"{found[1].replace('<![CDATA[', '').replace(']]>', '')}\n{_text_of('flames.js')}"
    return Frame(
        document=str(_document(picture, script)), height_px=int(height) + SEARCH_BAR_PX, script=script
    )


def _document(picture: str, script: str) -> Markup:
    packed = b64encode(gzip.compress(picture.encode(), mtime=0)).decode()
    return Markup(  # noqa: S704 - our own files, base64, and inferno's script
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>Flame graph</title><style>{_text_of('flames.css')}</style></head><body>"
        '<p><label for="wanted">Search</label><input type="search" id="wanted" placeholder="RSA_|libcrypto" '
        'autocomplete="off" spellcheck="false" disabled><output id="told" for="wanted"></output></p>'
        f'<div id="picture">{escape(TOO_OLD)}</div><div id="packed" hidden>{packed}</div>'
        f"<script>{script}</script></body></html>"
    )


@cache
def _text_of(name: str) -> str:
    return (resources.files("tlstax.report.page") / name).read_text(encoding="utf-8")
