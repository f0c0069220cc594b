"""Which handshakes are asked for: each thing alone, and no more connections than are said beforehand."""

from __future__ import annotations

from tlstax.contract import TlsOn
from tlstax.tools.tls_probe import connections, questions

CLIENT = TlsOn(verify="ca", ca_file="/ca.pem")


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
