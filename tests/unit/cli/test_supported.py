"""The page of what is supported where says what the commands and the exclusions themselves say."""

from __future__ import annotations

import pytest

from tlstax.cli.documents import COMMANDS, PLACES, page
from typed import status_of

ADDRESS = {"mysql": "mysql://u@h/db", "postgresql": "postgres://u@h/db?sslmode=strict"}
DOOR = ("no password was given", "sslmode=strict in the URL is unknown")
"""What is said where a command begins to get in."""

UNKNOWN = ("are probed at private servers alone", "a private server is needed here")
"""What a command says of a server that it does not know."""

EXTERNAL = [
    (command, place.product, known)
    for command, knows in COMMANDS.items()
    for place, known in zip(PLACES, knows, strict=True)
    if place.is_external
]


@pytest.fixture(scope="module")
def supported() -> str:
    """The page, which takes seconds to write: not while every process of the tests collects them."""
    return page()


def typed(command: str, server: str) -> tuple[str, ...]:
    """The command with this server, as a user types it."""
    words = tuple(command.split())
    if command == "ab":
        return (*words, "--a", f"server={server}", "--b", "server=mysql-9.7")
    if command in {"inspect", "advise"}:
        return (*words, server)
    if words[:2] == ("study", "run"):
        return (*words[:2], *(words[2:] or ("tax",)), "--set", f"server={server}")
    return (*words, *(["--no-costs"] if command == "drivers probe" else []), "--server", server)


@pytest.mark.parametrize(("command", "product", "known"), EXTERNAL)
def test_a_command_begins_to_get_into_an_external_server_that_it_knows(
    command: str,
    product: str,
    known: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert status_of(monkeypatch, *typed(command, ADDRESS[product])) == 2
    said = capsys.readouterr().err
    assert any(words in said for words in DOOR) == known, said
    assert any(words in said for words in UNKNOWN) != known, said


@pytest.mark.parametrize(
    "row",
    [
        "| `resumption`: `on` | yes | yes | no (4) | yes | no (4) |",
        "4. PostgreSQL resumes no TLS session: its server issues no tickets and keeps no sessions",
        "| `tls`: `1.3-direct` | no (2) | no (3) | only postgresql-18, postgresql-17, ",
        "only PostgreSQL 17, PostgreSQL 18 |",
        "| `client`: `engine` | yes | yes | yes | yes | yes |",
        "| `workload`: `stream` | only mysql-9.7, mysql-sid, mysql-8.0.33 "
        "| not mariadb-10.1-yassl | yes | no (",
        "| `path`: `unix-socket` | yes | yes | yes | no (",
    ],
)
def test_what_is_known_of_the_products_stands_there(row: str, supported: str) -> None:
    assert row in supported


def test_every_command_and_factor_has_its_row(supported: str) -> None:
    assert all(f"| `{command}` |" in supported for command in COMMANDS)
    assert supported.count("| `tls`: ") == 5
    assert "(tls = off) it" not in supported
