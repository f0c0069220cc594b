"""Proof of settings: turns, TLS, commits, processors, and what both sides proved themselves by.

The client's library says how many certificates came, how many authorities it had loaded to verify them, and
whether it signed the handshake itself; the server says whether it lets the account in without. A driver says
none of it: it was given these files and no others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tlstax.checks.complete import Complete, Doubt
from tlstax.checks.verification import verified
from tlstax.contract import TlsView
from tlstax.study import configuration as configured
from tlstax.study import cpu_features as hidden
from tlstax.study import tls_levels
from tlstax.study.client_kinds import kind_of
from tlstax.study.cpu_features import OWN_FEATURES
from tlstax.study.level_names import EACH, PRIVATE_CLIENT, chain_words, key_of, trust_words
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


def chain(trial: Complete) -> Iterator[Doubt]:
    """The server sent as many certificates as the case has it; a resumed session shows none."""
    wanted = trial.case.chain
    if wanted is None or not trial.case.is_encrypted:
        return
    views = _views(trial)
    sent = {view.certificates_sent for view in views if view.certificates_sent is not None}
    for count in sorted(sent - {wanted}):
        yield Doubt(
            "invalid", f"the server sent {chain_words(count)}, where the case has {chain_words(wanted)}"
        )
    if not sent and not any(view.resumed for view in views):
        yield _unseen(trial, f"the server sent {chain_words(wanted)}")


def trust(trial: Complete) -> Iterator[Doubt]:
    """The client had loaded as many authorities as the case has it."""
    wanted = trial.case.trust
    if wanted is None or not trial.case.is_encrypted:
        return
    loaded = {view.authorities for view in _views(trial) if view.authorities is not None}
    for count in sorted(loaded - {wanted}):
        yield Doubt(
            "invalid", f"the client trusted {trust_words(count)}, where the case has {trust_words(wanted)}"
        )
    if not loaded:
        yield _unseen(trial, f"the client trusted {trust_words(wanted)}")


LEAST_PEM_BYTES, FEWEST_READ = 300, 16
"""A certificate with the shortest key and signature (Ed25519) has more bytes than that as PEM. With
fewer than this many authorities, what a client reads otherwise may be as much."""


def context(trial: Complete) -> Iterator[Doubt]:
    """The client read its authorities for each connect exactly where the case has a TLS context for each.

    The kernel counts what a process reads from files.
    """
    count, window = trial.case.trust, trial.evidence.window
    connects = trial.evidence.watched_operations
    if "tls_context" not in trial.case or not trial.case.is_encrypted or not trial.case.reconnects:
        return
    read = None if window is None or window.client is None else window.client.counters.get("read_bytes")
    if count is None or count < FEWEST_READ or not connects:
        return
    if read is None:
        yield Doubt("unknown", "it is not known how often the client read its authorities")
        return
    wanted, each = trial.case.tls_context == EACH, read / connects >= count * LEAST_PEM_BYTES
    if wanted != each:
        how = "for each connect" if each else "fewer times than it connected"
        yield Doubt("invalid", f"the client read its authorities {how}, where the case has it otherwise")


def client_certificate(trial: Complete) -> Iterator[Doubt]:
    """The client proved itself by a certificate exactly where the case has it, and the server demanded it.

    A session that is resumed stands for the proof of the one before (RFC 8446, 4.6.1).
    """
    if "client_certificate" not in trial.case or not trial.case.is_encrypted:
        return
    wanted, demanded = trial.case.proves_client, trial.server.demands_certificate
    if demanded is None:
        yield Doubt("unknown", "it is not known whether the server demanded a client certificate")
    elif demanded != wanted:
        how = "demanded a" if demanded else "demanded no"
        yield Doubt("invalid", f"the server {how} client certificate, where the case has it otherwise")
    full = [view for view in _views(trial) if not view.resumed]
    shown = {view.client_certificate for view in full if view.client_certificate is not None}
    if wanted not in shown and shown:
        which = (
            "no client proved itself by a certificate"
            if wanted
            else "a client proved itself by a certificate"
        )
        yield Doubt("invalid", f"{which}, where the case has it otherwise")
    elif len(shown) > 1:
        yield Doubt("invalid", "some connections proved themselves by a certificate, and others did not")
    elif not shown and full:
        yield _unseen(
            trial, "a client certificate was shown" if wanted else "no client certificate was shown"
        )


def server_word(trial: Complete) -> Iterator[Doubt]:
    """What PostgreSQL's server says of a connection beside its version: the cipher's bits, the client's name.

    The bits are those of the cipher that it names itself. A private server's clients have one certificate, of
    a known name, where the case has one; whether clients of others have one is known where the case says so.
    Where something stands between, the connection that the server sees may not be the client's.
    """
    if not tls_levels.is_of_client(trial.case):
        return
    is_private = trial.evidence.claim is not None
    for seen in trial.ready.negotiated:
        view = seen.server
        if view is None or view.cipher_bits is None:
            continue
        bits = _bits_of(view.cipher)
        if bits is not None and view.cipher_bits != bits:
            said = f"the server says {view.cipher_bits} bits of {view.cipher}"
            yield Doubt("invalid", f"{said}, which has {bits}")
        if not is_private and "client_certificate" not in trial.case:
            continue
        name, wanted = view.client_name, trial.case.proves_client
        if wanted != (name is not None):
            shown, has = ("a client", "none") if name is not None else ("no client", "one")
            yield Doubt("invalid", f"the server was shown {shown} certificate, where the case has {has}")
        elif is_private and wanted and name != PRIVATE_CLIENT_DN:
            yield Doubt(
                "invalid", f"the server was shown the certificate of {name}, not of {PRIVATE_CLIENT_DN}"
            )


PRIVATE_CLIENT_DN = f"/CN={PRIVATE_CLIENT}"
"""As `pg_stat_ssl` shows the name in the certificate that clients of private servers have."""

_BITS = re.compile(r"(?:AES|CAMELLIA|ARIA)_?(128|256)|CHACHA20")


def _bits_of(cipher: str) -> int | None:
    """How many bits its key has, by its name; None where that does not tell.

    Source: OpenSSL's ciphers(1), by which AES128 and AES256 are what they say and CHACHA20 has 256.
    """
    found = _BITS.search(cipher)
    return int(found[1] or 256) if found is not None else None


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


CHECKS = (
    *(slices, certificate, chain, trust, context, client_certificate, server_word),
    *(tls_switch, durability, cpu_features, configuration, server_cpus),
)
"""What holds a trial to its settings, in the order in which it is told."""


def _views(trial: Complete) -> list[TlsView]:
    return [seen.client for seen in trial.ready.negotiated if seen.client is not None]


def _unseen(trial: Complete, what: str) -> Doubt:
    """What the client does not report: taken on trust of drivers, whose files the laboratory made."""
    if kind_of(trial.case.client).is_driver:
        return Doubt("note", f"the driver does not report that {what}; it was given no other files")
    return Doubt("unknown", f"it is not known whether {what}")
