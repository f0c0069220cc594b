"""External servers among those that options name: what they are called, and whose password is whose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tlstax.cli import external_servers as cli_external_servers
from tlstax.cli.ab_command import ab_study, external_servers
from tlstax.cli.external_servers import accessed, external_of, let_in
from tlstax.cli.measure_app import AbOptions, RunOptions
from tlstax.cli.options import ExternalOptions, LoginOptions
from tlstax.cli.run_command import study_of
from tlstax.cli.study_command import changed
from tlstax.cli.target_servers import ExternalServers, external_among, typed_servers
from tlstax.external.access import ExternalAccess
from tlstax.external.given_password import GivenPassword
from tlstax.plan.admission import Leeway
from tlstax.records.trial import Changes
from tlstax.study import Study, load_study, override
from tlstax.study.server_abilities import ServerAbilities, of_postgresql
from tlstax.support.errors import UserMistake
from typed import status_of

OLD, NEW = "mysql://ann@old.example/scratch", "mysql://bob@new.example:3307/scratch"
SOCKET = "mysql://ann@/scratch?socket=/run/mysqld/mysqld.sock"
CALLED = ("old.example:3306", "new.example:3307")


def options(**said: Any) -> ExternalOptions:
    host = said.pop("server_host", None)
    return ExternalOptions(
        login=LoginOptions(given_password=GivenPassword(b"of all"), **said), server_host=host
    )


def at(*typed: str, **said: Any) -> ExternalServers:
    return external_among(typed, options(**said))


def study_at(servers: ExternalServers) -> Study:
    return override(load_study("tax"), "server", servers.levels, external=servers.levels)


def file_with(path: Path, text: str) -> Path:
    path.write_text(f"[client]\n{text}\n")
    path.chmod(0o600)
    return path


def test_a_server_is_called_by_its_address_without_user_and_schema(tmp_path: Path) -> None:
    servers = at(OLD, "mariadb-11.8", NEW, SOCKET)
    assert servers.levels == (*CALLED, "/run/mysqld/mysqld.sock")
    assert servers.named((NEW, "mariadb-11.8")) == (CALLED[1], "mariadb-11.8")
    assert servers.setting(f"server={OLD},mariadb-11.8") == f"server={CALLED[0]},mariadb-11.8"
    assert servers.setting("tls=1.3") == "tls=1.3"
    assert servers.side(f"server={NEW}") == f"server={CALLED[1]}"
    ports = at("mysql://h/a", OLD, defaults_file=file_with(tmp_path / "my.cnf", "port=3310"))
    assert ports.levels == ("h:3310", "old.example:3310"), "the files' port, where the URL has none"
    assert not external_among(("mysql-9.7",), ExternalOptions())


@pytest.mark.parametrize("second", ["mysql://bob@old.example:3306/other", "mariadb://old.example"])
def test_two_that_are_called_the_same_are_refused(second: str) -> None:
    with pytest.raises(UserMistake, match=r"old\.example:3306 is named twice"):
        at(OLD, second)


def test_options_need_an_external_server() -> None:
    with pytest.raises(UserMistake, match="--ssl-ca needs the address of an external server") as caught:
        external_among(("mysql-9.7",), options(ssl_ca="ca.pem"), "--set server=")
    assert (
        caught.value.remedy
        == "give its mysql:// or postgres:// address with --set server=, or leave the option out"
    )


def test_commands_say_alike_that_an_option_needs_an_external_server() -> None:
    """Whether they take several servers, one by --server, or one as their argument."""
    private = options(ssl_ca="ca.pem").access
    with pytest.raises(UserMistake) as of_several:
        external_among((), options(ssl_ca="ca.pem"))
    with pytest.raises(UserMistake) as of_one:
        external_of(private, None)
    assert str(of_several.value) == str(of_one.value)
    with pytest.raises(UserMistake) as of_argument, accessed(private, print):
        pytest.fail("a private server was started")
    assert of_argument.value.message == of_one.value.message
    assert of_argument.value.remedy == "give its mysql:// or postgres:// address, or leave the option out"


def test_what_is_given_once_is_for_all_and_with_commas_one_for_each(tmp_path: Path) -> None:
    file = file_with(tmp_path / "own.cnf", "password=of bob")
    servers = at(OLD, NEW, defaults_file=Path(f",{file}"))
    _, request = let_in(study_at(servers), servers, Leeway(no_plaintext=True))
    assert {level: access.password for level, access in request.servers.items()} == {
        CALLED[0]: "of all",
        CALLED[1]: "of bob",
    }
    hosts = at(OLD, NEW, server_host="ssh://a,ssh://b", ssl_mode="PREFERRED").by_level.values()
    assert [(own.server_host, own.ssl_mode) for own in hosts] == [
        ("ssh://a", "PREFERRED"),
        ("ssh://b", "PREFERRED"),
    ]
    (alone,) = at(OLD, ssl_ca="a,b.pem").by_level.values()
    assert alone.ssl_ca == "a,b.pem", "of one server a comma is a part of the name"
    with pytest.raises(UserMistake, match="--login-path has 3 values for 2 external servers"):
        at(OLD, NEW, login_path="a,b,c")


def test_each_is_asked_for_at_the_terminal_once_nothing_else_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return f"typed {len(asked)}"

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("getpass.getpass", ask)
    nothing_given = ExternalOptions()
    servers = external_among((OLD, NEW), nothing_given)
    _, request = let_in(study_at(servers), servers, Leeway(no_plaintext=True))
    assert asked == [f"Password of ann at {CALLED[0]}: ", f"Password of bob at {CALLED[1]}: "]
    assert [access.password for access in request.servers.values()] == ["typed 1", "typed 2"]

    asked.clear()
    nobody = external_among((OLD, "mysql://new.example/scratch"), nothing_given)
    with pytest.raises(UserMistake, match=r"no user was named for new\.example:3306"):
        let_in(study_at(nobody), nobody, Leeway(no_plaintext=True))
    unknown = override(study_at(servers), "server", [*CALLED, "mariadb-11.7"], external=CALLED)
    with pytest.raises(UserMistake, match=r"no server named 'mariadb-11\.7'"):
        let_in(unknown, servers, Leeway(no_plaintext=True))
    assert asked == []


def test_where_one_demands_tls_nothing_is_measured_in_the_clear_and_it_is_named() -> None:
    servers = at(OLD, NEW, ssl_mode=",REQUIRED")
    study, request = let_in(study_at(servers), servers, Leeway(no_plaintext=True))
    assert "off" not in study.levels_of()["tls"]
    assert list(request.leeway.tls_demanded_by) == [CALLED[1]]
    with pytest.raises(UserMistake, match="demands TLS, and --tls off logs in without it"):
        let_in(study_at(servers), servers, Leeway())


def test_sides_and_settings_name_servers_by_their_addresses() -> None:
    asked = AbOptions(a=[f"server={OLD}"], b=[f"server={NEW}"], external=options())
    assert ab_study(asked, external_servers(asked)).sides is not None
    both = AbOptions(a=["tls=1.2"], b=["tls=1.3"], settings=[f"server={OLD}"], external=options())
    study = ab_study(both, external_servers(both))
    assert study.levels_of()["server"] == (CALLED[0],)
    assert "instance" not in study.levels_of()

    changes = Changes(set=(f"server={OLD},mysql-9.7", "tls=off,1.3"))
    servers = external_among(typed_servers(changes.set), options())
    assert changed(load_study("tax"), changes, servers).levels_of()["server"] == (CALLED[0], "mysql-9.7")


POSTGRESQL = "postgres://ann@db.example/scratch"


@pytest.mark.parametrize("url", [POSTGRESQL, POSTGRESQL.replace("postgres:", "PostgreSQL:")])
def test_drivers_are_not_probed_at_an_external_postgresql(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], url: str
) -> None:
    assert status_of(monkeypatch, "drivers", "probe", "--server", url) == 2
    assert capsys.readouterr().err == (
        "tlstax: the drivers of PostgreSQL are probed at private servers alone; name one (`tlstax drivers "
        "probe --server postgresql-18`), or measure one driver there with `tlstax run --server "
        "postgres://user@host/database --client psycopg-3`\n"
    )


def test_a_study_at_postgresql_has_what_postgresql_can_do() -> None:
    """Nobody resumes there, TLS may begin at once, and MySQL beside it keeps what it has."""
    alone = study_of(RunOptions(server=POSTGRESQL, tls="off,1.3,1.3-direct"), at(POSTGRESQL).alone())
    assert {case.tls for case in alone.included()} == {"off", "1.3", "1.3-direct"}
    assert not any(case.resumes for case in study_of(RunOptions(), at(POSTGRESQL).alone()).included())
    both = study_of(RunOptions(server=f"{POSTGRESQL},{OLD}"), at(POSTGRESQL, OLD))
    assert {case.server for case in both.included() if case.resumes} == {CALLED[0]}
    changes = Changes(set=(f"server={POSTGRESQL}", "tls=1.3-direct"))
    studied = changed(load_study("tax"), changes, at(POSTGRESQL))
    assert {case.tls for case in studied.included()} == {"off", "1.3-direct"}
    sides = AbOptions(a=[f"server={POSTGRESQL}"], b=[f"server={POSTGRESQL}"], tls="1.3-direct")
    with pytest.raises(UserMistake, match="both sides are the same external server"):
        ab_study(sides, at(POSTGRESQL))
    other = POSTGRESQL.replace("db.", "other.")
    sides = AbOptions(a=[f"server={POSTGRESQL}"], b=[f"server={other}"], tls="1.3-direct")
    assert {case.tls for case in ab_study(sides, at(POSTGRESQL, other)).included()} == {"1.3-direct"}


@pytest.mark.parametrize(
    ("url", "said", "words"),
    [
        (f"{POSTGRESQL}?channel_binding=require", {}, "channel_binding=require in the URL demands TLS"),
        (f"{POSTGRESQL}?sslmode=require", {}, "sslmode=require in the URL demands TLS"),
    ],
)
def test_what_demands_tls_leaves_plaintext_out(url: str, said: dict[str, Any], words: str) -> None:
    servers = at(url, **said).alone()
    study, request = let_in(study_of(RunOptions(), servers), servers, Leeway(no_plaintext=True))
    assert all(case.is_encrypted for case in study.included())
    assert words in request.leeway.tls_demanded_by[None]


@pytest.mark.parametrize(
    ("rest", "options", "words"),
    [
        ("?host=/run/postgresql", RunOptions(), "PostgreSQL has no TLS on a Unix socket"),
        (
            "?sslmode=require&sslnegotiation=direct",
            RunOptions(tls="1.3,1.3-direct", external=ExternalOptions(allow_plaintext=True)),
            "begin at once in every case",
        ),
        (
            "?channel_binding=require",
            RunOptions(external=ExternalOptions(allow_plaintext=True)),
            "binds logins to a TLS channel",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_before_anybody_logs_in(
    rest: str, options: RunOptions, words: str
) -> None:
    url = POSTGRESQL.replace("db.example", "" if "host=" in rest else "db.example") + rest
    login = LoginOptions(given_password=GivenPassword(b"of all"))
    external = ExternalOptions(login=login, allow_plaintext=options.external.allow_plaintext)
    servers = external_among((url,), external).alone()
    with pytest.raises(UserMistake, match=words):
        let_in(study_of(options, servers), servers, Leeway())


@pytest.mark.parametrize("server", ["postgresql-18", POSTGRESQL])
def test_whether_a_driver_of_mysql_could_connect_to_a_postgresql_is_not_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], server: str
) -> None:
    assert status_of(monkeypatch, "inspect", server, "--client", "pymysql-1.1") == 2
    assert (
        "nothing is known of a driver named 'pymysql-1.1' at a server of this kind" in capsys.readouterr().err
    )


AT_LAB = "postgres://ann@lab.example/scratch"
AT_FIELD = "postgres://ann@field.example/scratch"


def asked_of(monkeypatch: pytest.MonkeyPatch, **majors: int) -> list[str]:
    """Servers by the first word of their host are of these releases; whom was asked."""
    asked: list[str] = []

    def abilities_of(access: ExternalAccess) -> ServerAbilities:
        asked.append(access.address.host)
        return of_postgresql(majors[access.address.host.split(".")[0]])

    monkeypatch.setattr(cli_external_servers, "abilities_of", abilities_of)
    return asked


def at_postgresql(tls: str, *urls: str) -> tuple[Study, ExternalServers]:
    servers = external_among(urls, options())
    if len(urls) == 1:
        servers = servers.alone()
    return study_of(RunOptions(server=",".join(urls), tls=tls), servers), servers


def test_a_postgresql_is_asked_its_release_only_where_a_case_depends_on_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = asked_of(monkeypatch, lab=17)
    study, servers = at_postgresql("off,1.3", AT_LAB)
    assert let_in(study, servers, Leeway(no_plaintext=True))[0] == study
    assert asked == []
    study, servers = at_postgresql("off,1.3,1.3-direct", AT_LAB)
    assert {case.tls for case in let_in(study, servers, Leeway(no_plaintext=True))[0].included()} == {
        "off",
        "1.3",
        "1.3-direct",
    }
    assert asked == ["lab.example"]


@pytest.mark.parametrize(
    ("tls", "major", "words"),
    [
        ("off,1.3,1.3-direct", 16, "the server cannot begin TLS at once (tls = 1.3-direct)"),
        ("off,1.0", 13, "the server accepts TLS from 1.2 on"),
    ],
)
def test_what_an_older_or_newer_one_lacks_is_refused_before_anything_is_done(
    monkeypatch: pytest.MonkeyPatch, tls: str, major: int, words: str
) -> None:
    asked_of(monkeypatch, lab=major)
    with pytest.raises(UserMistake) as caught:
        let_in(*at_postgresql(tls, AT_LAB), Leeway(no_plaintext=True))
    assert caught.value.message.startswith(words)
    assert caught.value.remedy == "leave that level of tls out"


def test_where_one_of_several_lacks_it_its_case_is_left_out_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked_of(monkeypatch, lab=16, field=18)
    study, servers = at_postgresql("off,1.3,1.3-direct", AT_LAB, AT_FIELD)
    changed, _ = let_in(study, servers, Leeway(no_plaintext=True))
    begun = {str(case.server) for case in changed.included() if case.tls == "1.3-direct"}
    assert begun == {"field.example:5432"}
    told = capsys.readouterr().err
    assert told.count("left out: lab.example:5432 cannot begin TLS at once") == 1
