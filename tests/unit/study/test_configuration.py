"""A server's own options as a level: those that keep it in its place cannot be had, under any spelling."""

from __future__ import annotations

import pytest

from tlstax.study.configuration import AS_IT_COMES, arguments, differing, options_of, why_not, words


def test_options_become_arguments_and_words() -> None:
    level = "performance_schema=OFF innodb_buffer_pool_size=256M"
    assert why_not(level) is None
    assert arguments(level) == ("--performance-schema=OFF", "--innodb-buffer-pool-size=256M")
    assert words(level) == " with performance_schema=OFF and innodb_buffer_pool_size=256M"
    assert (options_of(AS_IT_COMES), arguments(AS_IT_COMES), words(AS_IT_COMES)) == ({}, (), "")


@pytest.mark.parametrize(
    "name",
    [
        "bind_address",
        "bind-addr",
        "skip_networking",
        "skip-grant-tables",
        "loose-skip-grant",
        "init_file",
        "ssl_key",
        "tls_version",
        "plugin_load_add",
        "early-plugin-load",
        "port",
        "por",
        "user",
        "datadir",
        "admin_address",
        "mysqlx_bind_address",
        "local_infile",
        "secure_file_priv",
    ],
)
def test_a_private_server_stays_in_its_place(name: str) -> None:
    assert why_not(f"{name}=1") == f"{name} keeps a private server in its place"
    assert why_not(f"performance_schema=OFF {name}=1") is not None


def test_on_which_groups_a_postgresql_agrees_keeps_it_in_its_place() -> None:
    assert why_not("ssl_groups=X25519:prime256v1") is None
    assert why_not("ssl-ecdh-curve=secp384r1") is None
    assert why_not("ssl_group=x") is not None


@pytest.mark.parametrize(
    "level", ["", "x", "=1", "x=", "a=1  b=2", "a=1\nb=2", "--a=1", "a=1 b", "a-b=1 a_b=2"]
)
def test_what_is_no_option_with_a_value_is_refused(level: str) -> None:
    assert why_not(level) is not None


def test_what_is_in_force_may_be_spelled_in_another_way() -> None:
    level = "performance-schema=off innodb_buffer_pool_size=256M long_query_time=10"
    variables = {
        "performance_schema": "OFF",
        "innodb_buffer_pool_size": "268435456",
        "long_query_time": "10.000000",
    }
    assert list(differing(level, variables)) == []
    assert list(differing(level, {**variables, "performance_schema": "ON"})) == [
        ("performance-schema", "off", "ON")
    ]
    assert list(differing("nosuch=1", {})) == [("nosuch", "1", None)]
