"""Cases are called what people call them, and what was negotiated is said as the libraries say it."""

import pytest

from fake_trials import crashed, fake_record, fake_run, tax_truth, whole_tax
from tlstax.checks import judge
from tlstax.plan.order import cases
from tlstax.records.trial import Trial, TrialRecord
from tlstax.stats.wording import always_hello_retry, negotiated, subject_label
from tlstax.study import Case, Level, load_study, override, parse_study
from tlstax.study.labels import full_label, group_label, label, label_levels
from tlstax.study.level_names import PATHS, path_words

CASES = cases(whole_tax())
BOTH_13 = "TLSv1.3 TLS_AES_128_GCM_SHA256 secp256r1"
PLAIN, FULL, RESUMED = (
    fake_record(Trial(block=0, position=place, case=CASES[place]), tax_truth(CASES[place]))
    for place in (5, 7, 8)
)


def test_the_cases_of_the_tax_study() -> None:
    assert [label(case) for case in CASES[:5]] == [
        "plaintext",
        "plaintext again (control)",
        "TLS 1.3",
        "TLS 1.3 resumed",
        "TLS 1.2",
    ]
    assert full_label(CASES[2]) == "TLS 1.3, point selects on kept connections, 8 connections"
    assert full_label(CASES[6]) == (
        "plaintext again (control), reconnecting for every point select, 8 connections"
    )


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ({"tls": "default"}, "TLS as the client chooses"),
        ({"tls": "1.2", "resumption": "on", "server": "mysql-9.7"}, "TLS 1.2 resumed"),
        (
            {"tls": "1.3", "auth": "mysql_native_password", "connections": 8},
            "TLS 1.3, by mysql_native_password",
        ),
        ({"tls": "1.3", "rows": 7}, "TLS 1.3, rows=7"),
        ({"tls": "unset", "auth": "default", "batch": 1}, "TLS as the driver has it"),
        ({"tls": "unset", "batch": 100}, "TLS as the driver has it, in batches of 100"),
        (
            {"tls": "unset", "option.useSSL": "false", "option.sslMode": "unset"},
            "TLS as the driver has it, useSSL=false",
        ),
        ({"tls_library": "openssl-3.5.5", "connections": 8}, "openssl-3.5.5"),
        ({"tls_library": "own", "connections": 8}, "the server's own TLS library"),
        ({"observers": "none", "instance": 2, "connections": 8}, "process 2, no observers"),
        ({"tls": "1.3", "observers": "all", "connections": 8}, "TLS 1.3, all observers"),
        ({"connections": 1}, "the baseline"),
        ({"tls": "1.3", "durability": "full"}, "TLS 1.3, a commit is on the disk"),
        ({"tls": "off", "tls_switch": "server"}, "plaintext, TLS switched at the server"),
        ({"tls": "1.3", "path": "direct"}, "TLS 1.3"),
        ({"tls": "off", "path": "unix-socket"}, "plaintext, over a Unix socket"),
        ({"tls": "off", "path": "ssh-aes256-ctr"}, "plaintext, through SSH (aes256-ctr)"),
        ({"tls": "off", "path": "ssh-chacha20-poly1305"}, "plaintext, through SSH (chacha20-poly1305)"),
        ({"tls": "off", "path": "stunnel"}, "plaintext, through stunnel"),
        ({"tls": "1.3", "path": "router-terminate"}, "TLS 1.3, through MySQL Router, which ends TLS"),
        ({"tls": "1.2", "cipher": "AES256-SHA"}, "TLS 1.2, AES256-SHA"),
        ({"tls": "1.2", "cipher": "default"}, "TLS 1.2"),
        ({"tls": "off", "cipher": "AES256-SHA"}, "plaintext"),
    ],
)
def test_other_levels(levels: dict[str, Level], said: str) -> None:
    assert label_levels(levels) == label(Case(levels=levels, role="treatment")) == said


def test_groups() -> None:
    assert group_label({"connections": 1}) == "1 connection"
    assert group_label({}) == ""


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ({"group": "P-256-first"}, "P-256 first"),
        ({"group": "X25519"}, "X25519 alone"),
        ({"group": "default"}, "groups as the client chooses"),
        ({"rtt_ms": 45}, "45 ms away"),
        ({"rtt_ms": 0.5}, "0.5 ms away"),
        ({"rtt_ms": 0}, "on the same machine"),
        ({"rtt_ms": 45, "jitter_ms": 5, "rate_mbit": 1000}, "45 ms away, ±5 ms of jitter, at 1,000 Mbit/s"),
        ({"rtt_ms": 45, "jitter_ms": 0, "rate_mbit": 0}, "45 ms away, no jitter, at any rate"),
        ({"rtt_ms": 0, "jitter_ms": 0, "rate_mbit": 0}, "on the same machine"),
    ],
)
def test_a_group_says_what_is_offered_and_how_far_it_is(levels: dict[str, Level], said: str) -> None:
    assert group_label({"tls": "1.3", **levels}) == group_label(levels) == said


def test_every_path_has_words_of_its_own() -> None:
    assert len({path_words(path) for path in PATHS}) == len(PATHS)
    assert all(path not in path_words(path).split() for path in PATHS if path != "stunnel")


def test_a_distance_that_is_there_everywhere_does_not_go_without_saying() -> None:
    far = override(whole_tax(), "rtt_ms", ["45"])
    assert all("45 ms away" in full_label(case, far) for case in cases(far))
    assert subject_label(cases(far)[0].levels, far) == "45 ms away"
    near = override(whole_tax(), "rtt_ms", ["0"])
    assert not any("on the same machine" in full_label(case, near) for case in cases(near))
    both = override(whole_tax(), "rtt_ms", ["0", "45"])
    said = [full_label(case, both) for case in cases(both)]
    assert all(("on the same machine" in words) != ("45 ms away" in words) for words in said)


def test_a_path_that_names_the_case_is_said_of_it() -> None:
    study = override(whole_tax(), "path", ["direct", "stunnel"])
    first = {**study.baseline, "path": "direct"}
    named = study.model_copy(
        update={
            "baseline": first,
            "treatments": (first, {**first, "path": "stunnel"}),
            "factors": {name: known for name, known in study.factors.items() if name != "path"},
        }
    )
    assert [label(case, named) for case in cases(named)[:3]] == [
        "plaintext",
        "plaintext again (control)",
        "plaintext, through stunnel",
    ]
    assert subject_label({**first, "path": "stunnel"}, named) == "through stunnel"


VERSIONS = load_study("openssl-versions")


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ({"server": "mysql-9.7", "tls_library": "own", "instance": 1}, "mysql-9.7"),
        ({"server": "mysql-9.7", "tls_library": "openssl-3.4"}, "mysql-9.7 over openssl-3.4"),
        (
            {"server": "mysql-9.7", "tls_library": "openssl-3.0", "instance": 2, "connections": 1},
            "mysql-9.7 over openssl-3.0, a second one, 1 connection",
        ),
        ({"instance": 1}, "the first process"),
        ({"instance": 3}, "process 3"),
        ({"client_tls_library": "openssl-3.0"}, "client over openssl-3.0"),
        ({"server": "mysql-9.7", "certificate": "ec-p256"}, "mysql-9.7, EC P-256 certificate"),
    ],
)
def test_a_group_names_the_server_that_its_cases_share(levels: dict[str, Level], said: str) -> None:
    assert group_label({"tls": "off", **levels}) == group_label(levels) == said


def test_a_study_over_libraries_names_its_cases_by_them_and_its_groups_by_the_rest() -> None:
    study = parse_study(
        """
        name = "libraries"
        title = "t"
        question = "q"
        baseline = { tls_library = "openssl-3.0" }
        [factors]
        server = ["mysql-9.7", "mariadb-11.8"]
        tls_library = ["openssl-3.0", "openssl-3.5.5"]
        tls = ["1.3"]
        workload = ["reconnect"]
        connections = [8]
        """,
        where="libraries.toml",
    )
    assert [full_label(case, study) for case in cases(study)[:3]] == [
        f"{name}, TLS 1.3, mysql-9.7, reconnecting for every point select, 8 connections"
        for name in ("openssl-3.0", "openssl-3.0 again (control)", "openssl-3.5.5")
    ]
    assert label_levels({"tls_library": "openssl-3.5.5", "tls": "1.3"}, study) == "openssl-3.5.5"


def test_plaintext_has_no_certificate_and_tls_is_named_by_its() -> None:
    study = parse_study(
        """
        name = "keys"
        title = "t"
        question = "q"
        baseline = { tls = "off", certificate = "rsa-2048" }
        treatments = [
            { tls = "off", certificate = "rsa-2048" },
            { tls = "1.3", certificate = "rsa-2048" },
            { tls = "1.3", certificate = "rsa-4096" },
        ]
        [factors]
        server = ["mysql-9.7", "mysql-8.0.33"]
        workload = ["reconnect"]
        connections = [8]
        """,
        where="keys.toml",
    )
    assert [label(case, study) for case in cases(study)[:4]] == [
        "plaintext",
        "plaintext again (control)",
        "TLS 1.3, RSA 2048 certificate",
        "TLS 1.3, RSA 4096 certificate",
    ]
    assert subject_label(cases(study)[3].levels, study) == "mysql-9.7, RSA 4096 certificate"
    assert subject_label(cases(study)[0].levels, study) == "mysql-9.7"
    assert cases(study)[3].levels.server_choice.words() == "mysql-9.7 with an RSA 4096 certificate"


def test_what_has_one_level_in_the_whole_study_is_not_said_of_each_case() -> None:
    first = cases(VERSIONS)[0]
    assert first.levels["client_tls_library"] == "openssl-3.5.5"
    assert "client" not in full_label(first, VERSIONS)
    assert full_label(first, VERSIONS).startswith("plaintext, mysql-9.7 over openssl-3.0.2, point selects")
    assert "client over openssl-3.5.5" in full_label(first)


def test_no_two_cases_of_a_study_are_called_the_same() -> None:
    named = [full_label(case, VERSIONS) for case in cases(VERSIONS)]
    assert len(set(named)) == len(named)


def test_what_was_negotiated() -> None:
    assert negotiated([PLAIN]) == "plaintext"
    assert negotiated([RESUMED, RESUMED]) == f"{BOTH_13}, resumed, after a HelloRetryRequest"
    assert negotiated([FULL, RESUMED]) == (
        f"{BOTH_13}, after a HelloRetryRequest; {BOTH_13}, resumed, after a HelloRetryRequest"
    )
    assert negotiated([crashed(FULL.trial)]) == ""


def _retried(record: TrialRecord, *, retried: bool) -> TrialRecord:
    assert record.done is not None
    seen = tuple(h.model_copy(update={"hello_retry": retried}) for h in record.done.lifetime.handshakes)
    lifetime = record.done.lifetime.model_copy(update={"handshakes": seen})
    return record.model_copy(update={"done": record.done.model_copy(update={"lifetime": lifetime})})


def test_hello_retry_is_noted_only_when_every_handshake_met_it() -> None:
    assert always_hello_retry([FULL, RESUMED])
    assert not always_hello_retry([FULL, _retried(RESUMED, retried=False)])
    assert not always_hello_retry([PLAIN])
    assert not always_hello_retry([crashed(FULL.trial)])


def test_fake_trials_pass_the_checks_that_real_ones_must_pass() -> None:
    """Or the tests that lean on them would test another world."""
    for record in fake_run(number_of_blocks=1, noise=0.0, invalid=False).trials:
        assert judge(record).model_dump() == {"value": "valid", "reasons": (), "notes": ()}


def test_who_one_is_is_said_where_it_is_not_as_usual() -> None:
    study = load_study("identity")
    usual = {"tls": "1.3", "certificate": "ec-p256", "chain": 1, "client_certificate": "off"}
    assert label_levels(usual, study) == "TLS 1.3, EC P-256 certificate"
    assert label_levels({**usual, "chain": 3}, study) == "TLS 1.3, EC P-256 certificate, a chain of 3"
    with_one = label_levels({**usual, "client_certificate": "on", "certificate": "mldsa65"}, study)
    assert with_one == "TLS 1.3, ML-DSA-65 certificate, with a client certificate"
    assert label_levels({"tls": "off", "chain": 3, "client_certificate": "on"}, study) == "plaintext"
    study = load_study("trust")
    assert label_levels({"trust": 1}, study) == "trusting one authority"
    assert label_levels({"trust": 512}, study) == "trusting a file of 512 authorities"
