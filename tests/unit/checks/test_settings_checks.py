"""A trial whose server had another certificate, TLS or durability than its case has is found out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from test_identity_checks import SERVER

from fake_trials import fake_record, tax_truth
from tlstax.checks import settings
from tlstax.checks.complete import Complete, Doubt
from tlstax.contract import TlsOn
from tlstax.plan.order import cases
from tlstax.records.trial import Trial
from tlstax.records.window import Slices
from tlstax.report.page.evidence import proofs
from tlstax.specimens.certificates import KEY_KINDS
from tlstax.study import Level, load_study
from tlstax.study.cpu_features import VARIABLE, environment
from tlstax.study.level_names import CERTIFICATES, key_of
from tlstax.topics.core.charts import Style
from tlstax.topics.core.groups import Row

PLAIN, TLS = (next(c for c in cases(load_study("tax")) if c.levels["tls"] == tls) for tls in ("off", "1.3"))


def trial(
    case: Any = TLS, *, key: str | None = "RSA 2048", levels: dict[str, Level], **server: Any
) -> Complete:
    """A trial of the case with these levels more; its client saw a certificate with this key."""
    record = fake_record(Trial(block=0, position=0, case=case), tax_truth(case), duration_s=0.1)
    assert record.ready is not None
    assert record.done is not None
    assert record.server is not None
    seen = tuple(
        one.model_copy(
            update={"client": one.client and one.client.model_copy(update={"certificate_key": key})}
        )
        for one in record.ready.negotiated
    )
    return Complete(
        case.levels | levels,
        record.ready.model_copy(update={"negotiated": seen}),
        record.done,
        record.server.model_copy(update=server),
        record.model_copy(update={"claim": SERVER}),
    )


def certificate(**made: Any) -> list[Doubt]:
    return list(settings.certificate(trial(**made)))


def test_every_certificate_of_a_study_can_be_made() -> None:
    assert CERTIFICATES == KEY_KINDS
    assert [key_of(kind) for kind in ("rsa-4096", "ec-p256", "ed25519", "mldsa65")] == [
        "RSA 4096",
        "EC P-256",
        "ED25519",
        "ML-DSA-65",
    ]


def test_the_key_that_clients_saw_is_the_cases() -> None:
    assert certificate(levels={}) == []
    assert certificate(key="EC P-384", levels={"certificate": "ec-p384"}) == []
    assert certificate(levels={"certificate": "rsa-4096"}) == [
        Doubt("invalid", "the server showed a certificate with the key RSA 2048, not RSA 4096")
    ]
    assert certificate(key="RSA 4096", levels={})[0].weight == "invalid"


def test_plaintext_shows_no_certificate() -> None:
    assert certificate(case=PLAIN, levels={"certificate": "rsa-4096"}) == []


def test_a_client_that_does_not_tell_the_key_must_have_verified() -> None:
    asked = trial(key=None, levels={"certificate": "rsa-4096"})
    job = asked.evidence.job
    assert job is not None
    for verify, weight in (("none", "unknown"), ("ca", "note"), ("identity", "note")):
        told = job.model_copy(update={"tls": TlsOn(verify=verify, ca_file="/ca.pem")})
        evidence = asked.evidence.model_copy(update={"job": told})
        assert [doubt.weight for doubt in settings.certificate(asked._replace(evidence=evidence))] == [weight]
        slap = asked.case | {"client": "mysqlslap-8.0.33"}
        (doubt,) = settings.certificate(asked._replace(evidence=evidence, case=slap))
        assert doubt == Doubt("unknown", "it is not known whether the certificate's key was RSA 4096")
    assert certificate(key=None, levels={}) == []


def test_what_was_set_stands_beside_what_was_negotiated() -> None:
    record = fake_record(Trial(block=0, position=0, case=PLAIN), tax_truth(PLAIN), duration_s=0.1)
    assert record.server is not None
    was_set = record.server.model_copy(update={"tls_versions": "", "durability": "write"})
    style = Style(label="plaintext", colour="#000", shape="circle")
    row = Row(PLAIN, style, trials=(record.model_copy(update={"server": was_set}),))
    table, _ = proofs([row])
    said = dict(zip(table.heads, table.rows[0][1:], strict=True))["The server said"]
    assert said == "plaintext\ntook no TLS\na commit is with the operating system"


@pytest.mark.parametrize(
    ("case", "took", "weights"),
    [
        (PLAIN, "", []),
        (PLAIN, "TLSv1.2,TLSv1.3", ["invalid"]),
        (PLAIN, None, ["unknown"]),
        (TLS, "TLSv1.2,TLSv1.3", []),
        (TLS, "", ["invalid"]),
    ],
)
def test_tls_is_off_at_the_server_exactly_where_it_is_to_be(
    case: Any, took: str | None, weights: list[str]
) -> None:
    at_server = trial(case, levels={"tls_switch": "server"}, tls_versions=took)
    assert [doubt.weight for doubt in settings.tls_switch(at_server)] == weights
    assert list(settings.tls_switch(trial(case, levels={"tls_switch": "client"}, tls_versions=took))) == []


def test_a_server_that_still_took_tls_is_told_in_a_sentence() -> None:
    (doubt,) = settings.tls_switch(trial(PLAIN, levels={"tls_switch": "server"}, tls_versions="TLSv1.3"))
    assert doubt.reason == "the server still took TLS (TLSv1.3), where it was to be turned off there"


@pytest.mark.parametrize(("seen", "weights"), [("none", []), ("full", ["invalid"]), (None, ["unknown"])])
def test_commits_are_kept_as_the_case_has_it(seen: str | None, weights: list[str]) -> None:
    found = settings.durability(trial(levels={"durability": "none"}, durability=seen))
    assert [doubt.weight for doubt in found] == weights
    assert list(settings.durability(trial(levels={}, durability=seen))) == []


def test_a_driver_is_believed_to_have_seen_the_only_certificate_that_there_was() -> None:
    levels: dict[str, Level] = {"certificate": "rsa-4096", "client": "pymysql-1.1"}
    assert certificate(key=None, levels=levels) == [
        Doubt(
            "note", "the driver does not report the certificate's key; the server was started with no other"
        )
    ]


def test_a_client_that_verified_has_proved_the_key() -> None:
    asked = trial(key=None, levels={"certificate": "rsa-4096"})
    job = asked.evidence.job
    assert job is not None
    verified = job.model_copy(update={"tls": TlsOn(verify="ca", ca_file="/ca.pem")})
    assert list(
        settings.certificate(asked._replace(evidence=asked.evidence.model_copy(update={"job": verified})))
    ) == [
        Doubt(
            "note",
            "the client does not report the certificate's key; it verified "
            "it by an authority that signed no other",
        )
    ]


def test_sysbench_need_not_verify_to_have_seen_the_only_certificate() -> None:
    levels: dict[str, Level] = {"certificate": "rsa-4096", "client": "sysbench"}
    assert certificate(key=None, levels=levels) == [
        Doubt(
            "note", "the client does not report the certificate's key; the server was started with no other"
        )
    ]


def test_one_resumed_connection_is_enough_for_a_key_to_stay_hidden() -> None:
    asked = trial(key=None, levels={"certificate": "rsa-4096"})
    (one,) = asked.ready.negotiated
    assert one.client is not None
    resumed = one.model_copy(update={"client": one.client.model_copy(update={"resumed": True})})
    ready = asked.ready.model_copy(update={"negotiated": (one, resumed)})
    assert list(settings.certificate(asked._replace(ready=ready))) == []


def test_without_a_level_of_tls_there_is_none() -> None:
    nameless = TLS.levels.without("tls")
    asked = trial(levels={})._replace(case=nameless | {"certificate": "rsa-4096"})
    assert list(settings.certificate(asked)) == []
    took = trial(PLAIN, levels={}, tls_versions="TLSv1.3")._replace(case=nameless | {"tls_switch": "server"})
    assert [doubt.weight for doubt in settings.tls_switch(took)] == ["invalid"]


def test_the_sentences_on_settings_are_whole() -> None:
    switched: dict[str, Level] = {"tls_switch": "server"}
    assert list(settings.tls_switch(trial(TLS, levels=switched, tls_versions=""))) == [
        Doubt("invalid", "the server took no TLS, where it was to be left on there")
    ]
    assert list(settings.tls_switch(trial(TLS, levels=switched, tls_versions=None))) == [
        Doubt("unknown", "it is not known whether the server took TLS")
    ]
    assert list(settings.durability(trial(levels={"durability": "none"}, durability="full"))) == [
        Doubt("invalid", "the server's durability was full, where it was to be none")
    ]
    assert list(settings.durability(trial(levels={"durability": "none"}, durability=None))) == [
        Doubt("unknown", "it is not known when the server had a commit on the disk")
    ]


def in_turns(length_s: float | None) -> list[Doubt]:
    """What is said of a trial that was to take turns in slices of 5 ms, and whose slices lasted this long."""
    return turns(5, length_s)


def turns(slice_ms: float | None, length_s: float | None) -> list[Doubt]:
    """What is said of one that was to have slices of `slice_ms`, and had them of `length_s` (None: none)."""
    made = trial(levels={} if slice_ms is None else {"slice_ms": slice_ms})
    one = {
        "rounds": (0,),
        "operations": (1,),
        "elapsed_s": (0.1,),
        "latency_sum_s": (0.1,),
        "client_cpu_us": (1.0,),
    }
    slices = None if length_s is None else Slices(sitting=0, length_s=length_s, took_s=1.0, **one)
    return list(settings.slices(made._replace(evidence=made.evidence.model_copy(update={"slices": slices}))))


def test_turns_are_taken_in_slices_of_the_length_that_a_case_names() -> None:
    assert in_turns(0.005) == in_turns(5 / 1000) == []
    assert in_turns(0.006) == [
        Doubt("invalid", "its slices were of 6 ms, where it was to take turns in slices of 5 ms")
    ]
    assert in_turns(None) == [
        Doubt("invalid", "it took no turns, where it was to take turns in slices of 5 ms")
    ]


def test_a_case_that_is_to_have_the_server_to_itself_takes_no_turns() -> None:
    assert turns(0, None) == turns(None, None) == turns(None, 0.005) == []
    assert turns(0, 0.005) == [
        Doubt("invalid", "it took turns with others, where it was to have the server to itself")
    ]


HIDDEN = environment("no-avx2")[VARIABLE]


def features(level: str, server: str | None, client: str | None) -> list[Doubt]:
    made = trial(levels={"cpu_features": level}, ia32cap=server)
    evidence = made.evidence.model_copy(update={"client_ia32cap": client})
    return list(settings.cpu_features(made._replace(evidence=evidence)))


def test_instructions_are_hidden_from_both_sides() -> None:
    assert features("no-avx2", HIDDEN, HIDDEN) == []
    assert features("own", "", "") == features("own", None, None) == []
    assert features("no-avx2", HIDDEN, "") == [
        Doubt("invalid", f"OPENSSL_ia32cap of the client was not set, where it was to be {HIDDEN}")
    ]
    assert [doubt.weight for doubt in features("no-avx2", "~0x0", HIDDEN)] == ["invalid"]
    assert features("no-avx2", None, HIDDEN) == [
        Doubt("unknown", "it is not known which instructions were hidden from the server")
    ]


def test_what_the_user_hides_is_noted() -> None:
    assert features("own", "", "~0x1") == [
        Doubt("note", "the client's environment hides instructions from OpenSSL (~0x1)")
    ]


def processors(wanted: int | None, seen: int | None) -> list[Doubt]:
    levels: dict[str, Level] = {} if wanted is None else {"server_cpus": wanted}
    return list(settings.server_cpus(trial(levels=levels, allowed_cpus=seen)))


def test_the_server_had_the_cases_number_of_processors() -> None:
    assert processors(2, 2) == processors(None, 1) == processors(None, None) == []
    assert processors(2, 1) == [Doubt("invalid", "the server could use 1 processor, not 2")]
    assert processors(1, None) == [
        Doubt("unknown", "it is not known how many processors the server could use")
    ]


@pytest.mark.parametrize(
    ("variables", "doubts"),
    [
        ({"performance_schema": "OFF"}, []),
        (
            {"performance_schema": "ON"},
            [Doubt("invalid", "performance_schema of the server was ON, where it was to be OFF")],
        ),
        ({}, [Doubt("unknown", "the server reports no performance_schema, which was to be OFF")]),
    ],
)
def test_an_option_is_in_force_by_the_server_s_own_word(
    variables: dict[str, str], doubts: list[Doubt]
) -> None:
    asked: dict[str, Level] = {"configuration": "performance_schema=OFF"}
    assert list(settings.configuration(trial(levels=asked, variables=variables))) == doubts
    assert list(settings.configuration(trial(levels={}, variables={}))) == []


def word(
    proves_client: bool = False,
    *,
    private: bool = True,
    named: bool = True,
    before: Sequence[Any] = (),
    **server: Any,
) -> list[str]:
    """What is doubted of a trial whose server says this of its connections, as PostgreSQL's does.

    It said as much `before` of other connections: of each what differs.
    """
    made = trial(levels={"client_certificate": "on" if proves_client else "off"} if named else {})
    said = {"cipher": "TLS_AES_256_GCM_SHA384", "cipher_bits": 256, **server}
    seen = tuple(
        one.model_copy(update={"server": one.server and one.server.model_copy(update={**said, **other})})
        for one in made.ready.negotiated
        for other in (*before, {})
    )
    made = made._replace(ready=made.ready.model_copy(update={"negotiated": seen}))
    if not private:
        made = made._replace(evidence=made.evidence.model_copy(update={"claim": None}))
    return [doubt.reason for doubt in settings.server_word(made) if doubt.weight == "invalid"]


OURS = "/CN=tlstax private client"


def test_the_client_certificate_that_the_server_saw_is_the_cases_own() -> None:
    assert word() == word(proves_client=True, client_name=OURS) == []
    assert word(proves_client=True, client_name="/CN=somebody") == [
        "the server was shown the certificate of /CN=somebody, not of /CN=tlstax private client"
    ]
    assert word(proves_client=True) == ["the server was shown no client certificate, where the case has one"]
    assert word(client_name=OURS) == ["the server was shown a client certificate, where the case has none"]


def test_at_an_external_server_it_is_known_whether_there_is_one_where_the_case_says_so() -> None:
    assert word(proves_client=True, private=False, client_name="/CN=somebody") == []
    assert word(proves_client=True, private=False) != []
    assert word(private=False, named=False, client_name="/CN=somebody") == []


def test_the_bits_are_those_of_the_cipher() -> None:
    for cipher, bits in (
        ("TLS_AES_128_GCM_SHA256", 128),
        ("ECDHE-RSA-AES256-GCM-SHA384", 256),
        ("TLS_CHACHA20_POLY1305_SHA256", 256),
        ("A_CIPHER_OF_TOMORROW", 40),
    ):
        assert word(cipher=cipher, cipher_bits=bits) == []
    assert word(cipher_bits=128) == ["the server says 128 bits of TLS_AES_256_GCM_SHA384, which has 256"]
    assert word(cipher_bits=None, client_name="/CN=somebody") == []


def test_every_connection_is_held_to_its_bits_whatever_those_before_it_said() -> None:
    doubted = ["the server says 128 bits of TLS_AES_256_GCM_SHA384, which has 256"]
    assert word(cipher_bits=128, before=[{"cipher_bits": None}]) == doubted
    assert word(cipher_bits=128, before=[{"cipher_bits": 256}], private=False, named=False) == doubted
