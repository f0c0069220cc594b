"""What libpq is told of a server, understood as it does: URL, environment, files, TLS."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import get_args
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlstax.contract import AuthMethod, UnixEndpoint
from tlstax.external import access as external_access
from tlstax.external import libpq
from tlstax.external.access import AccessOptions, ExternalAccess
from tlstax.external.given_password import GivenPassword
from tlstax.support.errors import UserMistake

URL = "postgres://app@db.example/scratch"
NO_PASSWORD = GivenPassword(own=b"")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A user of whom nothing is said: no variable, no file."""
    for variable in (
        *libpq.VARIABLES.values(),
        *(name for name, _ in libpq.UNCHECKED.values()),
        *("PGSERVICEFILE", "PGSYSCONFDIR"),
    ):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(libpq, "_SYSTEM_DIRECTORIES", [])
    monkeypatch.setattr(libpq, "SOCKET_DIRECTORIES", (str(tmp_path / "run"),))
    return tmp_path


def settled(url: str, **said: object) -> ExternalAccess:
    options = replace(AccessOptions(url, given_password=NO_PASSWORD), **said)  # type: ignore[arg-type]
    return external_access.settle(options)


def refused(url: str, **said: object) -> str:
    with pytest.raises(UserMistake) as caught:
        settled(url, **said)
    assert caught.value.remedy or "service file" in caught.value.message
    return caught.value.sentence()


def test_a_url_is_taken_apart() -> None:
    access = settled("postgresql://app@db.example:5433/scratch?schema=mine")
    where = access.address
    assert (where.host, where.port, where.user, where.database) == ("db.example", 5433, "app", "scratch")
    assert (access.product, where.schema, access.database) == ("postgresql", "mine", "scratch")
    assert str(settled("postgres://app@[2001:db8::1]/x").address) == "[2001:db8::1]:5432"
    assert settled("POSTGRES://app@db.example").database == "app", "as libpq: the user's own"
    assert settled("postgres://ann@corp@db.example:/x").user == "ann@corp"


def test_a_unix_socket_is_a_host_that_is_a_folder() -> None:
    for url in (
        "postgres://app@/scratch?host=/run/pg",
        "postgres://app@%2Frun%2Fpg/scratch",
        "postgres:///scratch?user=app&host=/run/pg/&port=5432",
    ):
        access = settled(url)
        assert access.address.endpoint == UnixEndpoint(path="/run/pg/.s.PGSQL.5432")
        assert (access.user, access.database) == ("app", "scratch")


@given(
    user=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1),
    database=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1),
    port=st.integers(1, 65535),
)
def test_percent_encoded_names_come_back(user: str, database: str, port: int) -> None:
    words = libpq.parsed(f"postgres://{quote(user, safe='')}@h:{port}/{quote(database, safe='')}")
    assert words == {"user": user, "host": "h", "port": str(port), "dbname": database}


@given(st.text())
def test_any_text_behind_the_scheme_is_understood_or_refused(text: str) -> None:
    with suppress(UserMistake):
        assert set(libpq.parsed(f"postgres://{text}")) <= {*libpq.VARIABLES, libpq.SCHEMA}


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgres://a,b/db", "names several hosts"),
        ("postgres://a:1,b:2/db", "names several hosts"),
        ("postgres:///db?host=a%2Cb", "names several hosts"),
        ("postgres://db:port/x", "no port"),
        ("postgres://db:0/x", "no port"),
        ("postgres://db:70000/x", "no port"),
        ("postgres://[::1/x", "bad host or port"),
        ("postgres://db/x/y", "more than one database"),
        ("postgres://db/x@y", "@ behind its host"),
        ("postgres://a%ff@db/x", "is not UTF-8"),
        ("postgres://a%zz@db/x", "a % that begins no character"),
        ("postgres://a%00@db/x", "a % that begins no character"),
        ("postgres://db/x?application_name=me", "does not know 'application_name'"),
        ("postgres://db/x?sslmode", "does not know 'sslmode'"),
        ("postgres://db/x?sslpassword=x", "does not know 'sslpassword'"),
        ("postgres://db/x?host=other", "says twice what its host is"),
        ("postgres://db/x?user=a&user=b", "says twice what its user is"),
        ("postgres://db/x?sslcert=a#b", "has a #"),
        ("postgres://db/x?host=%40abstract", "says twice"),
        ("postgres:///x?host=%40abstract", "abstract namespace"),
        (f"postgres:///x?host=/{'f' * 120}", "more than 107 bytes"),
        ("postgres://db/x?hostaddr=127.0.0.1", "hostaddr in the URL says whom to trust or where to go"),
        ("postgres://db/x?sslmode=require%20", "sslmode in the URL is unknown"),
        ("postgres://db/x?service=none", "no service 'none' is defined"),
        ("postgres://db/x?channel_binding=yes", "channel_binding=yes in the URL is unknown"),
        ("postgres://db/x?require_auth=magic", "a method that libpq does not know"),
        ("postgres://db/x?require_auth=md5%2C!none", "methods to take and methods to refuse"),
        (
            "postgres://db/x?require_auth=gss",
            "no way of logging in that tlstax knows is left by require_auth=gss",
        ),
        (
            "postgres://db/x?require_auth=md5&channel_binding=require",
            "is left by require_auth=md5 in the URL and",
        ),
        ("postgres://db/x?sslnegotiation=fast&sslmode=require", "sslnegotiation=fast in the URL is unknown"),
        ("postgres://db/x?sslnegotiation=direct", "too weak for sslnegotiation=direct"),
        ("postgres://db/x?sslmode=prefer&sslnegotiation=direct", "sslmode=prefer in the URL is too weak"),
        ("postgres://db/x?sslrootcert=system&sslmode=require", "too weak for sslrootcert=system"),
        ("postgres://db/x?sslmode=verify-full", "needs the certificate authority"),
        ("postgres://db/x?sslkey=k.pem", "names a key, and nothing its certificate"),
    ],
)
def test_a_bad_url_is_the_users_mistake(url: str, words: str) -> None:
    assert words in refused(url)


def test_the_environment_says_what_the_url_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("PGHOST", "db.example"),
        ("PGPORT", "5444"),
        ("PGUSER", "env"),
        ("PGDATABASE", "data"),
        ("PGSSLMODE", "require"),
        ("PGCHANNELBINDING", "require"),
    ):
        monkeypatch.setenv(name, value)
    access = settled("postgres://")
    assert (str(access.address), access.user, access.database) == ("db.example:5444", "env", "data")
    assert (access.tls.mode, access.tls.mode_by) == ("REQUIRED", "PGSSLMODE=require")
    assert access.require_auth == ("scram-sha-256-plus",)
    assert settled("postgres://app@other:1/x?sslmode=prefer").tls.mode == "PREFERRED"
    assert str(external_access.address_of(AccessOptions("postgres://"))) == "db.example:5444"


@pytest.mark.parametrize("variable", [name for name, _ in libpq.UNCHECKED.values()])
def test_a_variable_that_decides_whom_to_trust_is_not_passed_over(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "something")
    assert f"{variable} says whom to trust or where to go" in refused(URL)
    (harmless,) = (values for name, values in libpq.UNCHECKED.values() if name == variable)
    for value in (*harmless, ""):
        monkeypatch.setenv(variable, value)
        settled(URL)


def test_the_user_is_the_one_who_runs_it_and_the_host_the_socket_that_is_there(home: Path) -> None:
    access = settled("postgres://")
    assert access.user
    assert (access.database, str(access.address)) == (access.user, "localhost:5432")
    (home / "run").mkdir()
    (home / "run" / ".s.PGSQL.5432").touch()
    assert settled("postgres://").address.socket == str(home / "run" / ".s.PGSQL.5432")
    assert settled("postgres://:5433/x").address.socket is None


SERVICES = """# services
[other]
host=nowhere
[mine]
host=db.example
 port=5444
user=of service
dbname=data
sslmode=require
application_name=me
password=s3cret

[mine]
host=second
[ mine ]
host=third
"""


def test_a_service_is_read_as_libpq_reads_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / ".pg_service.conf").write_text(SERVICES)
    heard: list[str] = []
    options = AccessOptions("postgres:///?service=mine&port=1")
    access = external_access.settle(options, warn=heard.append)
    assert (access.address.host, access.address.port) == ("db.example", 1)
    assert (access.user, access.database, access.password) == ("of service", "data", "s3cret")
    assert access.tls.mode_by == "sslmode=require in the service"
    assert heard == ["not heeded of the service: application_name"]
    monkeypatch.setenv("PGSERVICE", "other")
    monkeypatch.setenv("PGHOST", "env.example")
    assert settled("postgres://app@/x").address.host == "nowhere", "a service wins over the environment"
    own = home / "own.conf"
    own.write_text("[mine]\nhost=own.example\n")
    monkeypatch.setenv("PGSERVICEFILE", str(own))
    assert settled("postgres:///?service=mine").address.host == "own.example"
    monkeypatch.setenv("PGSERVICEFILE", str(home / "none.conf"))
    assert "does not exist" in refused("postgres:///?service=mine")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[mine\n", "opens a [service]"),
        ("[mine]\nhost\n", "line 2 of the service file"),
        ("[mine]\nservice=other\n", "names another service"),
        ("[mine]\nldap://ldap.example\n", "has no value"),
        ("[mine]\nsslcrl=a.crl\n", "sslcrl in the service says whom to trust"),
        ("[mine]\nsslmode=strict\n", "sslmode=strict in the service is unknown"),
        ("[mine]\nport=high\n", "the port in the service is no port"),
    ],
)
def test_a_bad_service_is_the_users_mistake(home: Path, text: str, words: str) -> None:
    (home / ".pg_service.conf").write_text(text)
    assert words in refused("postgres:///?service=mine")


def test_the_first_password_that_there_is_wins(home: Path) -> None:
    file = home / ".pgpass"
    file.write_text("db.example:5432:scratch:app:of file\n")
    file.chmod(0o600)

    def password(own: bytes | None = None, of_libpq: bytes | None = None, url: str = URL) -> str:
        return external_access.settle(
            AccessOptions(url, given_password=GivenPassword(own, of_libpq))
        ).password

    assert password(b"own", b"libpq") == "own"
    assert password(b"", b"libpq") == ""
    assert password(None, b"libpq") == "libpq"
    assert password() == "of file"
    assert password(url="postgres://app@elsewhere/scratch") == "", "the server may want none"
    asked: list[str] = []
    options = AccessOptions("postgres://app@elsewhere/scratch")
    assert external_access.settle(options, lambda prompt: asked.append(prompt) or "typed").password == "typed"  # type: ignore[func-returns-value]
    assert asked == ["Password of app at elsewhere:5432: "]
    file.chmod(0o640)
    assert f"run chmod 600 {file}" in refused(URL, given_password=GivenPassword())
    assert "of file" not in refused(URL, given_password=GivenPassword())
    settled(URL, given_password=GivenPassword(b"own"))


@pytest.mark.parametrize(
    ("line", "password"),
    [
        ("db:5432:data:app:secret", "secret"),
        ("*:*:*:*:secret", "secret"),
        ("db:5432:data:app:se\\:cr\\\\et", "se:cr\\et"),
        ("db:5432:data:app:secret:more", "secret"),
        ("db:5432:data:app:", ""),
        ("#db:5432:data:app:no\r\ndb:5432:data:app:yes\r", "yes"),
        ("other:5432:data:app:no\n*:*:data:*:yes\ndb:5432:data:app:late", "yes"),
        ("db:5432:data:app", None),
        ("db:5432:data:a*:no", None),
        ("\\*:*:*:*:no", None),
        ("db:5433:data:app:no", None),
        ("", None),
    ],
)
def test_a_password_file_is_read_as_libpq_reads_it(line: str, password: str | None) -> None:
    assert libpq.password_in(line, ("db", "5432", "data", "app")) == password


def test_a_colon_in_a_name_is_written_with_a_backslash() -> None:
    assert libpq.password_in("\\:\\:1:*:*:*:six", ("::1", "5432", "data", "app")) == "six"


def test_a_socket_is_looked_up_as_localhost_or_by_its_folder(home: Path) -> None:
    file = home / ".pgpass"
    file.write_text("localhost:*:*:*:usual\n/other:*:*:*:own\n")
    file.chmod(0o600)
    usual = f"postgres://app@/x?host={home / 'run'}"
    assert settled(usual, given_password=GivenPassword()).password == "usual"
    assert settled("postgres://app@/x?host=/other", given_password=GivenPassword()).password == "own"


@pytest.mark.parametrize(
    ("words", "mode"),
    [
        ("", "PREFERRED"),
        ("sslmode=disable", "DISABLED"),
        ("sslmode=allow", "PREFERRED"),
        ("sslmode=prefer", "PREFERRED"),
        ("sslmode=require", "REQUIRED"),
        ("ssl=true", "REQUIRED"),
        ("sslmode=verify-ca&sslrootcert=ca.pem", "VERIFY_CA"),
        ("sslmode=verify-full&sslrootcert=ca.pem", "VERIFY_IDENTITY"),
        ("sslrootcert=ca.pem", "VERIFY_CA"),
        ("sslmode=require&sslrootcert=ca.pem", "VERIFY_CA"),
        ("sslmode=prefer&sslrootcert=ca.pem", "PREFERRED"),
    ],
)
def test_each_mode_of_libpq_has_its_meaning(words: str, mode: str) -> None:
    tls = settled(f"{URL}?{words}").tls
    assert tls.mode == mode
    assert tls.ca_file == ("ca.pem" if mode.startswith("VERIFY") else None)


def test_options_of_ours_say_the_same() -> None:
    for typed, mode in (
        ("REQUIRED", "REQUIRED"),
        ("verify-full", "VERIFY_IDENTITY"),
        ("preferred", "PREFERRED"),
    ):
        tls = settled(URL, ssl_mode=typed, ssl_ca="ca.pem" if mode == "VERIFY_IDENTITY" else None).tls
        assert (tls.mode, tls.mode_by) == (mode, f"--ssl-mode={typed}")
    assert settled(URL, ssl_ca="ca.pem").tls.mode_by == "--ssl-ca (verify-ca, as no sslmode is given)"
    twice = refused(f"{URL}?sslmode=require", ssl_mode="REQUIRED")
    assert "sslmode stands in the server's URL, and --ssl-mode is given as well" in twice


def test_files_of_the_user_are_taken_where_none_are_named(home: Path) -> None:
    folder = home / ".postgresql"
    folder.mkdir()
    for name in ("root.crt", "postgresql.crt", "postgresql.key"):
        (folder / name).write_text("pem")
        (folder / name).chmod(0o600)
    tls = settled(f"{URL}?sslmode=require").tls
    assert (tls.mode, tls.ca_file) == ("VERIFY_CA", str(folder / "root.crt"))
    assert tls.mode_by == "sslmode=require in the URL with the root.crt of ~/.postgresql (as verify-ca)"
    assert (tls.certificate_file, tls.key_file) == (
        str(folder / "postgresql.crt"),
        str(folder / "postgresql.key"),
    )
    assert settled(URL).tls.mode == "PREFERRED"
    (folder / "postgresql.key").chmod(0o644)
    assert "can be read by other users" in refused(URL)


def test_the_machines_authorities_mean_the_name_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bundle = tmp_path / "all.pem"
    bundle.touch()
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    for words in ("sslrootcert=system", "sslrootcert=system&sslmode=verify-full"):
        tls = settled(f"{URL}?{words}").tls
        assert (tls.mode, tls.ca_file) == ("VERIFY_IDENTITY", str(bundle))


def test_tls_begins_at_once_where_that_is_said() -> None:
    assert settled(f"{URL}?sslmode=require&sslnegotiation=direct").tls.direct
    assert not settled(f"{URL}?sslmode=require&sslnegotiation=postgres").tls.direct


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        ("channel_binding=prefer", ()),
        ("channel_binding=require", ("scram-sha-256-plus",)),
        ("channel_binding=disable", ("none", "password", "md5", "scram-sha-256")),
        ("require_auth=scram-sha-256", ("scram-sha-256", "scram-sha-256-plus")),
        ("require_auth=md5%2Cscram-sha-256", ("md5", "scram-sha-256", "scram-sha-256-plus")),
        ("require_auth=!password%2C!none", ("md5", "scram-sha-256", "scram-sha-256-plus")),
        ("require_auth=scram-sha-256&channel_binding=disable", ("scram-sha-256",)),
        ("require_auth=!gss", ()),
    ],
)
def test_ways_of_logging_in_are_those_that_are_left(words: str, allowed: tuple[AuthMethod, ...]) -> None:
    access = settled(f"{URL}?{words}")
    assert access.require_auth == allowed
    assert set(access.require_auth) <= set(get_args(AuthMethod))


def test_no_password_is_in_a_description() -> None:
    assert "s3cret" not in repr(AccessOptions(URL, given_password=GivenPassword(b"s3cret", b"s3cret")))
    assert "s3cret" not in repr(settled(URL, given_password=GivenPassword(b"s3cret")))
    assert "NUL" in refused(URL, given_password=GivenPassword(b"a\0b"))
    assert "is not UTF-8" in refused(URL, given_password=GivenPassword(None, b"\xe9"))


@pytest.mark.parametrize(
    ("rest", "by"),
    [
        ("", ""),
        ("?sslmode=prefer", "sslmode"),
        ("?sslmode=require", "sslmode"),
        ("?sslmode=disable", "sslmode"),
    ],
)
def test_the_word_by_which_nobody_verifies_is_known_where_it_was_said(rest: str, by: str) -> None:
    said = settled(f"{URL}{rest}").tls.unverified_by
    assert said.startswith(by)
    assert bool(said) == bool(by)


def test_who_verifies_has_no_such_word(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("")
    for mode in ("verify-ca", "verify-full"):
        assert not settled(f"{URL}?sslmode={mode}&sslrootcert={quote(str(file))}").tls.unverified_by
