"""`tlstax bundle` refuses what cannot be carried before anything is fetched, and says what is in the file."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tlstax.cli import machine_command as module
from tlstax.cli.machine_command import bundle_command, summary
from tlstax.support.errors import UserMistake
from tlstax.tools.bundle import Contents, Share


class Unmade(Exception):
    """The words were accepted, and making would begin."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Contents]:
    contents: list[Contents] = []

    def making(wanted: Contents, *_: object) -> None:
        contents.append(wanted)
        raise Unmade

    monkeypatch.setattr(module.bundle, "make", making)
    return contents


@pytest.mark.parametrize(
    ("servers", "libraries", "pythons", "words"),
    [
        (
            "mysql-9.77",
            None,
            None,
            "no server named 'mysql-9.77' that can be fetched .did you mean 'mysql-9.7'",
        ),
        ("openssl-3.0.2", None, None, "no server named 'openssl-3.0.2'"),
        (None, "openssl-9", None, "no TLS library named 'openssl-9'"),
        (None, None, "3.10", "--python '3.10' is no version that tlstax runs on"),
        (None, None, "3.11,python3", "--python 'python3' is no version"),
    ],
)
def test_what_cannot_be_carried(
    servers: str | None, libraries: str | None, pythons: str | None, words: str, tmp_path: Path
) -> None:
    with pytest.raises(UserMistake, match=words):
        bundle_command(tmp_path / "a.tar", servers, libraries, pythons)
    assert list(tmp_path.iterdir()) == []


def test_what_is_carried_where_nothing_is_said(asked: list[Contents], tmp_path: Path) -> None:
    with pytest.raises(Unmade):
        bundle_command(tmp_path / "a.tar", None, None, None)
    assert asked == [Contents(specimens=("mysql-9.7",), pythons=(f"3.{sys.version_info.minor}",))]
    assert list(tmp_path.iterdir()) == []


def test_names_are_carried_once_and_servers_first(asked: list[Contents], tmp_path: Path) -> None:
    with pytest.raises(Unmade):
        bundle_command(
            tmp_path / "a.tar", "mariadb-11.8, mysql-9.7,mariadb-11.8", "openssl-3.0.2", "3.13,3.11"
        )
    assert asked == [
        Contents(specimens=("mariadb-11.8", "mysql-9.7", "openssl-3.0.2"), pythons=("3.13", "3.11"))
    ]


def test_a_folder_that_is_not_there_is_reported_first(asked: list[Contents], tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="cannot be written"):
        bundle_command(tmp_path / "none" / "a.tar", None, None, None)
    assert asked == []


def test_the_summary_has_sizes_and_the_command_for_there() -> None:
    text = summary(
        Path("/media/stick/tlstax.tar"),
        60 << 20,
        [Share("load engine", 3 << 19, 8 << 20)],
        Contents(specimens=("mysql-9.7",), pythons=("3.11", "3.13")),
    )
    assert text.splitlines() == [
        "/media/stick/tlstax.tar: 60.0 MiB",
        "     1.5 MiB  load engine (8 MiB unpacked)",
        "It serves machines with Python 3.11 and 3.13. There:",
        "    tar xf tlstax.tar && tlstax/tlstax run",
    ]
