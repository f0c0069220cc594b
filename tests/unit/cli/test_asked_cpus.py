"""`--server-cpus` and `--client-cpus`: what they ask for, what is refused, where it is kept."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest

from fake_trials import fake_header
from tlstax.cli import quantities
from tlstax.plan.cpu_shares import AskedCpus
from tlstax.records.trial import Changes
from tlstax.run.preparing import Request
from tlstax.store import Store
from tlstax.study import load_study
from tlstax.support.errors import UserMistake
from typed import status_of


@pytest.fixture(autouse=True)
def _places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TLSTAX_PASSWORD", raising=False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "--server-cpus", "0-"), "--server-cpus: '0-' is not a list of CPUs; write it like 0-11, or"),
        (("run", "--client-cpus", ""), "--client-cpus: no CPU is named"),
        (("run", "--server-cpus", "0", "--client-cpus", "0"), "both name CPU 0"),
        (("run", "--client-cpus", "99999"), "CPU 99999"),
        (("run", "--server", "mysql://u@h/db", "--server-cpus", "0"), "--server-cpus needs a private server"),
        (("study", "run", "tax", "--client-cpus", "1-0"), "--client-cpus: '1-0' is not a list of CPUs"),
        (("study", "run", "tax", "--server-cpus", "99999"), "CPU 99999"),
        (("self-bench", "--bytes", "--server-cpus", "a"), "--server-cpus: 'a' is not a list of CPUs"),
    ],
)
def test_cpus_that_cannot_be_had_are_told_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO())
    assert status_of(monkeypatch, *arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("tlstax: ")
    assert err.count("\n") == 1
    assert said in err


def noted(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """The requests that commands make, none of which is carried out."""
    begun: list[Request] = []

    def note(request: Request, *_: object) -> int:
        begun.append(request)
        return 0

    monkeypatch.setattr("tlstax.cli.run_command.measure", note)
    monkeypatch.setattr("tlstax.cli.study_command.measure", note)
    return begun


@pytest.mark.parametrize("command", [("run",), ("study", "run", "tax")])
def test_the_cpus_that_were_asked_for_are_asked_of_the_run_and_kept_in_it(
    monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    begun = noted(monkeypatch)
    assert status_of(monkeypatch, *command, "--server-cpus", "4-5,0", "--client-cpus", "1") == 0
    assert status_of(monkeypatch, *command) == 0
    assert [request.cpus for request in begun] == [AskedCpus(server=(0, 4, 5), client=(1,)), AskedCpus()]
    assert [request.changes.server_cpus for request in begun] == ["4-5,0", None]
    assert [request.changes.client_cpus for request in begun] == ["1", None]


def test_an_external_servers_client_may_have_its_cpus_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = noted(monkeypatch)
    monkeypatch.setenv("TLSTAX_PASSWORD", "secret")
    assert status_of(monkeypatch, "run", "--server", "mysql://u@h/db", "--client-cpus", "0-1") == 0
    assert [request.cpus for request in begun] == [AskedCpus(client=(0, 1))]


def test_a_resumed_run_has_the_cpus_again_that_were_asked_for_then(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begun = noted(monkeypatch)
    header = fake_header().model_copy(
        update={"changes": Changes(server_cpus="0", client_cpus="1"), "study": load_study("tax")}
    )
    with Store.open(tmp_path / "data" / "store.sqlite") as store:
        store.begin(header)
        store.finish(header.run, "interrupted", "Ctrl-C or a signal ended it")
    assert status_of(monkeypatch, "study", "run", "tax", "--resume") == 0
    assert [request.cpus for request in begun] == [AskedCpus(server=(0,), client=(1,))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0", (0,)),
        ("0-11", tuple(range(12))),
        ("0,2,4-7", (0, 2, 4, 5, 6, 7)),
        (" 4-5 , 0,5 ", (0, 4, 5)),
        ("3-3", (3,)),
    ],
)
def test_cpus_are_listed_as_the_kernel_does(text: str, found: tuple[int, ...]) -> None:
    assert quantities.cpus(text, "--server-cpus") == found


@pytest.mark.parametrize(
    "text", ["0-", "-1", "2-1", "0,,1", ",", "0;1", "all", "0-1-2", "0x1", "1.5", "٣", "9" * 99]
)
def test_what_is_no_list_of_cpus_is_refused(text: str) -> None:
    with pytest.raises(UserMistake, match="is not a list of CPUs") as caught:
        quantities.cpus(text, "--client-cpus")
    assert caught.value.sentence().startswith("--client-cpus: ")


@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_list_of_cpus_is_refused(text: str) -> None:
    with pytest.raises(UserMistake, match="no CPU is named"):
        quantities.cpus(text, "--client-cpus")
