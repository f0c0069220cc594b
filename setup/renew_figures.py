"""Shows one run wherever the documents show the default run: in README.md, docs/tax.md and docs/report.png.

The run itself is docs/tax.tlstax, so that anybody can compute each figure again; the picture has its name and
answer in it.
`setup/renew-figures` runs this in the right environment.
"""

from __future__ import annotations

import base64
import json
import re
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from tlstax import __version__
from tlstax.cli.exit import guarded
from tlstax.cli.export_command import run_or_pack
from tlstax.plan.order import cases
from tlstax.records.trial import StoredRun
from tlstax.report.formats.render import render
from tlstax.store import open_store
from tlstax.store.anonymise import anonymous
from tlstax.store.pack import packed, unpacked
from tlstax.study import load_study
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.topics.answer.document import document
from tlstax.topics.answer.headline import headline

ROOT = Path(__file__).resolve().parents[1]
README, PAGE, PICTURE, PACK = (
    ROOT / name for name in ("README.md", "docs/tax.md", "docs/report.png", "docs/tax.tlstax")
)
WIDTH = 80
REPORTS = "~/.local/share/tlstax/reports"
"""Where a report is for most; the machine that measured has its own place."""

PICTURE_WIDTH, PICTURE_HEIGHT = 1180, 1400
PNG = b"\x89PNG\r\n\x1a\n"
RUN, ANSWER = "tlstax-run", "tlstax-answer"
"""Keywords of the picture's texts."""

BLOCK = re.compile(r"(<!-- setup/renew-figures -->\n```\n).*?(^```$)", re.MULTILINE | re.DOTALL)


def main(arguments: list[str]) -> None:
    """Write everything, or nothing. UserMistake for a run that is not the default one, or was cut off."""
    if len(arguments) > 1:
        raise UserMistake("setup/renew-figures takes one run", remedy="name a run of the store, or a pack")
    browser_or_fault()
    with open_store() as store:
        stored = run_or_pack(store, arguments[0] if arguments else measured())
    check_default(stored)
    pack = packed(anonymous(stored), by=__version__, names_left_out=True)
    shown = from_pack(pack)
    picture = with_texts(pictured(shown), {RUN: shown.header.run, ANSWER: "\n".join(answer(shown))})
    pages = {path: replaced(path, text) for path, text in texts(shown).items()}
    for path, page in pages.items():
        path.write_text(page, encoding="utf-8")
    PACK.write_bytes(pack)
    PICTURE.write_bytes(picture)
    for line in answer(shown):
        print(line)  # noqa: T201 - what the documents now say


def measured() -> str:
    """The name of a default run, made now. MachineFault where it could not be."""
    done = subprocess.run([ROOT / "tlstax", "run", "--json"], stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise MachineFault(f"./tlstax run ended with status {done.returncode}", remedy="see what it said")
    return str(json.loads(done.stdout)["run"])


def check_default(stored: StoredRun) -> None:
    """UserMistake unless these are the cases of `tlstax run`, and it came to its end."""
    name = stored.header.run
    if cases(stored.header.study) != cases(load_study("tax")):
        raise UserMistake(
            f"run {name} is not the default one", remedy="name one of `./tlstax run` without options"
        )
    if stored.status != "complete":
        raise UserMistake(f"run {name} is {stored.status}", remedy="name one that came to its end")


def from_pack(content: bytes) -> StoredRun:
    """The run that is in a pack."""
    _, stored = unpacked(PACK, content)
    return stored


def texts(stored: StoredRun) -> dict[Path, str]:
    """What each document shows of the run: the README its screen, the study's page all of it."""
    found, path = document(stored), f"{REPORTS}/{stored.header.run}.html"
    return {
        page: render(stored, found, "terminal", width=WIDTH, report_path=path, verbose=page == PAGE)
        for page in (README, PAGE)
    }


def answer(stored: StoredRun) -> list[str]:
    """The answer in words."""
    return headline(document(stored))


def replaced(path: Path, text: str) -> str:
    """The document with this text in place of the run that it shows."""
    page, times = BLOCK.subn(lambda found: f"{found[1]}{text}{found[2]}", path.read_text(encoding="utf-8"))
    if times != 1:
        raise UserMistake(f"{path.name} has {times} places for a run", remedy="mark one as docs/tax.md does")
    return page


def block_of(path: Path) -> str:
    """The run that the document shows, as text."""
    (found,) = BLOCK.finditer(path.read_text(encoding="utf-8"))
    return found[0].removeprefix(found[1]).removesuffix(found[2])


def browser_or_fault() -> None:
    """MachineFault where no browser can take the picture."""
    from chromium import find_chromium  # noqa: PLC0415 - of tests/browser, which only this command has at hand

    try:
        find_chromium()
    except LookupError as fault:
        raise MachineFault("no browser takes the picture", remedy=str(fault)) from fault


def pictured(stored: StoredRun) -> bytes:
    """The top of the run's page as a PNG."""
    from chromium import browser  # noqa: PLC0415 - as above

    with tempfile.TemporaryDirectory() as folder, browser() as running:
        path = Path(folder, "report.html")
        path.write_text(render(stored, document(stored), "html"), encoding="utf-8")
        page = running.new_page()
        page.set_width(PICTURE_WIDTH)
        page.set_dark(dark=False)
        page.open(path)
        clip = {"x": 0, "y": 0, "width": PICTURE_WIDTH, "height": PICTURE_HEIGHT, "scale": 1}
        shot = page.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(shot["data"])


def with_texts(png: bytes, said: dict[str, str]) -> bytes:
    """The picture with these texts in it, before its end (PNG, third edition, 11.3.3.4 iTXt)."""
    end = png.rindex(b"IEND") - 4
    chunks = (keyword.encode("latin-1") + b"\0\0\0\0\0" + text.encode() for keyword, text in said.items())
    return png[:end] + b"".join(_chunk(b"iTXt", chunk) for chunk in chunks) + png[end:]


def texts_in(png: bytes) -> dict[str, str]:
    """The texts that `with_texts` put into a picture."""
    found = (content.split(b"\0\0\0\0\0", 1) for kind, content in _chunks(png) if kind == b"iTXt")
    return {keyword.decode("latin-1"): text.decode() for keyword, text in found}


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = len(PNG)
    while place < len(png):
        (length,) = struct.unpack_from(">I", png, place)
        yield png[place + 4 : place + 8], png[place + 8 : place + 8 + length]
        place += 12 + length


if __name__ == "__main__":
    sys.exit(guarded(lambda: main(sys.argv[1:])))
