"""Proof of settings: turns, certificate, TLS, commits and processors were as the case has it."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.checks.complete import Complete, Doubt
from tlstax.checks.verification import verified
from tlstax.study import configuration as configured
from tlstax.study import cpu_features as hidden
from tlstax.study.client_kinds.known import kind_of
from tlstax.study.cpu_features import OWN_FEATURES
from tlstax.study.level_words import key_of
from tlstax.support.text import counted

ROUNDING = 1e-6
"""By how much of itself a length may differ that was turned from milliseconds into seconds and back."""


def slices(trial: Complete) -> Iterator[Doubt]:
    """The case took turns in slices of the length that it names, or had the server to itself."""
    wanted_ms, seen = trial.case.slice_ms, trial.evidence.slices
    if wanted_ms is None:
        return
    if not wanted_ms and seen is not None:
        yield Doubt("invalid", "it took turns with others, where it was to have the server to itself")
    elif wanted_ms and (seen is None or abs(seen.length_s * 1000 - wanted_ms) > wanted_ms * ROUNDING):
        lasted = "it took no turns" if seen is None else f"its slices were of {seen.length_s * 1000:g} ms"
        yield Doubt("invalid", f"{lasted}, where it was to take turns in slices of {wanted_ms:g} ms")


def certificate(trial: Complete) -> Iterator[Doubt]:
    """Every certificate that clients saw has the key of the case.

    A session that is resumed shows none. A client that does not report the key has still proved it by
    verifying: the authority of a private server signs one certificate, and its key is thrown away. A driver
    need not verify, nor sysbench, whose client library may not: the process that answered was started with
    this certificate, and has no other.
    """
    if trial.evidence.claim is None or not trial.case.is_encrypted:
        return
    wanted = key_of(trial.case.certificate)
    views = [seen.client for seen in trial.ready.negotiated if seen.client is not None]
    shown = {view.certificate_key for view in views if view.certificate_key is not None}
    for key in sorted(shown - {wanted}):
        yield Doubt("invalid", f"the server showed a certificate with the key {key}, not {wanted}")
    if shown or "certificate" not in trial.case or any(view.resumed for view in views):
        return
    kind = kind_of(trial.case.client)
    if kind.is_driver or kind.verifies(trial.ready.client_version) is False:
        who = "driver" if kind.is_driver else "client"
        yield Doubt(
            "note", f"the {who} does not report the certificate's key; the server was started with no other"
        )
    elif verified(trial):
        yield Doubt(
            "note",
            "the client does not report the certificate's key; it verified it by an authority that signed no "
            "other",
        )
    else:
        yield Doubt("unknown", f"it is not known whether the certificate's key was {wanted}")


def tls_switch(trial: Complete) -> Iterator[Doubt]:
    """Where TLS is switched at the server, it took TLS exactly where the case has it."""
    if not trial.case.is_switched_at_server:
        return
    took, wanted = trial.server.tls_versions, trial.case.is_encrypted
    if took is None:
        yield Doubt("unknown", "it is not known whether the server took TLS")
    elif took and not wanted:
        yield Doubt("invalid", f"the server still took TLS ({took}), where it was to be turned off there")
    elif wanted and not took:
        yield Doubt("invalid", "the server took no TLS, where it was to be left on there")


def durability(trial: Complete) -> Iterator[Doubt]:
    """Commits were on the disk when the case says so, by the server's own setting."""
    wanted, seen = trial.case.durability, trial.server.durability
    if wanted is None:
        return
    if seen is None:
        yield Doubt("unknown", "it is not known when the server had a commit on the disk")
    elif seen != wanted:
        yield Doubt("invalid", f"the server's durability was {seen}, where it was to be {wanted}")


def configuration(trial: Complete) -> Iterator[Doubt]:
    """Every option that the case asks for was in force, by the server's own variables."""
    for name, wanted, seen in configured.differing(trial.case.configuration, trial.server.variables):
        if seen is None:
            yield Doubt("unknown", f"the server reports no {name}, which was to be {wanted}")
        else:
            yield Doubt("invalid", f"{name} of the server was {seen}, where it was to be {wanted}")


def cpu_features(trial: Complete) -> Iterator[Doubt]:
    """Server and client were given the variable by which the case's instructions are hidden, and no other.

    Where nothing is to be hidden, a client may have the variable from whoever started tlstax.
    """
    level = trial.case.cpu_features
    wanted = hidden.environment(level).get(hidden.VARIABLE, "")
    for who, seen in (("server", trial.server.ia32cap), ("client", trial.evidence.client_ia32cap)):
        if seen is None and level != OWN_FEATURES:
            yield Doubt("unknown", f"it is not known which instructions were hidden from the {who}")
        elif seen and level == OWN_FEATURES:
            yield Doubt("note", f"the {who}'s environment hides instructions from OpenSSL ({seen})")
        elif seen is not None and seen != wanted:
            yield Doubt(
                "invalid",
                f"{hidden.VARIABLE} of the {who} was {seen or 'not set'}, where it was to be {wanted}",
            )


def server_cpus(trial: Complete) -> Iterator[Doubt]:
    """The server could use as many processors as the case says, by the kernel's own word."""
    wanted, seen = trial.case.server_cpus, trial.server.allowed_cpus
    if wanted is None:
        return
    if seen is None:
        yield Doubt("unknown", "it is not known how many processors the server could use")
    elif seen != wanted:
        yield Doubt("invalid", f"the server could use {counted(seen, 'processor')}, not {wanted}")
