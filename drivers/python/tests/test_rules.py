"""The rules that need no server: steady warm-ups, literals, sequences, options, names of failures."""

from __future__ import annotations

import json
import random
import ssl
from typing import Any

import pytest
from driver_contract.failure import Failure, failure_of
from driver_contract.job import Tls, job_of, option_of
from driver_contract.statements import Exhausted, literal, statement_of
from driver_contract.steady import Slice, is_steady


def slices(*costs_us: float) -> list[Slice]:
    return [Slice(0.1 * (number + 1), 100, 100 * cost) for number, cost in enumerate(costs_us)]


def test_five_slices_are_compared_with_the_five_before() -> None:
    assert not is_steady(slices(*([10] * 9)))
    assert is_steady(slices(*([10] * 10)))
    assert not is_steady(slices(*([10] * 5), *([9.4] * 5)))
    assert is_steady(slices(*([10] * 5), *([9.6] * 5)))
    assert is_steady(slices(*([99] * 5), *([10] * 5), *([10] * 5)))


def test_slices_in_which_nothing_was_done_are_not_steady() -> None:
    assert not is_steady([Slice(0.1, 0, 5.0)] * 10)


def test_a_literal_means_its_text_whatever_the_sql_mode() -> None:
    assert literal(-7) == "-7"
    assert literal("it's") == "'it''s'"
    assert literal("a\\") == "_utf8mb4 0x615c"


def test_values_are_put_in_where_the_braces_are() -> None:
    made = statement_of(
        {
            "sql": "SELECT '{{%}}' WHERE a BETWEEN {id} AND {high}",
            "parameters": {
                "high": {"kind": "offset", "of": "id", "by": 9},
                "id": {"kind": "uniform_int", "low": 5, "high": 5},
            },
        },
        "text",
    )
    values = made.draw(random.Random(1))
    assert made.literal(values) == "SELECT '{%}' WHERE a BETWEEN 5 AND 14"
    assert made.marked("%%") == "SELECT '{%%}' WHERE a BETWEEN %s AND %s"


def test_a_sequence_gives_each_number_once() -> None:
    made = statement_of(
        {"sql": "{id}", "parameters": {"id": {"kind": "sequence", "first": 1, "last": 2}}}, "text"
    )
    rng = random.Random(1)
    assert [made.draw(rng), made.draw(rng)] == [(1,), (2,)]
    with pytest.raises(Exhausted):
        made.draw(rng)


def test_a_placeholder_without_a_parameter_is_a_bad_job() -> None:
    for sql in ("SELECT {id}", "SELECT {", "SELECT }"):
        with pytest.raises(Failure) as refused:
            statement_of({"sql": sql}, "text")
        assert refused.value.kind == "bad_job"


def test_what_reads_as_a_value_is_one() -> None:
    words = {"true": True, "False": False, "10": 10, '{"ca": "x"}': {"ca": "x"}, "utf8mb4": "utf8mb4"}
    for word, value in words.items():
        assert option_of(word) == value


def tls_of(**tls: Any) -> Tls:
    job = {
        "schema": 2,
        "endpoint": {"kind": "tcp", "host": "h", "port": 1},
        "account": {"user": "u", "password": "p"},
        "tls": tls,
        "workload": {"statements": [{"sql": "SELECT 1"}]},
        "connections": 1,
        "duration_s": 1.0,
        "seed": 1,
    }
    return job_of(json.dumps(job)).tls


def test_tls_can_be_required_with_nothing_else_said() -> None:
    required = tls_of(mode="required", trusted_ca_file="/ca.pem")
    assert (required.mode, required.trusted_ca_file) == ("required", "/ca.pem")
    assert required.wanted
    assert not tls_of(mode="unset").wanted
    for more in ({"verify": "ca"}, {"ca_file": "/ca.pem"}, {"min_version": "1.3"}):
        with pytest.raises(Failure) as refused:
            tls_of(mode="required", **more)
        assert refused.value.kind == "bad_job"


def kind(error: Exception) -> str:
    return failure_of(error, "A driver", "geheim").kind


def test_numbers_and_causes_become_the_contracts_kinds() -> None:
    assert kind(OSError(1045, "Access denied")) == "access_denied"
    assert kind(OSError(1054, "Unknown column")) == "server_error"
    assert kind(OSError(2013, "Lost connection to server")) == "server_closed"
    assert kind(OSError(2026, "the server does not support SSL")) == "no_tls"
    assert kind(OSError(2026, "certificate verify failed")) == "certificate"
    wrapped = RuntimeError(2003, "Can't connect")
    wrapped.__cause__ = ssl.SSLCertVerificationError("self-signed")
    assert kind(wrapped) == "certificate"


def test_the_password_is_not_repeated() -> None:
    assert "geheim" not in failure_of(OSError(1045, "no geheim"), "A driver", "geheim").message
