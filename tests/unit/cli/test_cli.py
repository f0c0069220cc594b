"""What the command line says to what it cannot use: one sentence, status 2, no traceback."""

from __future__ import annotations

import errno
import json
from io import StringIO
from pathlib import Path

import pytest

from fake_trials import fake_header
from tlstax.cli import quantities
from tlstax.cli.measure_app import RunOptions
from tlstax.cli.run_command import study_of
from tlstax.contract import ClosedLoop, OpenLoop
from tlstax.plan.order import cases
from tlstax.records.trial import Changes
from tlstax.run.preparing import Request
from tlstax.store import Store
from tlstax.study import load_study, parse_study
from tlstax.study.needs import server_choices
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
        (("run", "--tls", "1.4"), "1.4"),
        (("run", "--workload", "point-selekt"), "did you mean 'point-select'?"),
        (("run", "--connections", "none"), "none"),
        (("run", "--connections", "0"), "0"),
        (("run", "--budget", "soon"), "write it like 60s, 2m or 1h"),
        (("run", "--budget", "0s"), "not a duration"),
        (("run", "--budget", "9" * 400), "not a duration"),
        (("run", "--rtt-ms", "9" * 400), "is not a level of rtt_ms"),
        (("run", "--connections", "9" * 400), "is not a level of connections"),
        (("study", "run", "memory", "--set", "connections=" + "9" * 400), "is not a level of connections"),
        (("study", "plan", "n" * 300 + ".toml"), "cannot be read"),
        (
            ("specimens", "add", "own", "--mysqld", "n" * 300),
            "nnn",
        ),  # Python 3.14 finds no such file, older ones no such name
        (("run", "--precision", "200%"), "between 0 and 1"),
        (("run", "--rate", "fast"), "write it like 5000"),
        (("run", "--rate", "0"), "not a number of operations a second"),
        (("run", "--rate", "1000000000"), "up to 10,000,000"),
        (("run", "--rate", "5000", "--arrivals", "bursts"), "write poisson or uniform"),
        (("run", "--arrivals", "uniform"), "--arrivals goes with --rate"),
        (("run", "--tls", ","), "nothing is named"),
        (("run", "--server", "mysql://u@h/db,"), "--server: nothing is named before or after a comma"),
        (("run", "--connections", "4,"), "--connections: nothing is named before or after a comma"),
        (("run", "--tls", "1.2,"), "--tls: nothing is named before or after a comma"),
        (("run", "--client", "engine,,sysbench"), "--client: nothing is named before or after a comma"),
        (
            ("run", "--server", "mysql://u@h/db", "--address", "direct,"),
            "--address: nothing is named before or after a comma",
        ),
        (("ab", "--a", "server=mysql://u@h/db,", "--b", "server=mysql-9.7"), "has a comma"),
        (("ab", "--a", "tls=off", "--b", "tls=1.3", "--set", "connections=4,"), "--set connections: nothing"),
        (
            ("study", "run", "memory", "--set", "connections=1,"),
            "--set connections: nothing is named before or",
        ),
        (("inspect", "--client", "pymysql-1.1,"), "--client: nothing is named before or after a comma"),
        (("run", "--server", "Mysql 9"), "names of specimens"),
        (("run", "--server", "mysql-9.7", "--ssl-ca", "ca.pem"), "--ssl-ca needs the address of an external"),
        (
            ("run", "--server", "mysql-9.7", "--tls", "off,1.3-direct"),
            "--tls: nothing is left to be measured with tls = 1.3-direct: MySQL begins in the clear",
        ),
        (
            ("run", "--server", "postgresql-18", "--tls", "off,1.3,1.3-resumed"),
            "--tls: nothing is left to be measured with resumption = on: PostgreSQL resumes no TLS session",
        ),
        (
            ("run", "--server", "postgresql-18", "--client", "engine,sysbench"),
            "--client: nothing is left to be measured with client = sysbench: sysbench does not speak",
        ),
        (
            ("ab", "--a", "tls=off", "--b", "tls=1.3-direct"),
            "--b: nothing is left to be measured with tls = 1.3-direct",
        ),
        (
            ("ab", "--a", "tls=1.3-direct", "--b", "tls=1.3"),
            "tls = 1.3 with: MySQL begins in the clear",
        ),
        (
            ("ab", "--a", "server=mysql-9.7", "--b", "server=postgresql-18", "--tls", "1.3,1.3-resumed"),
            "--tls: nothing is left to be measured with resumption = on: PostgreSQL resumes no TLS session",
        ),
        (
            ("run", "--full-load"),
            "give its mysql:// or postgres:// address with --server, or leave the option out",
        ),
        (("run", "--path", "pgbounce"), "others (docs/supported.md has all)"),
        (
            ("run", "--client", "psycopg"),
            "allowed are psycopg-3, psycopg2-binary-2.9, ",
        ),
        (("run", "--tls-library", "own,OWN!"), "--tls-library: 'OWN!' is not a level of tls_library"),
        (("study", "run", "tax", "--resume"), "there is no run of study tax to resume"),
        (("study", "run", "tax", "--resume", "20260101"), "no run in the store yet"),
        (("study", "run", "tax", "--arrivals", "poisson"), "--arrivals goes with --rate"),
        (
            ("study", "plan", "openssl-versions", "--set", "server=mysql-9.7", "--set", "tls_library=own"),
            "--set tls_library: nothing is left to measure: only libraries that were built alike",
        ),
        (("study", "run", "tax", "--set", "tls"), "write it like --set tls=1.2,1.3"),
        (("study", "run", "taxs"), "did you mean 'tax'?"),
        (("run", "--trust", "/nowhere/bundle.pem"), "/nowhere/bundle.pem of --trust does not exist"),
        (("run", "--ssl-ca", "ca.pem"), "--ssl-ca needs the address of an external server"),
        (("run", "--server", "mysql://u@h/db", "--ssl-mode", "DISABLED"), "leaves nothing to compare"),
        (("run", "--server", "mysql://u@h/db", "--ssl-mode", "MAYBE"), "VERIFY_IDENTITY"),
        (
            ("run", "--server", "mysql://u@h/db", "--ssl-mode", "required", "--tls", "off,1.3"),
            "with --allow-plaintext",
        ),
        (
            ("run", "--server", "mysql://u@h/db", "--ssl-ca", "ca.pem", "--tls", "off,1.3"),
            "--ssl-ca (VERIFY_CA, as no --ssl-mode is given) demands TLS",
        ),
        (("run", "--allow-plaintext"), "--allow-plaintext needs the address of an external server"),
        (("run", "--server", "mysql://u:secret@h/db"), "TLSTAX_PASSWORD"),
        (("run", "--server", "mysql://u@h/db"), "no password was given"),
        (("run", "--server", "postgres://u@h,g/db"), "names several hosts"),
        (("run", "--server", "postgresql://u@h:1,g:2/db"), "names several hosts"),
        (("run", "--server", "postgres://u@h/db?require_auth=md5,scram-sha-256"), "names several hosts"),
        (("run", "--server", "postgres://u@h/db?ssl_mode=require"), "tlstax does not know 'ssl_mode'"),
        (("run", "--server", "postgres://u@h/db?sslmode=strict"), "sslmode=strict in the URL is unknown"),
        (("run", "--server", "postgres://u@h/db?sslmode=disable"), "leaves nothing to compare"),
        (("run", "--server", "postgres://u@h/db?sslcrl=a.crl"), "sslcrl in the URL says whom to trust"),
        (("run", "--server", "postgres://u@h/db?password=secret"), "a password may not stand"),
        (("run", "--server", "postgres://u:secret@h/db"), "a password may not stand"),
        (
            ("run", "--server", "postgres://u@h/db", "--defaults-file", "my.cnf"),
            "says nothing of a PostgreSQL",
        ),
        (("run", "--server", "postgres://u@h/db", "--login-path", "lab"), "says nothing of a PostgreSQL"),
        (
            ("run", "--server", "postgres://u@h/db", "--ssl-mode", "VERIFY_CA"),
            "needs the certificate authority",
        ),
        *(
            ((command, *option, given), words)
            for command, option, given in (
                ("run", ("--server",), "127.0.0.1:3306"),
                ("run", ("--server",), "::1"),
                *(("inspect", (), given) for given in ("127.0.0.1:3306", "localhost", "db.example")),
                ("advise", (), "localhost"),
            )
            for words in ("mysql://user@host:port/schema",)
        ),
        (("run", "--server", "MySQL-9.7"), "(did you mean 'mysql-9.7'?)"),
        *(
            (("inspect", given), f"(did you mean {meant!r}?)")
            for given, meant in (
                ("mysql", "mysql-9.7"),
                ("mysql-8", "mysql-8.0.33"),
                ("mysql-97", "mysql-9.7"),
                ("mariadb", "mariadb-11.8"),
            )
        ),
        (("report",), "no run in the store yet"),
        (("report", "--format", "pdf"), "html"),
        (("runs", "delete", "20000101"), "no run"),
        (("study", "run", "self-bench", "--set", "workload=reconect"), "did you mean 'reconnect'?"),
        (("study", "run", "self-bench", "--set", "connections=8,none"), "none"),
        (("study", "run", "memory", "--blocks", "2", "--budget", "5m"), "leave one of the two out"),
        (("study", "run", "memory", "--set", "connections=100"), "takes two numbers at the least"),
        (("compare", "last", "--absolute"), "--absolute goes with a limit"),
        (("compare", "last", "--max-regression", "5%", "--absolute"), "--absolute needs two runs"),
        (("compare", "a", "b", "c", "--max-regression", "5%"), "3 are named"),
        (
            ("compare", "a", "b", "--max-regression", "5%", "--outcomes", "ops_per_s"),
            "--outcomes does not go",
        ),
        (("check", "last", "--against", "one"), "a check needs a limit"),
        (("self-bench", "--format", "md"), "`tlstax report last --format md` shows the run so"),
        (("self-bench", "--bytes", "--workload", "reconnect"), "--workload does not go with --bytes"),
        (("self-bench", "--bytes", "--format", "html"), "the formats are terminal, md"),
        (("self-bench", "--show", "no-such-file.json"), "cannot be read"),
        (("self-bench", "--show", __file__), "`tlstax report RUN` shows it"),
        (("self-bench", "--rate", "5"), "--rate goes with --hold"),
        (("storm", "--lasting", "3s"), "--lasting goes with --steady"),
        (("predict", "--mixes", "5"), "--mixes goes with --validate"),
        (("self-bench", "--hold", "9", "--workload", "reconnect"), "--workload does not go with --hold"),
    ],
)
def test_a_mistake_is_told_in_one_sentence(
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
    assert "secret" not in err


@pytest.mark.parametrize("arguments", [("run", "--nonsense"), ("nonsense",), ("run", "--rows", "0")])
def test_usage_errors_have_status_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    assert status_of(monkeypatch, *arguments) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_no_command_at_all_is_answered_with_the_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(monkeypatch) == 2
    out, err = capsys.readouterr()
    assert "Usage: tlstax" in out + err
    assert "defect" not in err


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "f"), 3, "the disk is full (f); make room"),
        (OSError(errno.ELOOP, "Too many links", "f"), 2, "f cannot be used (Too many links); name another"),
        (OSError(errno.EIO, "Input/output error"), 3, "this machine is at fault: Input/output error"),
        (MemoryError(), 3, "there is not enough memory"),
    ],
)
def test_what_the_system_refuses_is_no_defect(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    status: int,
    said: str,
) -> None:
    def refused(**_: object) -> int:
        raise error

    monkeypatch.setattr("tlstax.tools.doctor.diagnosis.diagnose", refused)
    assert status_of(monkeypatch, "doctor") == status
    err = capsys.readouterr().err
    assert err.startswith(f"tlstax: {said}")
    assert err.count("\n") == 1


def test_a_guest_keeps_its_library(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TLSTAX_PASSWORD", "secret")
    arguments = ("run", "--server", "mysql://u@h/db", "--tls-library", "openssl-3.0")
    assert status_of(monkeypatch, *arguments) == 2
    assert "--tls-library needs private servers alone" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("REQUIRED", "with --allow-plaintext"),
        ("PREFERRED", "no password was given"),
        ("DISABLED", "leaves nothing to compare"),
    ],
)
def test_how_tls_is_to_be_used_is_checked_before_a_password_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    mode: str,
    said: str,
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO())
    file = tmp_path / "my.cnf"
    file.write_text(f"[client]\nssl-mode={mode}\n", encoding="utf-8")
    arguments = ("run", "--server", "mysql://u@h/db", "--defaults-file", str(file), "--tls", "off,1.3")
    assert status_of(monkeypatch, *arguments) == 2
    assert said in capsys.readouterr().err
    if mode == "REQUIRED":
        assert status_of(monkeypatch, *arguments, "--allow-plaintext") == 2
        assert "no password was given" in capsys.readouterr().err


def test_a_plan_is_short_for_a_big_study_and_whole_where_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study = load_study("openssl-versions")
    of_study = len(cases(study))
    assert of_study > 1000
    assert status_of(monkeypatch, "study", "plan", "openssl-versions") == 0
    short = capsys.readouterr().out
    assert short.count("\n") < 80
    for said in (
        f"{of_study} cases, each once in a block",
        f"{len(server_choices(study))} servers, started once",
        "mysql-8.0.33 over openssl-1.1.1l",
        ": only libraries that were built alike are compared",
        "At most",
    ):
        assert said in " ".join(short.split()), said
    assert status_of(monkeypatch, "study", "plan", "openssl-versions", "--cases") == 0
    whole = capsys.readouterr().out
    assert "TLS 1.3 resumed, mysql-9.7 over openssl-3.4, reconnecting" in " ".join(whole.split())
    assert whole.count("\n") > of_study


NO_ROOM = " has no room for two blocks, the fewest that give an interval: one block of "
ANYWAY = "or run it anyway with --over-budget"
COUNTING = """
name = "counting"
title = "t"
question = "q"
baseline = { tls = "off" }
budget_s = 1.5
[factors]
tls = ["off", "1.3"]
workload = ["point-select"]
connections = [1]
queries = [1000]
"""
"""Three trials a block, of 0.27 s each (tests/unit/plan/test_budget.py)."""


def test_a_plan_says_when_the_budget_has_no_room_and_what_fits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "counting.toml").write_text(COUNTING, encoding="utf-8")
    plan = ("study", "plan", str(tmp_path / "counting.toml"))
    assert status_of(monkeypatch, *plan) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.endswith(
        f"The budget of 1.5 s{NO_ROOM}3 trials takes about 0.81 s. `study run` refuses that without "
        "--over-budget; it fits with --budget 2s or --set queries=500."
    )
    assert status_of(monkeypatch, *plan, "--set", "queries=500") == 0
    assert "At most 2 blocks, 6 trials, about 8 s with the start" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("study", "run", "{counting}"),
            f"1.5 s{NO_ROOM}3 trials takes about 0.81 s; give --budget 2s or --set queries=500, {ANYWAY}",
        ),
        (
            ("study", "run", "{counting}", "--budget", "400ms", "--json"),
            f"0.4 s{NO_ROOM}3 trials takes about 0.81 s; give --budget 2s, {ANYWAY}",
        ),
        (
            ("run", "--tls", "1.3", "--workload", "point-select", "--connections", "1,100", "--budget", "2s"),
            f"2 s{NO_ROOM}6 trials takes about 1.1 s; give --budget 3s or --connections 1, {ANYWAY}",
        ),
        (
            ("run", "--server", "mysql://u@h/db", "--workload", "point-select", "--budget", "1s"),
            f"1 s{NO_ROOM}4 trials takes about 0.62 s; give --budget 2s, {ANYWAY}",
        ),
    ],
    ids=["a study", "its budget by an option", "run", "an external server"],
)
def test_a_budget_without_room_for_two_blocks_is_refused_before_anything_is_done(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    arguments: tuple[str, ...],
    sentence: str,
) -> None:
    monkeypatch.setenv("TLSTAX_PASSWORD", "secret")
    (tmp_path / "counting.toml").write_text(COUNTING, encoding="utf-8")
    asked = [word.format(counting=tmp_path / "counting.toml") for word in arguments]
    assert status_of(monkeypatch, *asked) == 2
    assert capsys.readouterr() == ("", f"tlstax: the budget of {sentence}\n")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--budget", "1s", "--over-budget"),
        ("study", "run", "tax", "--budget", "1s", "--over-budget"),
        ("run", "--budget", "5s"),
    ],
    ids=" ".join,
)
def test_over_budget_goes_on_as_does_a_budget_with_room(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    """To the pipeline, which is not carried out."""
    begun: list[Request] = []

    def note(request: Request, *_: object) -> int:
        begun.append(request)
        return 0

    monkeypatch.setattr("tlstax.cli.run_command.measure", note)
    monkeypatch.setattr("tlstax.cli.study_command.measure", note)
    assert status_of(monkeypatch, *arguments) == 0
    assert [request.study.name for request in begun] == ["tax"]


def test_a_resumed_run_is_not_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It was begun over its budget, and what it has is brought to its end."""
    begun: list[Request] = []

    def note(request: Request, *_: object) -> int:
        begun.append(request)
        return 0

    small = load_study("tax").model_copy(update={"budget_s": 1.0})
    header = fake_header().model_copy(update={"study": small, "changes": Changes(budget="1s")})
    with Store.open(tmp_path / "data" / "store.sqlite") as store:
        store.begin(header)
        store.finish(header.run, "interrupted", "Ctrl-C or a signal ended it")
    monkeypatch.setattr("tlstax.cli.study_command.measure", note)
    assert status_of(monkeypatch, "study", "run", "tax", "--resume") == 0
    assert [request.study.budget_s for request in begun] == [1.0]


def test_a_plan_as_json_has_every_excluded_case(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("study", "plan", "openssl-versions", "--set", "connections=8", "--json")
    assert status_of(monkeypatch, *arguments) == 0
    planned = json.loads(capsys.readouterr().out)
    assert planned["schema"] == 1
    assert (planned["study"], len(planned["servers"])) == ("openssl-versions", 25)
    assert planned["trials"] == planned["blocks"] * len(planned["cases"])
    wolfssl_lacks = 2 + 2
    assert len(planned["excluded"]) == 6 * 12 * 2 * 2 * 4 - 25 * 2 * 4 + wolfssl_lacks
    assert set(planned["excluded"][0]) == {"case", "why"}


def test_studies_are_listed_within_the_width_and_shown_as_files(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(monkeypatch, "study", "list") == 0
    listed = capsys.readouterr().out
    assert max(map(len, listed.splitlines())) <= 80
    assert status_of(monkeypatch, "study", "show", "tax") == 0
    assert parse_study(capsys.readouterr().out, where="shown") == load_study("tax")


def test_no_run_yet_is_no_mistake_for_the_list(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(monkeypatch, "runs", "list") == 0
    assert "no runs yet" in capsys.readouterr().out


def test_an_unbuilt_engine_is_the_machines_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TLSTAX_ENGINE", raising=False)
    assert status_of(monkeypatch, "run") == 3
    assert "start tlstax by its launcher" in capsys.readouterr().err


def test_a_defect_is_owned_and_its_details_are_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def broken(**_: object) -> int:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("tlstax.tools.doctor.diagnosis.diagnose", broken)
    assert status_of(monkeypatch, "doctor") == 3
    err = capsys.readouterr().err
    assert "a defect in tlstax (ZeroDivisionError: by zero)" in err
    (details,) = (tmp_path / "cache").glob("defect-*.txt")
    assert str(details) in err
    assert "Traceback" in details.read_text()


@pytest.mark.parametrize(
    ("text", "expected"), [("60s", 60), ("90", 90), ("2m", 120), ("1.5h", 5400), ("500ms", 0.5)]
)
def test_durations(text: str, expected: float) -> None:
    assert quantities.seconds(text, "--budget") == expected


@pytest.mark.parametrize(("text", "expected"), [("2%", 0.02), ("0.5 %", 0.005), ("0.02", 0.02)])
def test_fractions(text: str, expected: float) -> None:
    assert quantities.fraction(text, "--precision") == pytest.approx(expected)


def test_lists_keep_their_order_and_lose_repetitions() -> None:
    assert quantities.names("b, a,b", "--tls") == ("b", "a")
    with pytest.raises(UserMistake, match="nothing is named"):
        quantities.names(" , ", "--tls")


def test_options_change_the_study() -> None:
    options = RunOptions(tls="1.3", workload="reconnect", connections="1,4", budget="2m", precision="1%")
    study = study_of(options)
    assert (study.budget_s, study.precision) == (120, 0.01)
    kinds = {(case.role, case.levels["tls"], case.levels["connections"]) for case in cases(study)}
    assert kinds == {
        (role, tls, connections)
        for connections in (1, 4)
        for role, tls in (("baseline", "off"), ("control", "off"), ("treatment", "1.3"))
    }


def test_a_rate_makes_an_open_loop_that_a_latency_decides() -> None:
    study = study_of(RunOptions(rate="5000"))
    assert study.schedule == OpenLoop(rate_per_s=5000, arrivals="poisson")
    assert study.deciding_outcome == "latency_p50_us"
    even = study_of(RunOptions(rate="0.5", arrivals="uniform"))
    assert even.schedule == OpenLoop(rate_per_s=0.5, arrivals="uniform")
    assert study_of(RunOptions()).schedule == ClosedLoop()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--server", "mysql://ann@db.example/shop", "--path", "unix-socket"),
        ("--server", "mysql://ann@db.example/shop", "--tls-library", "openssl-3.5.5"),
        ("--server", "mysql://ann@db.example/shop", "--client", "mysqlslap-9.7", "--workload", "ping"),
        (
            "--server",
            "mysql://ann@db.example/shop",
            "--client",
            "sysbench",
            "--workload",
            "reconnect",
        ),
        ("--server", "mysql://ann@db.example/shop,mysql-9.7", "--address", "proxy=proxy.example:6033"),
    ],
)
def test_what_an_external_server_has_not_is_refused_before_a_password_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    def ask(*_: object) -> None:
        pytest.fail("it asked for a password")

    monkeypatch.setattr("tlstax.cli.external_servers.settle", ask)
    assert status_of(monkeypatch, "run", *arguments) == 2
