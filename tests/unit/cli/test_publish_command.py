"""`tlstax runs publish`: a site of packs, whole or not at all, in which nothing is but what packs have."""

from __future__ import annotations

import hashlib
import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from report_runs import exact_run, guest, hostile, noisy_run, one_block
from tlstax import __version__
from tlstax.cli import export_command as module
from tlstax.cli.export_command import publish_command
from tlstax.records.trial import StoredRun
from tlstax.store.anonymise import anonymous
from tlstax.store.pack import packed
from tlstax.support.errors import UserMistake


def pack(folder: Path, stored: StoredRun, name: str, *, clean: bool = True) -> Path:
    """The run under this name, packed as `tlstax runs pack` does it."""
    named = stored.model_copy(update={"header": stored.header.model_copy(update={"run": name})})
    kept = anonymous(named) if clean else named
    path = folder / f"{name.replace('/', '_')}.tlstax"
    path.write_bytes(packed(kept, by=__version__, names_left_out=clean))
    return path


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.ids.add(known.get("id") or "")
        if tag in {"a", "img", "script", "link", "iframe"}:
            self.links += [known[name] or "" for name in ("href", "src") if name in known]


def read(path: Path) -> _Links:
    parser = _Links()
    parser.feed(path.read_text(encoding="utf-8"))
    return parser


def every_link_leads_somewhere(site: Path) -> None:
    """Within the site, by relative paths alone."""
    for page in site.rglob("*.html"):
        for link in read(page).links:
            if link == "data:,":
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.is_relative_to(site.resolve()), link
            assert target.is_file(), link
            assert not anchor or anchor in read(target).ids, link


def has_nothing_but_its_files(site: Path, tmp_path: Path) -> None:
    """No file but pages and packs, no script, nothing from elsewhere, and no path of this machine."""
    assert {path.name for path in site.iterdir()} == {"index.html", "runs", "packs"}
    assert not list(tmp_path.glob(".tlstax-*"))
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "<script" not in text
        assert not re.search(r"url\(|@import|srcset=", text)
        assert str(Path.home()) not in text
        assert str(tmp_path) not in text


@pytest.fixture
def packs(tmp_path: Path) -> list[Path]:
    made = {
        "20261121-195500-aa01": exact_run(),
        "20261121-195500-aa02": noisy_run(),
        "20261121-195500-aa03": one_block(),
    }
    return [pack(tmp_path, stored, name) for name, stored in made.items()]


def test_each_figure_is_one_click_from_its_proof_and_nothing_else_is_there(
    packs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = tmp_path / "site"
    assert publish_command(site, packs) == 0
    assert "3 runs" in capsys.readouterr().out
    has_nothing_but_its_files(site, tmp_path)
    every_link_leads_somewhere(site)
    index = read(site / "index.html")
    for path in packs:
        assert (site / "packs" / path.name).read_bytes() == path.read_bytes()
        assert f"packs/{path.name}" in index.links
        assert hashlib.sha256(path.read_bytes()).hexdigest() in (site / "index.html").read_text()
    assert index.links.count("runs/20261121-195500-aa01.html#proof") == 2 * 6, "two figures of six cases"
    page = (site / "runs" / "20261121-195500-aa01.html").read_text(encoding="utf-8")
    assert "What really ran" in page[page.index('id="proof"') :][:200]
    assert {"../index.html", "../packs/20261121-195500-aa01.tlstax"} <= set(
        read(site / "runs" / "20261121-195500-aa01.html").links
    )


@pytest.mark.parametrize("make", [guest, hostile])
def test_odd_runs_have_their_place(make: object, tmp_path: Path) -> None:
    site = tmp_path / "site"
    publish_command(site, [pack(tmp_path, make(), "20261121-195500-aa03")])  # type: ignore[operator]
    every_link_leads_somewhere(site)
    text = (site / "index.html").read_text(encoding="utf-8")
    assert "<script" not in text
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in text


def test_an_earlier_site_is_replaced_whole(packs: list[Path], tmp_path: Path) -> None:
    site = tmp_path / "site"
    publish_command(site, packs[2:])
    publish_command(site, packs[:1])
    assert [path.name for path in (site / "packs").iterdir()] == [packs[0].name]
    assert not list(tmp_path.glob(".tlstax-*"))


def test_without_an_exchange_it_is_replaced_too(
    packs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_RENAME_EXCHANGE", 1 << 30)  # no flag of renameat2(2): EINVAL
    site = tmp_path / "site"
    publish_command(site, packs[2:])
    publish_command(site, packs[:1])
    assert [path.name for path in (site / "packs").iterdir()] == [packs[0].name]
    assert not list(tmp_path.glob(".tlstax-*"))


def test_a_bad_pack_leaves_the_earlier_site(packs: list[Path], tmp_path: Path) -> None:
    site = tmp_path / "site"
    publish_command(site, packs[:1])
    before = (site / "index.html").read_bytes()
    content = packs[1].read_bytes()
    packs[1].write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(UserMistake, match="was changed after it was packed"):
        publish_command(site, packs)
    assert (site / "index.html").read_bytes() == before
    assert not list(tmp_path.glob(".tlstax-*"))


def test_a_pack_with_names_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="was packed --with-names"):
        publish_command(tmp_path / "site", [pack(tmp_path, exact_run(), "one", clean=False)])
    assert not (tmp_path / "site").exists()


def test_a_pack_of_an_older_version_that_left_names_in_it_is_refused(tmp_path: Path) -> None:
    """It says of itself that it has none; it is looked through by the rules of today."""
    stored = anonymous(exact_run())
    specimen = stored.header.specimens[0].model_copy(update={"path": "/etc/jd/mysqld"})
    for place, changes in enumerate(
        ({"specimens": (specimen,)}, {"machines": {"jd": stored.header.machine}})
    ):
        path = tmp_path / f"{place}.tlstax"
        unclean = stored.model_copy(update={"header": stored.header.model_copy(update=changes)})
        path.write_bytes(packed(unclean, by="0.0.9", names_left_out=True))
        with pytest.raises(UserMistake, match=r"packed by another version of tlstax \(0.0.9\)") as caught:
            publish_command(tmp_path / "site", [path])
        assert f"tlstax runs open {path}" in caught.value.sentence()
    assert not (tmp_path / "site").exists()


def test_a_run_cannot_name_a_file_elsewhere(tmp_path: Path) -> None:
    stored = anonymous(exact_run())
    header = stored.header.model_copy(update={"run": "../../escaped"})
    path = tmp_path / "a.tlstax"
    path.write_bytes(packed(stored.model_copy(update={"header": header}), by="1", names_left_out=True))
    with pytest.raises(UserMistake, match=r"not in the form .* \(header.run\)"):
        publish_command(tmp_path / "site", [path])
    assert not list(tmp_path.rglob("escaped*"))


def test_the_same_run_twice_is_once_and_another_of_its_name_is_refused(
    packs: list[Path], tmp_path: Path
) -> None:
    site, again = tmp_path / "site", tmp_path / "again.tlstax"
    again.write_bytes(packs[0].read_bytes())
    publish_command(site, [packs[0], again])
    assert len(list((site / "packs").iterdir())) == 1
    (tmp_path / "other").mkdir()
    other = pack(tmp_path / "other", noisy_run(), packs[0].stem)
    with pytest.raises(UserMistake, match="and so has another file"):
        publish_command(site, [packs[0], other])


def test_what_is_no_earlier_site_is_left_alone(packs: list[Path], tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("all of it", encoding="utf-8")
    with pytest.raises(UserMistake, match=r"has 'thesis.txt' in it"):
        publish_command(other, packs)
    assert (other / "thesis.txt").exists()
    link = tmp_path / "link"
    link.symlink_to(other)
    with pytest.raises(UserMistake, match="is no directory"):
        publish_command(link, packs)
    with pytest.raises(UserMistake, match="is no directory"):
        publish_command(tmp_path / "missing" / "site", packs)
    if os.geteuid() != 0:
        other.chmod(0o555)
        with pytest.raises(UserMistake, match="nothing can be made in"):
            publish_command(other / "site", packs)
