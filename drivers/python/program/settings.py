"""What the drivers of PEP 249 share: where to and as whom, the job's own options, an `ssl.SSLContext`."""

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


def context_of(tls: dict[str, Any]) -> ssl.SSLContext:
    """A context for all connections, for a driver that takes no word on versions itself."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = tls["verify"] == "identity"
    context.verify_mode = ssl.CERT_NONE if tls["verify"] == "none" else ssl.CERT_REQUIRED
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
