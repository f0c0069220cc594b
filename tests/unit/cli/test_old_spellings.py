"""Old spellings of commands do what the new ones do, and say on one line what is to be typed instead."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from kept_runs import NAME, RUN, keep
from tlstax.cli import old_spellings
from tlstax.cli.app import command_line
from tlstax.cli.old_spellings import NOW
from tlstax.cli.streams import show_json
from tlstax.store import Store
from tlstax.support.errors import MachineFault
from typed import status_of

TABLE = (
    ("pack", "runs pack last"),
    ("pack last -o main.tlstax --with-names", "runs pack last --output main.tlstax --with-names"),
    ("open main.tlstax", "runs open main.tlstax"),
    ("publish site a.tlstax 'b c.tlstax'", "runs publish site a.tlstax 'b c.tlstax'"),
    ("watch", "runs watch"),
    ("watch last", "runs watch last"),
    ("explore", "runs explore"),
    ("explore --port 8001", "runs explore --port 8001"),
    ("check last --against main.tlstax --max-regression 5%", "compare main.tlstax last --max-regression 5%"),
    (
        "check last --max 'ops_per_s +5%' --max 'latency_p50_us +1%' --min 'ops_per_s -5%' --json",
        "compare last --max 'ops_per_s +5%' --max 'latency_p50_us +1%' --min 'ops_per_s -5%' --json",
    ),
    ("memory", "study run memory"),
    (
        "memory --server mysql-9.7,mariadb-11.8 --connections 100,1000 --rounds 2 --seed 7",
        "study run memory --set server=mysql-9.7,mariadb-11.8 --set connections=100,1000 --blocks 2 --seed 7",
    ),
    (
        "memory --tls-library openssl-3.0 --certificate rsa-4096 --beside-others",
        "study run memory --set tls_library=openssl-3.0 --set certificate=rsa-4096 --beside-others",
    ),
    (
        "memory --server mysql://u@h/db --max-connections 60 --ssl-ca ca.pem --server-host ssh://h",
        "study run memory --set server=mysql://u@h/db --max-connections 60 --ssl-ca ca.pem --server-host ssh://h",
    ),
    ("self-bench", "study run self-bench"),
    (
        "self-bench --workload reconnect --tls off,1.3-resumed --connections 8,64 --budget 2m --seed 3",
        "study run self-bench --set workload=reconnect --set tls=off,1.3,1.3-resumed --set connections=8,64 "
        "--over-budget --seed 3 --budget 2m",
    ),
    (
        "self-bench --client-tls-library openssl-3.5.5 --format json -o figures.html",
        "study run self-bench --set client_tls_library=openssl-3.5.5 --report figures.html --json",
    ),
    (
        "self-bench --server postgresql-18 --tls 1.3",
        "study run self-bench --set server=postgresql-18 --set tls=1.3",
    ),
    (
        "self-bench --hold 10000",
        "study run hold --set connections=1000,10000 --rate 10000 --arrivals uniform --blocks 1",
    ),
    (
        "self-bench --hold 2 --rate 0.5 --server mysql-9.7 --client-cpus 1",
        "study run hold --set server=mysql-9.7 --set connections=1,2 --rate 0.5 --arrivals uniform "
        "--blocks 1 --client-cpus 1",
    ),
)


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The words that are carried out in place of what was typed; none is."""
    words: list[list[str]] = []

    def note(new: list[str], _: bytes | None = None) -> int:
        words.append(list(new))
        return 0

    monkeypatch.setattr(old_spellings, "follow", note)
    monkeypatch.setattr("tlstax.clients.choice.obtain_client", lambda *_: None)
    return words


@pytest.mark.parametrize(("old", "new"), TABLE)
def test_an_old_spelling_becomes_the_new_one(
    old: str, new: str, followed: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert status_of(monkeypatch, *shlex.split(old)) == 0
    assert followed == [shlex.split(new)]
    command, rest = command_line(), shlex.split(new)
    while hasattr(command, "commands"):
        command = command.commands[rest.pop(0)]
    command.make_context(command.name, rest)


def test_the_table_has_every_old_spelling_and_every_one_is_hidden() -> None:
    hidden = {name for name, command in command_line().commands.items() if command.hidden}
    assert {old.split()[0] for old, _ in TABLE} == NOW.keys() == hidden - {"node", "client-node", "live-page"}


def test_without_sysbench_the_other_clients_compete(
    followed: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def gone(*_: object) -> None:
        raise MachineFault("sysbench cannot be fetched")

    monkeypatch.setattr("tlstax.clients.choice.obtain_client", gone)
    assert status_of(monkeypatch, "self-bench", "--seed", "1") == 0
    assert followed == [["study", "run", "self-bench", "--set", "client=engine,floor", "--seed", "1"]]
    assert "no sysbench to compare with: sysbench cannot be fetched" in capsys.readouterr().err


@pytest.fixture
def kept(store: Store, path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    keep(store, RUN)
    store.finish(NAME, "complete", "")
    monkeypatch.setenv("TLSTAX_DATA", str(path.parent))
    monkeypatch.chdir(path.parent)
    return path.parent


def test_one_line_says_what_to_type_and_all_else_is_as_with_that(
    kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Standard output stays what it is for whoever reads it: the line is on standard error."""
    for old, new in (
        ("pack last -o a.tlstax", "runs pack last --output a.tlstax"),
        ("publish site a.tlstax", "runs publish site a.tlstax"),
        (
            f"check {NAME} --against a.tlstax --max-regression 5%",
            f"compare a.tlstax {NAME} --max-regression 5%",
        ),
        ("open none.tlstax", "runs open none.tlstax"),
        ("watch 19990101", "runs watch 19990101"),
    ):
        status = status_of(monkeypatch, *old.split())
        out, err = capsys.readouterr()
        assert err.startswith(f"deprecated: use ./tlstax {new}\n"), old
        assert status_of(monkeypatch, *new.split()) == status
        assert capsys.readouterr() == (out, err.partition("\n")[2])
    assert {"a.tlstax", "site"} <= {path.name for path in kept.iterdir()}


def test_a_document_on_standard_output_is_nothing_else(
    followed: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.undo()

    def shown(_: object) -> int:
        show_json("{}")
        return 4

    monkeypatch.setattr("tlstax.cli.compare_command.compare_command", shown)
    assert status_of(monkeypatch, "check", "last", "--max-regression", "5%", "--json") == 4
    out, err = capsys.readouterr()
    assert (json.loads(out), err) == (
        {},
        "deprecated: use ./tlstax compare last --max-regression 5% --json\n",
    )
    assert followed == []


@pytest.mark.parametrize("word", ["pakc", "wacth", "chekc", "memry", "self-bnch", "exlpore", "publsh"])
def test_a_mistyped_old_spelling_is_led_to_the_new_one(
    word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(monkeypatch, word) == 2
    said = capsys.readouterr().err
    assert any(f"'{new}'" in said for new in NOW.values()), said
    assert not any(f"'{old}'" in said for old in NOW), said
