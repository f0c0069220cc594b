"""A password that was typed where none belongs comes back nowhere: not on a stream, not in a file."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from itertools import cycle
from pathlib import Path

import pytest

from tlstax.cli import exit as ends
from tlstax.cli import streams
from tlstax.cli.app import Command, Parameter, command_tree
from tlstax.external.access import parse_url
from tlstax.study import parse_study
from tlstax.support import credentials
from tlstax.support.errors import UserMistake
from typed import status_of

SECRET = "hunter2,Sesame"
"""With a comma, at which lists are taken apart."""

PARTS = ("hunter2", "Sesame")

CERTAIN = (
    f"mysql://app:{SECRET}@db.example:3306/scratch",
    f"mariadb://app:{SECRET}/x@db.example",
    f"mysql://app@corp:{SECRET}@db.example:3306/scratch",
    f"mysql://app%40corp:x@{SECRET}:x@db.example",
    f"mariadb://app@corp@[::1]:{SECRET}/x@db.example",
    f"postgres://:{SECRET}@db.example",
    f"ssh://app:{SECRET}@db.example",
    f"app:{SECRET}@tcp(db.example:3306)/scratch",
    f"app@corp:{SECRET}@tcp(db.example:3306)/scratch",
    f"app:{SECRET}@/scratch",
    f"jdbc:mysql://db.example/scratch?user=app&password={SECRET}",
    f"host=db.example user=app password={SECRET}",
    f"Server=db.example;Uid=app;Pwd={SECRET};",
)
LIKELY = (
    f"app:{SECRET}@db.example",
    f"app:{SECRET}@db.example:3306/scratch",
    f"app@corp:{SECRET}@db.example",
    f"app/{SECRET}@db.example",
    f"mysql://app:{SECRET}",
    f"mysql://app@db.example:{SECRET}",
    f"mysql://app@corp:3306/{SECRET}@db.example",
)

OF_A_SERVER = ("server", "url", "a", "b", "settings", "server_host", "path", "study_name", "names", "name")
"""What a server's address could be taken for, as the parameters are called in the code."""

COMMANDS = tuple(command for command in command_tree().walk() if command.words and not command.commands)


def _required(command: Command, but: Parameter, given: str) -> list[str]:
    """What else the command wants, so that it gets as far as to what it was given."""
    typed: list[str] = []
    for parameter in (*command.options, *command.arguments):
        if parameter.required and parameter is not but:
            typed += [*parameter.names[:1], given if parameter.name in OF_A_SERVER else "tls=1.3"]
    return typed


def _typed(command: Command, parameter: Parameter, given: str) -> list[str]:
    value = f"server={given}" if parameter.name in {"a", "b", "settings"} else given
    own = [*parameter.names[:1], value] if parameter.names else [value]
    study = ["tax"] if command.words[0] == "study" and parameter.name == "settings" else []
    others = [] if study else _required(command, parameter, value)
    return [*command.words, *study, *others, *own]


def _everywhere(wanted: tuple[str, ...] = ()) -> Iterator[tuple[Command, Parameter]]:
    for command in COMMANDS:
        for parameter in (*command.options, *command.arguments):
            if parameter.metavar and (not wanted or parameter.name in wanted):
                yield command, parameter


@pytest.fixture(autouse=True)
def _places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("sys.stdin", StringIO())
    monkeypatch.chdir(tmp_path)


def _check_nothing_is_left(folder: Path, shown: str) -> None:
    assert not [part for part in PARTS if part in shown], shown
    for path in folder.rglob("*"):
        assert not [part for part in PARTS if part in str(path)]
        if path.is_file():
            content = path.read_bytes()
            assert not [part for part in PARTS if part.encode() in content], path


def test_no_option_takes_a_password(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """For every option and argument of every command, before anything is begun."""
    places = list(_everywhere())
    assert len(places) > 200
    for (command, parameter), given in zip(places, cycle(CERTAIN), strict=False):
        typed = _typed(command, parameter, given)
        assert status_of(monkeypatch, *typed) == 2, typed
        shown = "".join(capsys.readouterr())
        assert "may not stand on the command line" in shown, typed
        assert not [part for part in PARTS if part in shown], (typed, shown)
    _check_nothing_is_left(tmp_path, "")


def test_what_may_have_a_password_is_not_repeated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A name of none of the forms that are known for certain, where a server may be named."""
    places = list(_everywhere(OF_A_SERVER))
    assert {" ".join(command.words) for command, _ in places} >= {
        *("run", "ab", "inspect", "advise", "storm", "predict", "bundle"),
        *("study run", "study plan", "drivers probe", "specimens fetch"),
    }
    for (command, parameter), given in zip(places, cycle(LIKELY), strict=False):
        typed = _typed(command, parameter, given)
        status = status_of(monkeypatch, *typed)
        shown = "".join(capsys.readouterr())
        assert not [part for part in PARTS if part in shown], (typed, shown)
        assert status in {2, 3}, (typed, shown)
    _check_nothing_is_left(tmp_path, "")


@pytest.mark.parametrize("given", LIKELY)
@pytest.mark.parametrize("words", [("run",), ("nonsense",), ("inspect", "mysql-9.7"), ("run", "--json")])
def test_a_usage_error_repeats_no_password(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], given: str
) -> None:
    assert status_of(monkeypatch, *words, given) == 2
    shown = "".join(capsys.readouterr())
    assert not [part for part in PARTS if part in shown], shown
    assert "Traceback" not in shown


@pytest.mark.parametrize("given", [*CERTAIN, *LIKELY])
def test_a_study_file_repeats_no_password(given: str) -> None:
    """Nor does a file of the user's, of which the refusal says what stands there."""
    for text in (
        f'name = "x"\ntitle = "X"\nquestion = "X?"\n[factors]\nserver = ["{given}"]\n',
        f'name = "x"\ntitle = "X"\nquestion = "X?"\n[factors]\ntls = ["{given}"]\n',
        f'name = "x"\ntitle = "X"\nquestion = "X?"\nserver = "{given}"\n',
        f'name = "x"\ntitle = "X"\nbudget_s = "{given}"\n',
    ):
        with pytest.raises(UserMistake) as caught:
            parse_study(text, where="x.toml")
        shown = credentials.without_passwords(caught.value.sentence())
        assert not [part for part in PARTS if part in shown], shown


@pytest.mark.parametrize("given", [*CERTAIN, *LIKELY])
def test_a_defect_keeps_no_password(capsys: pytest.CaptureFixture[str], tmp_path: Path, given: str) -> None:
    def command() -> None:
        streams.remember([f"--server={given}"])
        raise RuntimeError(f"nobody foresaw {given!r}")

    assert ends.guarded(command) == 3
    shown = capsys.readouterr().err
    assert "a defect in tlstax (RuntimeError: nobody foresaw" in shown
    assert list(tmp_path.rglob("defect-*.txt"))
    _check_nothing_is_left(tmp_path, shown)


@pytest.mark.parametrize(
    "harmless",
    [
        "mysql://app@db.example:3306/scratch",
        "mysql://app@[::1]:3306/scratch",
        "ssh://admin@db.example:22",
        "db.example:6379",
        "server_cpu_us_per_op +1%",
        "tls=1.3,resumption=off,workload=reconnect",
        "/reports/2026-11-27T10:30@home.html",
        "trustCertificateKeyStorePassword=changeit",
        "mysql-9.7,mariadb-11.8",
    ],
)
def test_what_has_no_password_is_taken_and_shown(harmless: str) -> None:
    assert not credentials.has_password(harmless)
    streams.remember([harmless])
    sentence = f"there is no {harmless!r} here; see {harmless}"
    assert streams.harmless(sentence) == sentence


@pytest.mark.parametrize(
    ("several", "has"),
    [
        ("mysql://ann@old.example:3306/x,mysql://bob@new.example/y", False),
        ("mysql://old.example:3306/x,mysql-9.7,mysql://bob@new.example/y", False),
        ("--server=mysql://old.example,mariadb://bob@[::1]:3307/y", False),
        ("server=mysql://ann@[::1]:3306/x,mysql://ann@/y?socket=/run/mysqld/mysqld.sock", False),
        ("mysql://ann@old.example/x,mysql://bob:jd1234@new.example/y", True),
        ("mysql://ann:3306@old.example/x,mysql://bob@new.example/y", True),
        ("mysql-9.7,mysql://ann:jd,1234@old.example/x", True),
    ],
)
def test_several_servers_are_read_one_by_one(several: str, has: bool) -> None:
    """The @ of one may follow the colon of the one before."""
    assert credentials.has_password(several) is has
    if not has:
        assert credentials.likely_passwords([several]) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "write it as mysql://user@host:port/schema, with special characters percent-encoded",
        "the page is at http://127.0.0.1:43211.",
        "there is no file 'studies/mine.toml', and 'root'@'localhost' may log in",
        "Access denied for user 'ann'@'db.example' (using password: YES)",
    ],
)
def test_a_sentence_without_a_password_stays_as_it_is(sentence: str) -> None:
    streams.remember([])
    assert streams.harmless(sentence) == sentence


def test_the_forms_are_what_they_are_taken_for() -> None:
    """Otherwise the tests above would be of something else."""
    assert all(map(credentials.has_password, CERTAIN))
    assert not any(map(credentials.has_password, LIKELY))
    with pytest.raises(UserMistake) as caught:
        parse_url(CERTAIN[0])
    assert not [part for part in PARTS if part in caught.value.sentence()]
