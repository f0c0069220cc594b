"""What the user says about a guest: URL, option files, login file, TLS options, and the password's way."""

from __future__ import annotations

import base64
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlstax.errors import UserMistake
from tlstax.guests import access as guest_access
from tlstax.guests import address as guest_address
from tlstax.guests import login_file, option_file
from tlstax.guests import tls as guest_tls
from tlstax.guests.access import GuestOptions
from tlstax.guests.address import GuestAddress
from tlstax.specimens import certificates

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
    assert guest_address.parse("mysql://ann@db.example:3307/shop") == GuestAddress(
        host="db.example", port=3307, user="ann", schema="shop"
    )
    assert guest_address.parse("mariadb://db.example") == GuestAddress(host="db.example")
    assert str(guest_address.parse("mysql://ann@[::1]/")) == "[::1]:3306"


@given(user=st.text(min_size=1), schema=st.text(min_size=1), port=st.integers(1, 65535))
def test_percent_encoded_names_come_back(user: str, schema: str, port: int) -> None:
    address = guest_address.parse(f"mysql://{quote(user, safe='')}@h:{port}/{quote(schema, safe='')}")
    assert (address.user, address.schema, address.port) == (user, schema, port)


@given(password=st.text().map(lambda text: "§" + text))
def test_a_password_in_the_url_is_refused_and_not_repeated(password: str) -> None:
    with pytest.raises(UserMistake) as caught:
        guest_address.parse(f"mysql://ann:{password}@db.example:3306/shop")
    sentence = caught.value.sentence()
    for way in ("prompt", "TLSTAX_PASSWORD", "--defaults-file", "--login-path"):
        assert way in sentence
    assert "§" not in sentence


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
        ("mysql://db/one?ssl=1", "goes on"),
        ("mysql://a%ff@db/one", "UTF-8"),
        ("mysql://[::1/one", "host or port"),
    ],
)
def test_a_bad_url_is_the_users_mistake(url: str, word: str) -> None:
    with pytest.raises(UserMistake, match=word) as caught:
        guest_address.parse(url)
    assert "mysql://user@host:port/schema" in caught.value.sentence()


def test_option_file_values_are_read_as_mysql_reads_them() -> None:
    text = r"""
# comment
!includedir /etc/mysql/conf.d
[client]
quoted = "q#uo\"ted" # comment
plain = word # comment
single='sin"gle'
escapes=back\\slash\tt\sx\q
user_name=u
empty=
bare
unfinished="unfinished
inner=a"b"c
twice='x' y
[mysql]
plain = other
"""
    groups = option_file.parse(text, "here")
    assert groups["client"] == {
        "quoted": 'q#uo"ted',
        "plain": "word",
        "single": 'sin"gle',
        "escapes": "back\\slash\tt x\\q",
        "user-name": "u",
        "empty": "",
        "bare": "",
        "unfinished": '"unfinished',
        "inner": 'a"b"c',
        "twice": "'x' y",
    }
    assert groups["mysql"] == {"plain": "other"}


def test_option_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match=r"nowhere\.cnf cannot be read"):
        option_file.read(tmp_path / "nowhere.cnf")
    binary = tmp_path / "binary.cnf"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(UserMistake, match="not UTF-8"):
        option_file.read(binary)
    with pytest.raises(UserMistake, match="line 1"):
        option_file.parse("password=hidden", "here")


def test_the_login_file_of_mysql_config_editor_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(login_file.PATH_VARIABLE, str(login_file_at(tmp_path / "login")))
    options = login_file.login_path("lab")
    assert options == {"user": 'us er"q', "password": LOGIN_PASSWORD, "host": "127.0.0.1", "port": "13306"}
    with pytest.raises(UserMistake, match="no login path named 'three'"):
        login_file.login_path("three")


@pytest.mark.parametrize("cut", [3, 24, 30, 60])
def test_a_damaged_login_file_is_told(tmp_path: Path, cut: int) -> None:
    path = login_file_at(tmp_path / "login")
    path.write_bytes(path.read_bytes()[:cut])
    if cut == 24:
        assert login_file.read(path) == {}
        return
    with pytest.raises(UserMistake, match="damaged"):
        login_file.read(path)


def test_a_login_file_open_to_others_is_not_used(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="can be read by other users"):
        login_file.read(login_file_at(tmp_path / "login", mode=0o640))


def test_the_password_comes_from_where_the_user_put_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(login_file.PATH_VARIABLE, str(login_file_at(tmp_path / "login")))
    file = tmp_path / "my.cnf"
    file.write_text("[client]\nuser=from_file\npassword=file's\nssl-mode=REQUIRED\n", encoding="utf-8")
    url = "mysql://ann@db.example"
    asked: list[str] = []

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return "typed"

    assert guest_access.settle(GuestOptions(url), ask).password == "typed"
    assert asked == ["Password of ann at db.example:3306: "]
    monkeypatch.setenv("TLSTAX_PASSWORD", "")
    assert guest_access.settle(GuestOptions(url), ask).password == ""
    filed = guest_access.settle(GuestOptions(url, defaults_file=file), ask)
    assert (filed.user, filed.password, filed.tls.mode) == ("ann", "file's", "REQUIRED")
    both = guest_access.settle(GuestOptions("mysql://db", defaults_file=file, login_path="lab"), ask)
    assert (both.user, both.password) == ('us er"q', LOGIN_PASSWORD)
    assert len(asked) == 1
    assert LOGIN_PASSWORD not in repr(both)


def test_no_password_and_nobody_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TLSTAX_PASSWORD", raising=False)
    with pytest.raises(UserMistake, match="no password was given for ann at db:3306") as caught:
        guest_access.settle(GuestOptions("mysql://ann@db"))
    assert "TLSTAX_PASSWORD" in caught.value.remedy
    with pytest.raises(UserMistake, match="no user was named for db:3306"):
        guest_access.settle(GuestOptions("mysql://db"))


def test_ssl_options_combine_as_in_the_mysql_client() -> None:
    assert guest_tls.choose(None, None, None, None).mode == "PREFERRED"
    assert guest_tls.choose(None, "ca.pem", None, None).mode == "VERIFY_CA"
    assert guest_tls.choose("required", "ca.pem", None, None) == guest_tls.GuestTls("REQUIRED")
    both = guest_tls.choose("VERIFY_IDENTITY", "ca.pem", "pair.pem", None)
    assert (both.ca_file, both.certificate_file, both.key_file) == ("ca.pem", "pair.pem", "pair.pem")
    with pytest.raises(UserMistake, match="VERIFY_CA needs the certificate authority"):
        guest_tls.choose("VERIFY_CA", None, None, None)
    with pytest.raises(UserMistake, match="--ssl-mode=ON is unknown"):
        guest_tls.choose("ON", None, None, None)


def test_tls_files_that_are_no_use_are_named(tmp_path: Path) -> None:
    files = certificates.issue(tmp_path)
    with pytest.raises(UserMistake, match=r"gone\.pem of --ssl-ca does not exist"):
        guest_tls.choose(None, str(tmp_path / "gone.pem"), None, None).context()
    empty = tmp_path / "empty.pem"
    empty.touch()
    with pytest.raises(UserMistake, match=r"empty\.pem of --ssl-ca cannot be used"):
        guest_tls.choose(None, str(empty), None, None).context()
    with pytest.raises(UserMistake, match="--ssl-cert, with its --ssl-key, cannot be used"):
        guest_tls.choose(None, None, str(files.certificate_file), None).context()
    assert guest_tls.choose(None, None, str(files.certificate_file), str(files.key_file)).context()
    assert guest_tls.choose("DISABLED", None, None, None).context() is None


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
        guest_tls.choose(None, None, str(files.certificate_file), str(files.key_file)).context()


@pytest.mark.parametrize("password", ["p\udcff", "with a\0NUL"])
def test_a_password_that_the_protocol_cannot_carry_is_the_users_mistake(
    monkeypatch: pytest.MonkeyPatch, password: str
) -> None:
    """What the environment has and is not UTF-8 reaches Python as lone surrogates."""
    monkeypatch.delenv("TLSTAX_PASSWORD", raising=False)
    with pytest.raises(UserMistake, match="the password for db:3306") as caught:
        guest_access.settle(GuestOptions("mysql://ann@db/lent"), ask=lambda _: password)
    assert caught.value.remedy
    assert password not in caught.value.sentence()


def test_a_user_that_the_protocol_cannot_carry_is_the_users_mistake() -> None:
    with pytest.raises(UserMistake, match="the user for db:3306 has a NUL"):
        guest_access.settle(GuestOptions("mysql://an%00n@db/lent"), ask=lambda _: "secret")
