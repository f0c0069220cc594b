"""Compression as a factor: what its cases ask of a client, what they are called, and who cannot do them."""

from __future__ import annotations

import pytest

from left_out import why_left_out, why_no_path
from tlstax.plan.order import cases
from tlstax.study import Level, load_study, override
from tlstax.study.labels import group_label, label, label_levels
from tlstax.support.errors import UserMistake

STUDY = load_study("compression")


def test_the_study_crosses_it_with_tls() -> None:
    crossed = {(case.tls, case.compression) for case in STUDY.included()}
    assert crossed == {(tls, how) for tls in ("off", "1.3") for how in ("off", "zlib", "zstd")}


def test_its_cases_are_called_by_it() -> None:
    plain, packed = ({"tls": "off", "compression": "off"}, {"tls": "1.3", "compression": "zlib"})
    assert label_levels(plain, STUDY) == "plaintext, not compressed"
    assert label_levels(packed, STUDY) == "TLS 1.3, compressed by zlib"


def test_any_study_takes_it_and_names_it_where_it_is_not_off() -> None:
    tax = override(load_study("tax"), "compression", ("zstd",))
    case = next(iter(tax.included()))
    assert "compressed by zstd" in group_label(case, tax)
    off = override(load_study("tax"), "compression", ("off",))
    assert "compressed" not in group_label(next(iter(off.included())), off)
    with pytest.raises(UserMistake) as caught:
        override(load_study("tax"), "compression", ("lz4",))
    assert "allowed are off, zlib, zstd" in caught.value.sentence()


@pytest.mark.parametrize("client", ["sysbench", "mysqlslap-9.7", "pymysql-1.2", "libmariadb-3.4"])
def test_clients_that_are_not_told_of_it_are_left_out_with_a_reason(client: str) -> None:
    levels: dict[str, Level] = {"tls": "off", "client": client, "compression": "zlib"}
    assert why_left_out(levels) == f"{client} is not told by tlstax to compress, nor asked whether it does"
    assert why_left_out({**levels, "client": "engine"}) == ""


def test_what_repeats_one_value_is_not_compressed() -> None:
    levels: dict[str, Level] = {"tls": "off", "compression": "zlib", "workload": "connect-rows-1x5000"}
    words = why_left_out(levels)
    assert words == "connect-rows-1x5000 repeats one value, of which compression would leave nothing"
    assert why_left_out({**levels, "compression": "off"}) == ""


def test_a_path_that_speaks_for_the_client_is_left_out() -> None:
    def why(path: str) -> str:
        return why_no_path({"tls": "1.3", "path": path, "compression": "zlib"})

    assert why("router-reencrypt") == "router-reencrypt compresses towards the server as it sees fit"
    assert why("router-passthrough") == why("stunnel") == ""


def test_the_label_of_a_case_has_it() -> None:
    names = {label(case, STUDY) for case in cases(STUDY)}
    assert "TLS 1.3, compressed by zstd" in names
