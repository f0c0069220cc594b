"""Builds the site of the documentation: the pages that README.md leads to, in the order of docs/README.md.

Pages link to others by their places in the checkout, so those places are kept. Whatever a link leads to goes
along; a link that leads nowhere ends the build.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
FIRST, INDEX = "README.md", "docs/README.md"

_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[(?P<words>[^\]]*)\]\((?P<target>[^()\s]+)\)")


def links(text: str) -> Iterator[str]:
    """The relative targets of a page's links and pictures, without anchors; what is code has none."""
    for found in _LINK.finditer(_CODE.sub("", text)):
        path = found["target"].partition("#")[0]
        if path and not re.match(r"[a-z]+:", path):
            yield path


def reached() -> list[Path]:
    """The first page and all files that it leads to, page by page."""
    found: dict[Path, None] = {}
    left = [ROOT / FIRST]
    while left:
        path = left.pop()
        if path in found or not path.is_file():
            continue  # a link that leads nowhere is for the build to complain of
        found[path] = None
        if path.suffix == ".md":
            left += [(path.parent / target).resolve() for target in links(path.read_text(encoding="utf-8"))]
    return list(found)


def stage(pages: Path) -> None:
    """Put all of it where the generator reads it. Of links to folders their words stay."""
    for path in reached():
        target = pages / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix != ".md":
            shutil.copyfile(path, target)
            continue
        text = path.read_text(encoding="utf-8")
        target.write_text(_LINK.sub(lambda found, at=path.parent: _without_folder(found, at), text), "utf-8")


def _without_folder(found: re.Match[str], at: Path) -> str:
    return found["words"] if (at / found["target"]).is_dir() else found[0]


def navigation() -> list[dict[str, object]]:
    """The README, then the headings of the index with the pages below each, by their titles there."""
    entries: list[dict[str, object]] = [{"tlstax": FIRST}, {"All pages": INDEX}]
    known = {FIRST, INDEX}
    for part in (ROOT / INDEX).read_text(encoding="utf-8").split("\n## ")[1:]:
        heading, _, below = part.partition("\n")
        pages = []
        for words, target in re.findall(r"\[([^\]]+)\]\(([^)#\s]+\.md)\)", below):
            path = _below_root(target)
            if path not in known:
                known.add(path)
                pages.append({words: path})
        entries.append({heading: pages})
    return entries


def _below_root(target: str) -> str:
    return str((ROOT / INDEX).parent.joinpath(target).resolve().relative_to(ROOT))


def build(site: Path) -> int:
    """Build into this folder, which is made; 0; 1 for a link that leads nowhere, 2 for one that is there."""
    if site.exists():
        return _refused(f"{site} is there already; remove it, or name another folder", 2)
    with tempfile.TemporaryDirectory(prefix="tlstax-documentation-") as folder:
        work = Path(folder)
        stage(work / "pages")
        settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
        (work / "mkdocs.yml").write_text(
            f"{settings}{yaml.safe_dump({'nav': navigation()})}", encoding="utf-8"
        )
        command = [sys.executable, "-P", "-m", "zensical", "build", "--strict", "--clean"]
        done = subprocess.run(command, cwd=work, check=False, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            # What is wrong with pages it said by then; how it ends, with a traceback, helps nobody.
            said = done.stderr.partition("Traceback")[0]
            return _refused(f"{said}the site was not built, because of what is said above", 1)
        shutil.copytree(work / "site", site)
    return 0


def _refused(words: str, status: int) -> int:
    sys.stderr.write(f"{words}\n")
    return status


if __name__ == "__main__":
    raise SystemExit(build(Path(sys.argv[1]).absolute()))
