"""What the site of the documentation is made of; building it, with what it is built by, takes long."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def documentation() -> ModuleType:
    spec = importlib.util.spec_from_file_location("documentation", ROOT / "setup" / "documentation.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_and_what_it_shows_goes_along(documentation: ModuleType, tmp_path: Path) -> None:
    documentation.stage(tmp_path)
    staged = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    pages = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md")}
    assert pages <= staged
    assert {"README.md", "docs/report.png", "contract/printed/run.schema.json", "docs/orders.toml"} <= staged
    assert not any(name.startswith(("lab/", "engine/crates/")) for name in staged)


def test_a_link_to_a_folder_is_words(documentation: ModuleType, tmp_path: Path) -> None:
    documentation.stage(tmp_path)
    assert "](../contract/printed/)" in (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    assert "](../contract/printed/)" not in (tmp_path / "docs" / "json.md").read_text(encoding="utf-8")


def test_the_index_is_the_order(documentation: ModuleType) -> None:
    first, index, *parts = documentation.navigation()
    assert (first, index) == ({"tlstax": "README.md"}, {"All pages": "docs/README.md"})
    headings = [name for part in parts for name in part]
    assert headings == ["Start here", "Topics", "Studies, and what they found", "Reference"]
    named = {path for part in parts for pages in part.values() for page in pages for path in page.values()}
    assert {str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md")} - named == {
        "docs/README.md"
    }
    assert [path for path in named if not (ROOT / path).is_file()] == []


def test_words_in_code_are_no_links(documentation: ModuleType) -> None:
    text = "[a](a.md#b) `[c](c.md)`\n```\n[d](d.md)\n```\n[e](https://e.example) ![f](f.png) [g](#g)\n"
    assert list(documentation.links(text)) == ["a.md", "f.png"]


def test_a_folder_that_is_there_stays(documentation: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    assert documentation.build(tmp_path) == 2
    assert (tmp_path / "thesis.txt").exists()


@pytest.mark.long
def test_the_site_is_built_by_one_command(tmp_path: Path) -> None:
    site = tmp_path / "a site"
    command = [str(ROOT / "setup" / "documentation"), str(site)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ})
    assert done.returncode == 0, done.stderr
    for name in ("index.html", "docs/comparing.html", "docs/publishing.html", "docs/report.png"):
        assert (site / name).is_file()
    text = (site / "docs" / "comparing.html").read_text(encoding="utf-8")
    assert "fonts.googleapis" not in text
    assert 'href="./publishing.html"' in text
