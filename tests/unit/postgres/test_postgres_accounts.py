"""PostgreSQL's accounts: what is kept of passwords, and who is let in from where."""

from __future__ import annotations

import base64
import hmac

import pytest

from answering_database import AnsweringDatabase
from tlstax.postgres import accounts
from tlstax.sql.credentials import new_credentials


def test_a_secret_is_that_of_rfc_7677() -> None:
    """By its example: the signature of the server, with the key that it keeps of the password "pencil"."""
    salt = "W22ZaJ0SNY7soEsUEjb6gQ=="
    secret = accounts.scram_secret("pencil", 4096, base64.b64decode(salt))
    nonce = "rOprNGfwEbeRWgbNEkqO"
    both = nonce + "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    message = f"n=user,r={nonce},r={both},s={salt},i=4096,c=biws,r={both}"
    head, _, keys = secret.rpartition("$")
    assert head == f"SCRAM-SHA-256$4096:{salt}"
    server_key = base64.b64decode(keys.partition(":")[2])
    signature = hmac.digest(server_key, message.encode(), "sha256")
    assert base64.b64encode(signature).decode() == "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_each_secret_has_a_salt_of_its_own() -> None:
    assert accounts.scram_secret("a") != accounts.scram_secret("a")


def test_an_md5_secret_is_of_the_password_and_the_user() -> None:
    """The digest is md5sum's of "penciluser"."""
    assert accounts.md5_secret("user", "pencil") == "md520c46e3762c864548e296b33c3406aa9"


def test_no_statement_says_a_password() -> None:
    credentials = new_credentials()
    said = "\n".join(accounts.statements(credentials))
    assert credentials.admin_password not in said
    assert credentials.load_password not in said
    assert all("\n" not in statement for statement in accounts.statements(credentials)), (
        "a server alone reads lines"
    )


def first_rule(lines: list[str], kind: str, name: str, user: str) -> str:
    """How a login is proved: by the first line that fits, as PostgreSQL reads them; empty where none does."""
    for line in lines:
        fields = line.split()
        of, names, who, method = (
            fields[0],
            fields[1],
            fields[2].strip('"'),
            fields[3 if fields[0] == "local" else 4 :],
        )
        fits = {"local": {"local"}, "host": {"tls", "tcp"}, "hostssl": {"tls"}, "hostnossl": {"tcp"}}[of]
        if kind in fits and names in {"all", name} and who == user:
            return " ".join(method)
    return ""


@pytest.mark.parametrize("major", [10, 12, 18])
def test_each_account_is_proved_by_its_method_and_from_where_it_may_come(major: int) -> None:
    lines = accounts.hba_lines(certificates=True, major=major)

    def rule(kind: str, user: str, name: str = accounts.SCHEMA) -> str:
        return first_rule(lines, kind, name, user)

    assert rule("local", accounts.ADMINISTRATOR, "postgres") == "scram-sha-256"
    assert rule("tls", accounts.ADMINISTRATOR) == rule("tcp", accounts.ADMINISTRATOR) == ""
    for kind in ("local", "tls", "tcp"):
        assert rule(kind, accounts.LOAD_USER) == "scram-sha-256"
        assert rule(kind, accounts.LOAD_USER, "postgres") == "", "it has nothing to do there"
        assert rule(kind, accounts.BOOTSTRAP) == ""
        for method in ("md5", "trust", "scram-sha-256"):
            assert rule(kind, accounts.user_by_plugin(method)) == method
    assert rule("tls", accounts.user_by_plugin("password")) == "password"
    assert rule("tcp", accounts.user_by_plugin("password")) == "", "it would be on the wire in the clear"
    bound = accounts.user_by_plugin("scram-sha-256-plus")
    assert (rule("tls", bound), rule("tcp", bound)) == ("scram-sha-256", ""), "only TLS can be bound to"
    by_certificate = accounts.LOAD_USER_BY_CERTIFICATE
    wanted = "clientcert=verify-ca" if major >= 12 else "clientcert=1"
    assert rule("tls", by_certificate) == f"scram-sha-256 {wanted}"
    assert rule("tls", accounts.user_by_plugin("cert")) == "cert map=tlstax"
    assert rule("tcp", by_certificate) == rule("local", by_certificate) == ""


def test_without_authorities_of_clients_there_are_no_accounts_by_certificate() -> None:
    assert not any("cert" in line for line in accounts.hba_lines(certificates=False, major=18))


def test_a_name_stands_for_the_account_by_certificate() -> None:
    assert accounts.ident_lines("a client") == ['tlstax "a client" "tlstax_by_cert"']


@pytest.mark.parametrize(
    ("method", "kept"),
    [
        ("scram-sha-256", "SCRAM-SHA-256$9000:"),
        ("password", "SCRAM-SHA-256$"),
        ("md5", "md5"),
        ("trust", "None"),
    ],
)
def test_an_account_is_given_what_its_method_needs(method: str, kept: str) -> None:
    server = AnsweringDatabase()
    accounts.make_by_plugin(server, method, "secret", 9000)
    made, given = server.statements[-2:]
    assert made == f'CREATE ROLE "tlstax_by_{method}" LOGIN IN ROLE tlstax_load'
    assert given.startswith(f'ALTER ROLE "tlstax_by_{method}" PASSWORD {kept}')
    assert "secret" not in given


def test_an_account_that_is_there_is_not_made_again() -> None:
    server = AnsweringDatabase({"pg_roles": [(1,)]})
    accounts.make_by_certificate(server, "secret")
    assert not any("CREATE" in statement for statement in server.statements)


@pytest.mark.parametrize(
    ("rules", "demands"),
    [
        ([("hostssl", "scram-sha-256", "{clientcert=verify-ca}")], True),
        ([("hostssl", "cert", "{map=tlstax}")], True),
        ([("hostssl", "cert", ""), ("host", "scram-sha-256", "")], False),
        ([("host", "scram-sha-256", "")], False),
        ([], False),
    ],
)
def test_what_the_server_lets_in_says_whether_a_certificate_is_demanded(
    rules: list[tuple[str, str, str]], demands: bool
) -> None:
    server = AnsweringDatabase({"pg_roles": [(1,)], "pg_hba_file_rules": rules})
    assert accounts.demands_certificate(server, "u") is demands
    assert accounts.demands_certificate(AnsweringDatabase({"pg_hba_file_rules": rules}), "u") is None


def test_the_method_of_the_load_account_is_that_of_its_first_line() -> None:
    server = AnsweringDatabase({"pg_hba_file_rules": [("md5",), ("scram-sha-256",)]})
    assert accounts.plugin_of_load_account(server) == "md5"
    assert accounts.plugin_of_load_account(AnsweringDatabase()) == ""
