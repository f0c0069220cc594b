"""Drivers of which something is known, made up: what was measured of one, with something changed."""

from __future__ import annotations

from typing import Any

from tlstax.topics.inspection.known_drivers import KnownDriver, KnownDrivers, KnownLogin

SUITES = (
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "AES128-GCM-SHA256",
)


def login(server: str = "mysql-9.7", plugin: str = "caching_sha2_password", **more: Any) -> KnownLogin:
    return KnownLogin.model_validate({"server": server, "plugin": plugin, "encrypts": True, **more})


def known_driver(name: str = "driver-1", **more: Any) -> KnownDriver:
    """A driver that connects to any server of today's, unless something else is said."""
    fields = {
        "name": name,
        "product": "Driver",
        "version": "1",
        "language": "C",
        "client_version": "1.0",
        "can_require": True,
        "versions": {"mysql-9.7": ("TLS 1.2", "TLS 1.3")},
        "cipher_suites": SUITES,
        "groups": ("x25519", "secp256r1"),
        "signatures": ("rsa_pss_rsae_sha256", "ecdsa_secp256r1_sha256"),
        "takes_rsa_1024": False,
        "logins": (login(), login("mysql-5.6", "mysql_native_password", encrypts=False)),
    }
    return KnownDriver.model_validate({**fields, **more})


def known_drivers(*drivers: KnownDriver) -> KnownDrivers:
    return KnownDrivers(
        at="2026-11-27",
        tlstax_version="1",
        distribution="Debian",
        servers={
            "mysql-9.7": "9.7.4",
            "mysql-8.0": "8.0.33",
            "mysql-5.6": "5.6.24",
            "mariadb-11.8": "11.8.9-MariaDB",
        },
        drivers=drivers,
    )
