"""What levels are called in words: certificates, groups, paths, what is planted in a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tlstax.study import cpu_features
from tlstax.study.cpu_features import OWN_FEATURES
from tlstax.study.level_names import (
    COUNT_LOCKS,
    DIRECT,
    GROUP_LISTS,
    GROUPS_LIFTED,
    MLDSA,
    NO_BURN,
    NO_FAULT,
    UNIX_SOCKET,
    Level,
)

VARIANT_WORDS = {
    GROUPS_LIFTED: "its TLS groups lifted (a variant of ours)",
    COUNT_LOCKS: "its locks counted (a variant of ours)",
}
"""What is different in a server that is a variant of ours."""


def planted_words(fault: Level) -> str:
    """What is planted in a server, or makes a variant of it, to be put behind its name."""
    return "" if fault == NO_FAULT else f" with {changed_words(fault)}"


def changed_words(fault: Level) -> str:
    """What we have changed of a server: "rand-per-byte planted"."""
    return VARIANT_WORDS.get(str(fault), f"{fault} planted")


def burn_words(burn: Level) -> str:
    """What the fault `burn` is asked for: "nothing burned", "400 ns burned"."""
    return "nothing burned" if burn == NO_BURN else f"{int(str(burn).removesuffix('ns')):,} ns burned"


def features_words(features: Level) -> str:
    """Which instructions are hidden from a server and its client, to be put behind the server's name."""
    return "" if features == OWN_FEATURES else f", {cpu_features.words(str(features))}"


def certificate_words(certificate: Level) -> str:
    """A certificate by its key: "an RSA 4096 certificate"."""
    return f"an {key_of(certificate)} certificate"


def chain_words(chain: Level) -> str:
    """How many certificates a server sends: "its certificate alone", "a chain of 3"."""
    return "its certificate alone" if int(chain) == 1 else f"a chain of {chain}"


def trust_words(trust: Level) -> str:
    """What a client is given to trust: "one authority", "a file of 128 authorities"."""
    return "one authority" if int(trust) == 1 else f"a file of {int(trust):,} authorities"


def key_of(certificate: Level) -> str:
    """A certificate's key as clients report it: "RSA 4096", "EC P-256", "ED25519", "ML-DSA-65"."""
    kind, _, size = str(certificate).partition("-")
    if kind in MLDSA:
        return f"ML-DSA-{kind.removeprefix('mldsa')}"
    return f"{kind.upper()} {size.upper().replace('P', 'P-')}".rstrip()


def twin_words(instance: Level) -> str:
    """What distinguishes a twin from the first process of its kind, to be put behind a server's name."""
    number = int(instance)
    return {1: "", 2: ", a second one"}.get(number, f", number {number}")


def cipher_words(level: Level) -> str:
    """The only cipher suite that a client offers, or any."""
    return "any cipher" if level == "default" else str(level)


def offered_words(level: Level) -> str:
    """The groups that a client offers: "P-256 alone", "P-256 first"."""
    if level == "default":
        return "groups as the client chooses"
    return f"{str(level).removesuffix('-first')} {'first' if level in GROUP_LISTS else 'alone'}"


def client_certificate_words(level: Level) -> str:
    """Whether a client proves itself by a certificate."""
    return "with a client certificate" if level == "on" else "no client certificate"


PATHS = {
    DIRECT: "directly",
    UNIX_SOCKET: "over a Unix socket",
    "stunnel": "through stunnel",
    "haproxy": "through HAProxy",
    "haproxy-tls": "through a pair of HAProxy with TLS between them",
    "router-terminate": "through MySQL Router, which ends TLS",
    "router-passthrough": "through MySQL Router, which passes TLS on",
    "router-reencrypt": "through MySQL Router, which ends TLS and begins it anew",
    "router-encrypt": "through MySQL Router, which begins TLS",
}
"""What carries the bytes; those through SSH are named by their cipher."""


def path_words(level: Level) -> str:
    """What carries the bytes: "through SSH (aes256-ctr)"."""
    kind, _, suite = str(level).partition("-")
    return f"through SSH ({suite})" if kind == "ssh" else PATHS.get(str(level), f"through {level}")


DURABILITY = {
    "full": "a commit is on the disk",
    "write": "a commit is with the operating system",
    "none": "a commit waits in the server",
}
"""What the levels of `durability` mean to someone whose server loses power."""

TLS_SWITCH = {"client": "TLS switched at the client", "server": "TLS switched at the server"}


def _listed(words: Mapping[str, str]) -> Callable[[Level], str]:
    return lambda level: words.get(str(level), str(level))


durability_words = _listed(DURABILITY)
tls_switch_words = _listed(TLS_SWITCH)
compression_words = _listed(
    {"off": "not compressed", "zlib": "compressed by zlib", "zstd": "compressed by zstd"}
)
protocol_words = _listed({"default": "as each workload has it", "text": "as text", "prepared": "prepared"})
tls_context_words = _listed(
    {"shared": "one TLS context for all connections", "each": "a TLS context for each connection"}
)
observers_words = _listed({"all": "all observers", "none": "no observers"})
