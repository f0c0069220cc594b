"""How a server's certificate, what is planted in it, and a twin are named."""

from __future__ import annotations

from tlstax.study import cpu_features
from tlstax.study.cpu_features import OWN_FEATURES
from tlstax.study.level_names import COUNT_LOCKS, GROUPS_LIFTED, MLDSA, NO_BURN, NO_FAULT, Level

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
