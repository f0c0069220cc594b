"""The catalogue and the list: every specimen can be told apart, is pinned, and is shown as it stands."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

import tlstax
from tlstax.cli import machine_command
from tlstax.cli.app import main
from tlstax.specimens import added
from tlstax.specimens.added import Added
from tlstax.specimens.catalogue import RECIPES
from tlstax.specimens.manifest import (
    AptPackages,
    CSource,
    DriverBuild,
    MavenArtefact,
    NpmPackage,
    OpensslBuild,
    Recipe,
)
from tlstax.specimens.progress import QUIET_EVERY_S, Meter, reporter
from tlstax.specimens.sources import apt
from tlstax.tools.probes import specimen
from tlstax.tools.probes.specimen import Facts, Handshake

SHA256 = re.compile(r"[0-9a-f]{64}")


@pytest.fixture(autouse=True)
def _places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / "cache"))


def status_of(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["tlstax", "specimens", *arguments])
    try:
        return main()
    except SystemExit as end:
        return int(end.code or 0)


def checksums(recipe: Recipe) -> list[str]:
    match recipe.source:
        case AptPackages():
            return []
        case MavenArtefact(files=files):
            return [file.sha256 for file in files.values()]
        case NpmPackage(sha256=sha256):
            return [sha256]
        case OpensslBuild(crate=crate, lender=lender):
            return [part.sha256 for part in (crate, lender) if part]
        case CSource(sha256=sha256) | DriverBuild(sha256=sha256):
            return [sha256]


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=str)
def test_every_specimen_is_pinned_or_signed(recipe: Recipe) -> None:
    assert added.NAME.fullmatch(recipe.name)
    assert all(SHA256.fullmatch(checksum) for checksum in checksums(recipe))
    assert isinstance(recipe.source, AptPackages) or checksums(recipe)
    assert isinstance(recipe.source, AptPackages) == (recipe.version == "")
    assert recipe.kind != "tls_library" or "libssl.so." in recipe.program


def test_the_built_in_study_asks_for_specimens_that_exist() -> None:
    study = Path(tlstax.__file__).parent / "studies" / "openssl-versions.toml"
    factors = tomllib.loads(study.read_text(encoding="utf-8"))["factors"]
    assert {RECIPES[str(name)].kind for name in factors["server"]} == {"server"}
    libraries = {str(name) for name in factors["tls_library"]} - {"own"}
    assert {RECIPES[name].kind for name in libraries} == {"tls_library"}
    assert all(isinstance(RECIPES[name].source, OpensslBuild) for name in libraries), "built alike"


@pytest.mark.parametrize(
    ("version", "exact"),
    [
        ("1:11.8.6-0+deb13u1", "11.8.6"),
        ("9.7.4-2", "9.7.4"),
        ("1.1.1w-0+deb11u8", "1.1.1w"),
        ("11.8.9+ds-4", "11.8.9"),
    ],
)
def test_debians_epoch_and_revision_are_no_part_of_the_version(version: str, exact: str) -> None:
    assert apt.upstream(version) == exact


def test_the_list_says_of_everything_how_it_stands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "cache/specimens/openssl-3.3"
    broken.mkdir(parents=True)
    mysqld = tmp_path / "mysqld"
    mysqld.write_text("a server", encoding="utf-8")
    added.keep(Added(name="mine-8.4", mysqld=str(mysqld), version="8.4.1", sha256="0" * 64))
    assert status_of(monkeypatch, "list", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == 1
    found = {one["name"]: one for one in document["specimens"]}
    assert list(found) == [*RECIPES, "mine-8.4"]
    assert {"name", "kind", "version", "origin", "sha256", "status", "bytes", "path"} <= set(
        found["mysql-9.7"]
    )
    assert found["mysql-9.7"]["status"] == "absent"
    assert found["mysql-8.0.33"]["version"] == "8.0.33"
    assert (found["openssl-3.3"]["status"], found["openssl-3.3"]["reason"]) == (
        "broken",
        "its manifest or its program is gone",
    )
    assert found["mine-8.4"]["status"] == "broken"
    assert "was changed since it was added" in found["mine-8.4"]["reason"]
    assert status_of(monkeypatch, "list") == 0
    text = capsys.readouterr().out
    assert all(name in text for name in RECIPES)
    assert "Broken: openssl-3.3, mine-8.4" in " ".join(text.split())


def test_what_a_server_can_do_stands_in_its_line() -> None:
    handshakes = (
        Handshake(version="1.2", cipher="ECDHE-RSA-AES128-GCM-SHA256", group="secp256r1", resumes=True),
        Handshake(version="1.3", cipher="TLS_AES_128_GCM_SHA256", group="secp256r1", resumes=True),
    )
    server = Facts(tls_versions=("1.2", "1.3"), library="OpenSSL 3.6.3", handshakes=handshakes)
    assert server.words() == "TLS 1.2–1.3 · TLS_AES_128_GCM_SHA256 · P-256 · resumes · OpenSSL 3.6.3"
    assert Facts(tls_versions=("1.1", "1.3")).words() == "TLS 1.1, 1.3"
    assert Facts(tls_versions=("1.0",)).words() == "TLS 1.0"
    assert Facts(library="OpenSSL 3.6.3").words().startswith("no TLS")
    assert "it crashed" in Facts(unasked="it crashed").words()
    one = specimen.Listed(
        name="a",
        kind="server",
        title="A",
        version="1",
        origin="x",
        status="ready",
        bytes=5_000_000,
        tls=server,
    )
    text = machine_command.table_text(specimen.Listing(specimens=(one,)), width=140, colour=False)
    assert "TLS 1.2–1.3 · TLS_AES_128_GCM_SHA256 · P-256 · resumes · OpenSSL 3.6.3" in text
    assert "1 of 1 are here (5 MB)" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("fetch",), "name the specimens to fetch, or give --all"),
        (("fetch", "--all", "mysql-9.7"), "name the specimens to fetch, or give --all"),
        (("fetch", "mysql-9.8"), "did you mean 'mysql-9.7'?"),
        (("remove", "openssl-3.5"), "there is no specimen named 'openssl-3.5'"),
        (("verify", "nothing"), "there is no specimen named 'nothing'"),
        (("add", "mysql-9.7", "--mysqld", "/bin/true"), "is the name of a specimen that is fetched"),
        (("add", "mine", "--mysqld", "/nowhere/mysqld"), "/nowhere/mysqld is not a program"),
        (("add", "mine", "--mysqld", "/bin/true", "--libssl", "/nowhere"), "/nowhere is not a directory"),
    ],
)
def test_mistakes_are_told_in_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    assert status_of(monkeypatch, *arguments) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_name_is_given_once_and_well_formed() -> None:
    entry = Added(name="mine", mysqld="/x", version="1", sha256="0" * 64)
    added.keep(entry)
    for wrong, said in ((entry, "is taken"), (entry.model_copy(update={"name": "Mine!"}), "is not a name")):
        with pytest.raises(Exception, match=said):
            added.keep(wrong)
    added.forget("mine")
    assert added.entries() == ()


def test_progress_has_an_amount_and_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    meter = Meter("downloading it", 500e6, "MB", 1e6)
    assert meter.words(100e6) == "downloading it: 100 of 500 MB"
    now += 10
    assert meter.words(200e6) == "downloading it: 200 of 500 MB · 30 s left"
    assert meter.words(10e6) == "downloading it: 10 of 500 MB", "it starts anew"
    assert Meter("reading", 0, "MB").words(5) == "reading: 5 MB"
    heard: list[str] = []
    plain = reporter(heard.append)
    plain.now("too early")
    now += QUIET_EVERY_S
    plain.now("after a while")
    assert heard == ["after a while"]
