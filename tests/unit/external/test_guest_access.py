"""What the user says about a guest: URL, option files, login file, TLS options, and the password's way."""

from __future__ import annotations

import base64
import contextlib
import tempfile
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlstax.contract import TcpEndpoint, UnixEndpoint
from tlstax.external import access as external_access
from tlstax.external import tls as external_tls
from tlstax.external.access import AccessOptions, ExternalAccess, ExternalAddress, parse_url
from tlstax.external.given_password import GivenPassword
from tlstax.external.option_files import (
    PATH_VARIABLE,
    login_path,
    parse_options,
    read_login_file,
    read_option_file,
)
from tlstax.specimens import certificates
from tlstax.support.errors import UserMistake

LOGIN_FILE = (
    "AAAAAAAdCxIHDB8ZFw4cEhoEGQAbHRwNEAAAAMBIVoyUpKVUtvaVJDunG3ogAAAAVPBTOtcnNeF8tu1M8PIGnHN0thn+JfZ5JRXmiVYP"
    "H24gAAAAmjap+2I+N8TAXJqEnpbzOco/7U5AXEzfeRorn7LqdEsgAAAAdXcABhRbKyCBUKZ54BhY7MVRj9lXrfBavHyHY0xXK6kQAAAA"
    "X7ARmq3ipF6gxsx/b5VguxAAAACUEeHlFFjptPPKpIT9M6ULIAAAAFTwUzrXJzXhfLbtTPDyBpxzdLYZ/iX2eSUV5olWDx9uEAAAANXE"
    "H/SK4eaG/iaejrAdWc8gAAAAdXcABhRbKyCBUKZ54BhY7MVRj9lXrfBavHyHY0xXK6kQAAAAX7ARmq3ipF6gxsx/b5Vguw=="
)
"""Written by MySQL 9.7's mysql_config_editor: the login path `lab` with an awkward password, and `two`."""

LOGIN_PASSWORD = "p#a \"b\\c'd é"


def login_file_at(path: Path, mode: int = 0o600) -> Path:
    path.write_bytes(base64.b64decode(LOGIN_FILE))
    path.chmod(mode)
    return path


def test_a_url_is_taken_apart() -> None:
    assert parse_url("mysql://ann@db.example:3307/shop") == ExternalAddress(
        host="db.example", port=3307, user="ann", schema="shop"
    )
    assert parse_url("mariadb://db.example") == ExternalAddress(host="db.example")
    assert str(parse_url("mysql://ann@[::1]/")) == "[::1]:3306"


@given(user=st.text(min_size=1), schema=st.text(min_size=1), port=st.integers(1, 65535))
def test_percent_encoded_names_come_back(user: str, schema: str, port: int) -> None:
    address = parse_url(f"mysql://{quote(user, safe='')}@h:{port}/{quote(schema, safe='')}")
    assert (address.user, address.schema, address.port) == (user, schema, port)


@given(password=st.text().map(lambda text: "§" + text))
def test_a_password_in_the_url_is_refused_and_not_repeated(password: str) -> None:
    with pytest.raises(UserMistake) as caught:
        parse_url(f"mysql://ann:{password}@db.example:3306/shop")
    sentence = caught.value.sentence()
    for way in ("prompt", "TLSTAX_PASSWORD", "--defaults-file", "--login-path"):
        assert way in sentence
    assert "§" not in sentence


@pytest.mark.parametrize(
    "url",
    [
        "mysql://ann@corp:secret@db.example",
        "mysql://ann@corp:secret/x@db.example",
        "mysql://ann@corp:12345@db.example",
        "mysql://ann@corp:123456/x@db.example",
        "mysql://ann@corp@home:secret@db.example:3306/shop",
        "mysql://ann%40corp:secret@db.example",
        "mysql://ann@[::1]:secret@db.example",
        "mysql://ann:p@ss:w@db.example",
    ],
)
def test_a_user_with_an_at_sign_has_a_password_too(url: str) -> None:
    """Who writes user@corp as it is writes the password after it as it is."""
    with pytest.raises(UserMistake, match="a password may not stand in the server's URL") as caught:
        parse_url(url)
    assert "secret" not in caught.value.sentence()


def test_an_at_sign_behind_the_host_may_end_a_password() -> None:
    with pytest.raises(UserMistake, match="what stands before it may be a password") as caught:
        parse_url("mysql://ann@corp:3306/secret@db.example")
    assert "secret" not in caught.value.sentence()
    assert parse_url("mysql://ann@corp:3306/shop%40home").schema == "shop@home"
    assert parse_url("mysql://ann@corp@db.example").user == "ann@corp"


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("db.example", "mysql://"),
        ("http://db.example", "mysql://"),
        ("mysql://", "host"),
        ("mysql:///shop", "host"),
        ("mysql://db:port/", "port"),
        ("mysql://db:70000/", "port"),
        ("mysql://db:0/", "port 0"),
        ("mysql://db/one/two", "more than one schema"),
        ("mysql://db/one?ssl=1", "has something after the schema"),
        ("mysql:///one?socket=/run/a.sock&ssl=1", "has something after the schema"),
        ("mysql:///one?socket=/run/a.sock#here", "has something after the schema"),
        ("mysql://a%ff@db/one", "UTF-8"),
        ("mysql://[::1/one", "host or port"),
    ],
)
def test_a_bad_url_is_the_users_mistake(url: str, word: str) -> None:
    with pytest.raises(UserMistake, match=word) as caught:
        parse_url(url)
    assert "mysql://user@host:port/schema" in caught.value.sentence()


def option_values(text: str) -> dict[str, str | None]:
    return parse_options(f"[client]\n{text}\n", "here")["client"]


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        (r'a="q#uo\"ted" # comment', "a", 'q#uo"ted'),
        ("a = word # comment", "a", "word"),
        ("a=a;b", "a", "a;b"),
        ("a='sin\"gle'", "a", 'sin"gle'),
        (r"a=back\\slash\tt\sx\q", "a", "back\\slash\tt x\\q"),
        ("a=\\", "a", "\\"),
        (r"a=a\#b", "a", "a\\"),
        (r'a="\s x \s"', "a", "  x  "),
        (r'a="a\\"', "a", "a\\"),
        ("user_name=u", "user-name", "u"),
        ("a=", "a", ""),
        ('a=""', "a", ""),
        ('a="', "a", '"'),
        ("a", "a", None),
        ("a # comment", "a", None),
        ('a="unfinished', "a", '"unfinished'),
        ('a=a"b"c', "a", 'a"b"c'),
        ("a='x' y", "a", "'x' y"),
        ('a=a"b#c"d', "a", 'a"b#c"d'),
        (" \t a \t = \t v \t \r", "a", "v"),
        ("a=b\rc", "a", "b\rc"),
        *((f"a=x{one}y{one}", "a", f"x{one}y{one}") for one in "\x85\u2028\u2029\x1c\x1d\x1e\u3000"),
        ("A=v", "A", "v"),
        ("loose-a=v", "a", "v"),
        ("loose_password", "password", None),
        ("password1=v", "password", "v"),
        ("password=v\nskip-password", "password", ""),
        ("password=v\npassword", "password", None),
        ("password\npassword=v", "password", "v"),
        ("a=v\n[mysql]\na=w\n[CLIENT] junk\nb=x", "b", "x"),
        ("a=v\n[ client]\na=w\n[mysql]\na=w", "a", "v"),
        ("a=v\n[client \t]\na=w", "a", "w"),
        ("a=v\n!include /nowhere.cnf\n!nonsense\n", "a", "v"),
    ],
)
def test_option_file_values_are_read_as_mysql_reads_them(line: str, name: str, value: str | None) -> None:
    """Each was seen of mysql 9.7 or its my_print_defaults."""
    values = option_values(line)
    assert values[name] == value
    assert len(values) <= 2


def test_what_mysql_cuts_at_the_last_byte_stays_whole() -> None:
    """mysql takes the last byte of "à" in UTF-8 for a blank."""
    assert option_values("password=voilà")["password"] == "voilà"


def test_option_files_include_others(tmp_path: Path) -> None:
    folder = tmp_path / "conf d"
    folder.mkdir()
    (folder / "b.cnf").write_text("[client]\nuser=b\nport=2\n")
    (folder / "a.cnf").write_text("[client]\nuser=a\nport=1\n")
    (folder / "c.txt").write_text("[client]\nuser=c\n")
    (tmp_path / "one").write_text("[client]\npassword=secret\n")
    main = tmp_path / "my.cnf"
    main.write_text(f"! include {tmp_path}/one \n[client]\nport=0\n!includedir\t{folder}\nhost=h\n")
    assert read_option_file(main)["client"] == {
        "password": "secret",
        "port": "2",
        "user": "b",
        "host": "h",
    }
    main.write_text(f"!include {main}\n")
    with pytest.raises(UserMistake, match="more than 10 times"):
        read_option_file(main)
    for directive, said in (
        ("!include /nowhere.cnf", r"the option file /nowhere\.cnf cannot be read"),
        ("!includedir /nowhere", "line 1 of the option file .* includes /nowhere, which cannot be read"),
        ("!include", "does not say what to include"),
        ("!include a\0b", "cannot be read .embedded null byte"),
        ("!includedir a\0b", "cannot be read .*embedded null"),
    ):
        main.write_text(f"{directive}\n")
        with pytest.raises(UserMistake, match=said):
            read_option_file(main)


def test_option_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match=r"nowhere\.cnf cannot be read"):
        read_option_file(tmp_path / "nowhere.cnf")
    with pytest.raises(UserMistake, match=r"line 1 .* stands before any"):
        parse_options("password=hidden", "here")
    with pytest.raises(UserMistake, match=r"line 2 .* opens a .group. and does not close it"):
        parse_options("\n[client", "here")


@given(content=st.binary(max_size=200))
def test_any_bytes_are_an_option_file_or_a_mistake(content: bytes) -> None:
    text = b"[client]\n".decode() + content.decode(errors="surrogateescape")
    with contextlib.suppress(UserMistake):
        assert "client" in parse_options(text, "here")


@given(password=st.text(st.characters(exclude_characters="\0\n", exclude_categories=("Cs",))))
def test_a_password_in_quotes_comes_back(password: str) -> None:
    """Whatever it holds, if it is written as the manual says."""
    escaped = "".join({"\\": r"\\", '"': r"\""}.get(one, one) for one in password)
    assert option_values(f'password="{escaped}"')["password"] == password


@given(content=st.binary(max_size=300))
def test_any_bytes_are_a_login_file_or_damaged(content: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        with contextlib.suppress(UserMistake):
            read_login_file(Path(file.name))


def test_the_login_file_of_mysql_config_editor_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PATH_VARIABLE, str(login_file_at(tmp_path / "login")))
    options = login_path("lab")
    assert options == {"user": 'us er"q', "password": LOGIN_PASSWORD, "host": "127.0.0.1", "port": "13306"}
    with pytest.raises(UserMistake, match="no login path named 'three'"):
        login_path("three")


@pytest.mark.parametrize("cut", [3, 24, 30, 60])
def test_a_damaged_login_file_is_told(tmp_path: Path, cut: int) -> None:
    path = login_file_at(tmp_path / "login")
    path.write_bytes(path.read_bytes()[:cut])
    if cut == 24:
        assert read_login_file(path) == {}
        return
    with pytest.raises(UserMistake, match="damaged"):
        read_login_file(path)


def test_a_login_file_open_to_others_is_not_used(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="can be read by other users"):
        read_login_file(login_file_at(tmp_path / "login", mode=0o640))


def test_the_password_comes_from_where_the_user_put_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PATH_VARIABLE, str(login_file_at(tmp_path / "login")))
    file = tmp_path / "my.cnf"
    file.write_text("[client]\nuser=from_file\npassword=file's\nssl-mode=REQUIRED\n", encoding="utf-8")
    url = "mysql://ann@db.example"
    asked: list[str] = []

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return "typed"

    assert external_access.settle(AccessOptions(url), ask).password == "typed"
    assert asked == ["Password of ann at db.example:3306: "]
    assert external_access.settle(AccessOptions(url, given_password=GivenPassword(b"")), ask).password == ""
    filed = external_access.settle(
        AccessOptions(url, defaults_file=file, given_password=GivenPassword(b"other")), ask
    )
    assert (filed.user, filed.password, filed.tls.mode) == ("ann", "file's", "REQUIRED")
    both = external_access.settle(AccessOptions("mysql://db", defaults_file=file, login_path="LAB"), ask)
    assert (both.user, both.password) == ('us er"q', LOGIN_PASSWORD)
    assert len(asked) == 1
    assert LOGIN_PASSWORD not in repr(both)
    assert "secret" not in repr(AccessOptions(url, given_password=GivenPassword(b"secret")))


@pytest.mark.parametrize(
    ("line", "expected"),
    [("password", "typed"), ("password=", ""), ("password=p", "p"), ("", "typed")],
)
def test_a_password_that_is_named_alone_is_asked_for(tmp_path: Path, line: str, expected: str) -> None:
    file = tmp_path / "my.cnf"
    file.write_text(f"[client]\n{line}\n")
    options = AccessOptions("mysql://ann@db", defaults_file=file)
    assert external_access.settle(options, lambda _: "typed").password == expected


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"user", "the option user in the file has no value"),
        (b"user=u\nssl-mode=", "the option ssl-mode in the file has no value"),
        (b"user=u\nssl-ca", "the option ssl-ca in the file has no value"),
        (b"user=\xff", "the option user in the file is not UTF-8"),
        (b"user=u\npassword=p\xe9", "the password of u in the file is not UTF-8"),
    ],
)
def test_an_option_that_cannot_be_used_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "my.cnf"
    file.write_bytes(b"# \xe9\n[client]\n" + content)
    with pytest.raises(UserMistake, match=said) as caught:
        external_access.settle(AccessOptions("mysql://db", defaults_file=file), lambda _: "typed")
    caught.value.sentence().encode()


def test_a_comment_that_is_not_utf8_is_no_obstacle(tmp_path: Path) -> None:
    file = tmp_path / "my.cnf"
    file.write_bytes(b"# \xe9\n[client]\npassword=p\n[mysqld]\nx=\xff\n")
    assert external_access.settle(AccessOptions("mysql://ann@db", defaults_file=file)).password == "p"


def test_no_password_and_nobody_to_ask() -> None:
    with pytest.raises(UserMistake, match="no password was given for ann at db:3306") as caught:
        external_access.settle(AccessOptions("mysql://ann@db"))
    assert "TLSTAX_PASSWORD" in caught.value.remedy
    with pytest.raises(UserMistake, match="no user was named for db:3306"):
        external_access.settle(AccessOptions("mysql://db"))
    with pytest.raises(UserMistake, match="TLSTAX_PASSWORD is not UTF-8"):
        external_access.settle(AccessOptions("mysql://ann@db", given_password=GivenPassword(b"\xe9")))
    with pytest.raises(UserMistake, match="the server's URL is not UTF-8"):
        external_access.settle(AccessOptions("mysql://ann\udcff@db"))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (EOFError(), "no password was typed for ann at db:3306"),
        (UnicodeDecodeError("utf-8", b"\xe9", 0, 1, "x"), "not in the encoding of this terminal"),
    ],
)
def test_a_prompt_that_is_not_answered_is_told(error: Exception, said: str) -> None:
    def ask(_: str) -> str:
        raise error

    with pytest.raises(UserMistake, match=said):
        external_access.settle(AccessOptions("mysql://ann@db"), ask)


def test_ssl_options_combine_as_in_the_mysql_client() -> None:
    assert external_tls.choose(None, None, None, None).mode == "PREFERRED"
    assert external_tls.choose(None, "ca.pem", None, None).mode == "VERIFY_CA"
    assert external_tls.choose("required", "ca.pem", None, None) == external_tls.ExternalTls("REQUIRED")
    both = external_tls.choose("VERIFY_IDENTITY", "ca.pem", "pair.pem", None)
    assert (both.ca_file, both.certificate_file, both.key_file) == ("ca.pem", "pair.pem", "pair.pem")
    with pytest.raises(UserMistake, match="VERIFY_CA needs the certificate authority"):
        external_tls.choose("VERIFY_CA", None, None, None)
    with pytest.raises(UserMistake, match="--ssl-mode=ON is unknown"):
        external_tls.choose("ON", None, None, None)


@pytest.mark.parametrize(
    ("text", "options", "mode_by", "certificate_by"),
    [
        ("", {"ssl_ca": "ca.pem"}, "--ssl-ca (VERIFY_CA, as no --ssl-mode is given)", ""),
        ("", {"ssl_mode": "required", "ssl_key": "k.pem"}, "--ssl-mode=REQUIRED", "--ssl-key"),
        ("ssl-mode=REQUIRED", {"ssl_cert": "c", "ssl_key": "k"}, "ssl-mode=REQUIRED in the option file", "*"),
        ("ssl=OFF\nssl-cert=c.pem", {}, "ssl=OFF in the option file", "ssl-cert in the option file"),
        ("ssl-ca=ca.pem", {}, "ssl-ca in the option file (VERIFY_CA, as no --ssl-mode is given)", ""),
    ],
)
def test_what_tls_is_demanded_by_is_what_was_typed(
    tmp_path: Path, text: str, options: dict[str, str], mode_by: str, certificate_by: str
) -> None:
    """`--ssl-ca` alone used to be told as --ssl-mode, which nobody had typed."""
    tls = settled_by(tmp_path, f"[client]\n{text}\n", **options)[0].tls
    whole = certificate_by.replace("*", "--ssl-cert, with its --ssl-key,")
    assert (tls.mode_by, tls.certificate_by) == (mode_by, whole)


def test_tls_files_that_are_no_use_are_named(tmp_path: Path) -> None:
    files = certificates.issue(tmp_path)
    with pytest.raises(UserMistake, match=r"gone\.pem of --ssl-ca does not exist"):
        external_tls.choose(None, str(tmp_path / "gone.pem"), None, None).context()
    empty = tmp_path / "empty.pem"
    empty.touch()
    with pytest.raises(UserMistake, match=r"empty\.pem of --ssl-ca cannot be used"):
        external_tls.choose(None, str(empty), None, None).context()
    with pytest.raises(UserMistake, match="of --ssl-cert cannot be used"):
        external_tls.choose(None, None, str(files.certificate_file), None).context()
    assert external_tls.choose(None, None, str(files.certificate_file), str(files.key_file)).context()
    assert external_tls.choose("DISABLED", None, None, None).context() is None


def test_a_protected_key_is_refused_and_not_asked_for(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415

    files = certificates.issue(tmp_path)
    key = serialization.load_pem_private_key(files.key_file.read_bytes(), password=None)
    files.key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"phrase"),
        )
    )
    with pytest.raises(UserMistake, match="pass phrase"):
        external_tls.choose(None, None, str(files.certificate_file), str(files.key_file)).context()


@pytest.mark.parametrize("password", ["p\udcff", "with a\0NUL"])
def test_a_password_that_the_protocol_cannot_carry_is_the_users_mistake(
    monkeypatch: pytest.MonkeyPatch, password: str
) -> None:
    """What the environment has and is not UTF-8 reaches Python as lone surrogates."""
    monkeypatch.delenv("TLSTAX_PASSWORD", raising=False)
    with pytest.raises(UserMistake, match="the password for db:3306") as caught:
        external_access.settle(AccessOptions("mysql://ann@db/lent"), ask=lambda _: password)
    assert caught.value.remedy
    assert password not in caught.value.sentence()


def test_a_user_that_the_protocol_cannot_carry_is_the_users_mistake() -> None:
    with pytest.raises(UserMistake, match="the user for db:3306 has a NUL"):
        external_access.settle(AccessOptions("mysql://an%00n@db/lent"), ask=lambda _: "secret")


def settled_by(
    tmp_path: Path, text: str, *, group: str = "client", **typed: str
) -> tuple[ExternalAccess, str]:
    """How one gets in with this option file, and what is said to be not heeded of it."""
    file = tmp_path / "my.cnf"
    file.write_text(f"[client]\nuser=ann\npassword=pw\n[{group}]\n{text}\n")
    warned: list[str] = []
    options = AccessOptions(url="mysql://h/db", defaults_file=file, **typed)
    return external_access.settle(options, warn=warned.append), "".join(warned)


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("ssl-ca=ca.pem", "VERIFY_CA"),
        ("ssl-ca=ca.pem\nssl-verify-server-cert", "VERIFY_IDENTITY"),
        ("ssl_ca=ca.pem\nssl_verify_server_cert=ON", "VERIFY_IDENTITY"),
        ("ssl-ca=ca.pem\nssl-verify=1", "VERIFY_IDENTITY"),
        ("ssl-ca=ca.pem\nenable-ssl-verify-server-cert", "VERIFY_IDENTITY"),
        ("ssl-ca=ca.pem\nssl-verify-server-cert=0", "VERIFY_CA"),
        ("ssl-ca=ca.pem\nskip-ssl-verify-server-cert", "VERIFY_CA"),
        ("ssl-ca=ca.pem\nssl-verify-server-cert=0\nssl_verify_server_cert", "VERIFY_IDENTITY"),
        ("skip-ssl", "DISABLED"),
        ("disable-ssl", "DISABLED"),
        ("ssl=OFF", "DISABLED"),
        ("loose-skip-ssl", "DISABLED"),
        ("ssl", "REQUIRED"),
        ("ssl=1\nssl-ca=ca.pem", "VERIFY_CA"),
        ("ssl-mode=disabled\nskip-ssl", "DISABLED"),
        ("max-allowed-packet=1M\ndefault-character-set=utf8mb4\nhost=other\nsocket=/x", "PREFERRED"),
    ],
)
def test_what_a_file_says_of_tls_is_heeded(tmp_path: Path, text: str, mode: str) -> None:
    access, warned = settled_by(tmp_path, text)
    assert (access.tls.mode, warned) == (mode, "")


@pytest.mark.parametrize("group", ["client-server", "client-mariadb"])
def test_the_groups_for_mariadbs_clients_are_heeded(tmp_path: Path, group: str) -> None:
    """They verify the identity from MariaDB 11.4 on, unless they are told not to."""
    assert settled_by(tmp_path, "ssl-ca=ca.pem", group=group)[0].tls.mode == "VERIFY_IDENTITY"
    less = "ssl-ca=ca.pem\nssl-verify-server-cert=0"
    assert settled_by(tmp_path, less, group=group)[0].tls.mode == "VERIFY_CA"
    access, warned = settled_by(tmp_path, "user=bea\nskip-ssl", group=group)
    assert (access.user, access.tls.mode, warned) == ("bea", "DISABLED", "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "ssl-verify-server-cert",
            "ssl-verify-server-cert in the option file needs the certificate authority",
        ),
        ("ssl-mode=VERIFY_CA", "ssl-mode=VERIFY_CA in the option file needs"),
        ("skip-ssl\nssl-verify-server-cert", "contradicts itself: ssl=OFF and ssl-verify-server-cert"),
        ("ssl-mode=REQUIRED\nskip-ssl", "contradicts itself: ssl-mode=REQUIRED and ssl=OFF"),
        ("ssl-mode=required\nssl-verify-server-cert\nssl-ca=x", "ssl-mode=required and ssl-verify-server"),
        ("ssl-mode=VERIFY_IDENTITY\nssl-verify-server-cert=0\nssl-ca=x", "and ssl-verify-server-cert=0"),
        ("ssl-mode=MAYBE", "ssl-mode=MAYBE is unknown"),
        ("ssl=maybe", "the option ssl in the file is neither on nor off"),
        ("ssl-capath=/etc/ssl/certs", "says by ssl-capath whom to trust"),
        ("ssl-ca=ca.pem\nssl-crl=x.pem\nssl-fp=x", "says by ssl-crl and ssl-fp whom to trust"),
        ("port=none", "the option port in the file is not a port"),
    ],
)
def test_what_a_file_says_of_tls_and_cannot_be_heeded_is_refused(
    tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(UserMistake) as caught:
        settled_by(tmp_path, text)
    assert words in caught.value.sentence()


@pytest.mark.parametrize("text", ["skip-ssl", "ssl-mode=REQUIRED\nskip-ssl", "ssl-crl=x", "ssl-capath=/x"])
def test_the_command_line_wins_over_what_a_file_says_of_tls(tmp_path: Path, text: str) -> None:
    access, _ = settled_by(tmp_path, text, ssl_mode="VERIFY_IDENTITY", ssl_ca="ca.pem")
    assert access.tls == external_tls.ExternalTls("VERIFY_IDENTITY", "ca.pem")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("tls-version=TLSv1.2\ncompress\ninit_command='SET x=1'", "tls-version, compress and init-command"),
        ("skip-reconnect\nprotocol=socket", "skip-reconnect and protocol"),
        (
            "[mysql]\nuser=eve\nprompt=x\n[mariadb-client]\nskip-ssl",
            "user of [mysql] and ssl of [mariadb-client]",
        ),
    ],
)
def test_what_is_not_heeded_of_a_file_is_named(tmp_path: Path, text: str, named: str) -> None:
    access, warned = settled_by(tmp_path, text)
    assert access.user == "ann"
    assert f"not heeded of {tmp_path / 'my.cnf'}: {named}; " in warned


def test_the_port_of_a_file_counts_where_the_url_has_none(tmp_path: Path) -> None:
    assert settled_by(tmp_path, "port=3307")[0].address.port == 3307
    file = tmp_path / "my.cnf"
    options = AccessOptions(url="mysql://h:3306/db", defaults_file=file)
    assert external_access.settle(options).address.port == 3306


def test_a_directory_of_authorities_is_named_as_one(tmp_path: Path) -> None:
    tls = external_tls.choose(None, str(tmp_path), None, None)
    with pytest.raises(
        UserMistake, match="is a directory, and authorities are taken from one file"
    ) as caught:
        tls.context()
    assert f"cat {tmp_path}/*.pem > ca.pem" in caught.value.sentence()


@pytest.mark.parametrize("included", [False, True])
def test_an_option_file_that_all_may_write_is_not_used(tmp_path: Path, included: bool) -> None:
    """Whoever changes it says whom to trust; the clients pass over it."""
    open_to_all, main = tmp_path / "all.cnf", tmp_path / "my.cnf"
    open_to_all.write_text("[client]\nskip-ssl\n")
    open_to_all.chmod(0o646)
    main.write_text(f"!include {open_to_all}\n")
    with pytest.raises(UserMistake, match="can be written by all users") as caught:
        read_option_file(main if included else open_to_all)
    assert f"chmod o-w {open_to_all}" in caught.value.sentence()
    open_to_all.chmod(0o640)
    assert read_option_file(main) == {"client": {"skip-ssl": None}}


def test_a_unix_socket_is_an_address_of_this_machine() -> None:
    found = parse_url("mysql://ann@/shop?socket=/run/my%20sql/mysqld.sock")
    assert (found.host, found.user, found.schema) == ("localhost", "ann", "shop")
    assert found.endpoint == UnixEndpoint(path="/run/my sql/mysqld.sock")
    assert str(found) == "/run/my sql/mysqld.sock"
    assert parse_url("mysql://ann@localhost/?socket=/a").socket == "/a"
    assert parse_url(f"mysql:///one?socket=/{'a' * 106}").socket is not None
    assert parse_url("mysql://ann@[::1]/shop").endpoint == TcpEndpoint(host="::1", port=3306)


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("mysql:///one?socket=a.sock", "not a path from /"),
        ("mysql:///one?socket=", "not a path from /"),
        (f"mysql:///one?socket=/{'a' * 107}", "more than 107 bytes"),
        ("mysql://db/one?socket=/run/a.sock", "a host or a port, and a socket"),
        ("mysql://localhost:3306/one?socket=/run/a.sock", "a host or a port, and a socket"),
    ],
)
def test_a_bad_socket_is_the_users_mistake(url: str, word: str) -> None:
    with pytest.raises(UserMistake, match=word):
        parse_url(url)
