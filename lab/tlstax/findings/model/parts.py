"""What a connection and its statements are made of, as far as the parts differ in what they cost. Pure.

Costs are taken to add up: a connection in the clear, on top of it a handshake (RFC 8446, 2; RFC 5246, 7.3),
on top of that what a key and a group take more than the common ones. A resumed session proves nobody by a
certificate; in TLS 1.3 it still agrees on a key by a group (psk_dhe_ke, RFC 8446, 4.2.9), in TLS 1.2 it does
not (RFC 5246, F.1.4). Statements and their bytes cost the same whatever came before, more under TLS. What
another login or a path adds, it adds to connections and statements alike.
"""

from __future__ import annotations

from collections.abc import Mapping

from tlstax.study.level_names import DEFAULT_AUTH, DEFAULT_CERTIFICATE, DIRECT
from tlstax.study.mixes import P256, Mix

CONNECTION, STATEMENT, KIB = "connection", "statement", "KiB"
UNDER_TLS, THROUGH = " under TLS", " through "

Parts = Mapping[str, float]
"""How much of each part a mix has, by its name."""


def parts_of(mix: Mix) -> dict[str, float]:
    """The parts of one connection of the mix with all its statements."""
    kib = mix.statements * mix.answer_bytes / 1024
    parts: dict[str, float] = {CONNECTION: 1, STATEMENT: mix.statements, KIB: kib}
    if mix.path != DIRECT:
        parts |= {f"{name}{THROUGH}{mix.path}": amount for name, amount in parts.items()}
    if mix.auth != DEFAULT_AUTH:
        parts[f"login {mix.auth}"] = 1
    if mix.tls == "off":
        return parts
    resumes = mix.resumption == "on"
    parts[f"TLS {mix.tls}{' resumed' if resumes else ''}"] = 1
    if not resumes and mix.certificate != DEFAULT_CERTIFICATE:
        parts[f"key {mix.certificate}"] = 1
    if mix.group != P256 and not (resumes and mix.tls == "1.2"):
        parts[f"group {mix.group}"] = 1
    return {**parts, STATEMENT + UNDER_TLS: mix.statements, KIB + UNDER_TLS: kib}


def of_path(parts: Parts) -> dict[str, float]:
    """The parts that a path's own programs take; empty where there is none."""
    return {name: amount for name, amount in parts.items() if THROUGH in name}


def statements_alone(mix: Mix) -> dict[str, float]:
    """The parts of the mix on connections that are there already."""
    return {name: amount for name, amount in parts_of(mix).items() if name.startswith((STATEMENT, KIB))}
