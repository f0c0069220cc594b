"""Which handshakes are asked for: each thing alone, and no more connections than are said beforehand."""

from __future__ import annotations

from tlstax.contract import Account, TcpEndpoint, TlsOn
from tlstax.contract.job import MySqlServer, PostgreSqlServer
from tlstax.tools.tls_probe import connections, least_job, questions

CLIENT = TlsOn(verify="ca", ca_file="/ca.pem")
ACCOUNT = Account(user="app", password="", database="scratch")


def test_each_thing_is_offered_alone() -> None:
    asked = {question.name: question.tls for question in questions(CLIENT)}
    assert asked["a client left to itself"] == CLIENT
    old = asked["TLS 1.0"]
    assert (old.min_version, old.max_version) == ("1.0", "1.0")
    assert old.cipher_list is not None, "OpenSSL needs a lower security level for it"
    suite = asked["TLS_CHACHA20_POLY1305_SHA256"]
    assert (suite.min_version, suite.ciphersuites) == ("1.3", "TLS_CHACHA20_POLY1305_SHA256")
    family = asked["RSA key exchange"]
    assert (family.max_version, family.ciphersuites) == ("1.2", None)
    assert asked["X25519"].groups == "X25519"


def test_everyone_who_is_verified_is_verified_each_time() -> None:
    assert {(q.tls.verify, q.tls.ca_file) for q in questions(CLIENT)} == {("ca", "/ca.pem")}


def test_a_few_dozen_connections_are_made() -> None:
    asked = questions(CLIENT)
    resuming = [question for question in asked if question.tls.resumption]
    assert [(q.topic, q.connections) for q in resuming] == [("resumption", 2)] * 2
    assert connections(asked) == 1 + len(asked) + len(resuming) <= 36


def test_postgresql_is_asked_to_begin_at_once_and_to_resume_nothing() -> None:
    asked = questions(CLIENT, server=PostgreSqlServer())
    mysql = questions(CLIENT)
    assert [q.name for q in asked if q.topic != "direct"] == [
        q.name for q in mysql if q.topic != "resumption"
    ]
    began = [(q.topic, q.server) for q in asked if q.server != PostgreSqlServer()]
    assert began == [("direct", PostgreSqlServer(ssl_negotiation="direct"))]
    assert {q.server for q in mysql} == {MySqlServer()}
    assert connections(asked) == 1 + len(asked)


def test_a_job_says_the_least_that_its_server_understands() -> None:
    said = {
        server.kind: job.workload.statements[0].sql
        for server in (MySqlServer(), PostgreSqlServer())
        for job in (least_job(CLIENT, TcpEndpoint(host="db", port=1), ACCOUNT, server),)
        if job.server == server
    }
    assert said == {"mysql": "DO 0", "postgresql": ";"}
