"""What the drivers share: where to and as whom, the job's own options, libpq's words, an `ssl.SSLContext`."""

from __future__ import annotations

import ast
import json
import ssl
from typing import Any

from failures import Refused

Settings = dict[str, Any]
VERSIONS = {
    "1.0": ssl.TLSVersion.TLSv1,
    "1.1": ssl.TLSVersion.TLSv1_1,
    "1.2": ssl.TLSVersion.TLSv1_2,
    "1.3": ssl.TLSVersion.TLSv1_3,
}


SSL_MODES = {"none": "require", "ca": "verify-ca", "identity": "verify-full"}
"""How much of a certificate is verified, and libpq's word for it."""

LIBPQ_VERSIONS = {"1.0": "TLSv1", "1.1": "TLSv1.1", "1.2": "TLSv1.2", "1.3": "TLSv1.3"}


def settings_of(terms: dict[str, Any], tls: Settings) -> Settings:
    """The keyword arguments for `connect`; the job's own options come last."""
    account, endpoint = terms["account"], terms["endpoint"]
    settings: Settings = {"user": account["user"], "password": account["password"]}
    if account["database"] is not None:
        settings["database"] = account["database"]
    if endpoint["kind"] == "unix":
        settings["unix_socket"] = endpoint["path"]
    else:
        settings |= {"host": endpoint["host"], "port": endpoint["port"]}
    return settings | tls | {name: option_of(word) for name, word in terms["options"].items()}


def option_of(word: str) -> Any:
    """An option's value: what reads as JSON or as a Python literal is that, anything else is text."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(word)
        except (ValueError, SyntaxError):
            continue
    return word


def given(words: dict[str, str | None]) -> Settings:
    """Those that say something."""
    return {name: word for name, word in words.items() if word}


def libpq_words(tls: dict[str, Any]) -> Settings:
    """What libpq is told of TLS, by its own words ("Parameter Key Words"); others have taken them over."""
    if tls["mode"] == "unset":
        return {}
    if tls["mode"] == "off":
        return {"sslmode": "disable"}
    if tls["mode"] == "required":
        return {"sslmode": "require"}
    if tls["verify"] != "none" and tls["ca_file"] is None:
        raise Refused("tls.ca_file: this driver verifies only with a file of CAs")
    words = {"sslmode": SSL_MODES[tls["verify"]]}
    words |= given({"sslrootcert": tls["ca_file"] if tls["verify"] != "none" else None})
    words |= given({"sslcert": tls["certificate_file"], "sslkey": tls["key_file"]})
    if tls["versions"]:
        lowest, highest = tls["versions"][0], tls["versions"][-1]
        words["ssl_min_protocol_version"] = LIBPQ_VERSIONS[lowest]
        words["ssl_max_protocol_version"] = LIBPQ_VERSIONS[highest]
    if tls["direct"]:
        words["sslnegotiation"] = "direct"
    return words


def libpq_settings(terms: dict[str, Any], database: str) -> Settings:
    """The keyword arguments for `connect` of a driver that takes libpq's; `database` is its word for that.

    A Unix socket is its folder, with the port that its name ends with ("Connection Strings").
    """
    account, endpoint = terms["account"], terms["endpoint"]
    settings: Settings = {"user": account["user"], "password": account["password"]}
    if account["database"] is not None:
        settings[database] = account["database"]
    if endpoint["kind"] == "unix":
        folder, _, port = endpoint["path"].rpartition("/.s.PGSQL.")
        return settings | {"host": folder, "port": int(port)}
    return settings | {"host": endpoint["host"], "port": endpoint["port"]}


def context_of(tls: dict[str, Any]) -> ssl.SSLContext:
    """A context for all connections, for a driver that takes no word on versions itself."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = tls["verify"] == "identity"
    context.verify_mode = ssl.CERT_NONE if tls["verify"] == "none" else ssl.CERT_REQUIRED
    if tls["versions"]:
        context.minimum_version = VERSIONS[tls["versions"][0]]
        context.maximum_version = VERSIONS[tls["versions"][-1]]
    try:
        if tls["ca_file"] is not None:
            context.load_verify_locations(tls["ca_file"])
        if tls["certificate_file"] is not None:
            context.load_cert_chain(tls["certificate_file"], tls["key_file"])
    except OSError as error:
        raise Refused(f"tls: a file of the job cannot be read ({error.strerror or error})") from None
    return context
