"""Processors of other years: the instructions that a level of `cpu_features` hides from OpenSSL.

OpenSSL asks the processor what it has when it is loaded, and the variable OPENSSL_ia32cap takes some of that
away (OPENSSL_ia32cap(3)): numbers of 64 bits, divided by colons, each of which after "~" names the bits to be
cleared. AWS-LC, which the engine's own TLS is made of, reads the first two alike. Nothing is hidden from the
rest of a program: its C library, checksums and all else use what there is.
"""

from __future__ import annotations

from collections.abc import Sequence

VARIABLE = "OPENSSL_ia32cap"

OWN_FEATURES = "own"
"""The level of `cpu_features` that hides nothing."""

_WORDS = 5
"""How many numbers OpenSSL 4.0 has. Those that are left out of the variable it takes for zero."""

_BITS = {
    "PCLMULQDQ": (0, 33),
    "FMA": (0, 44),
    "AES": (0, 57),
    "AVX": (0, 60),
    "BMI1": (1, 3),
    "AVX2": (1, 5),
    "BMI2": (1, 8),
    "AVX512F": (1, 16),
    "AVX512DQ": (1, 17),
    "ADX": (1, 19),
    "AVX512IFMA": (1, 21),
    "AVX512CD": (1, 28),
    "SHA": (1, 29),
    "AVX512BW": (1, 30),
    "AVX512VL": (1, 31),
    "AVX512VBMI": (1, 33),
    "AVX512VBMI2": (1, 38),
    "GFNI": (1, 40),
    "VAES": (1, 41),
    "VPCLMULQDQ": (1, 42),
    "AVXIFMA": (2, 55),
    "AVX10": (3, 19),
}
"""Of each feature the number and the bit in it: leaves 1 and 7 of cpuid as OPENSSL_ia32cap(3) has them."""

_IFMA = ("AVX512IFMA", "AVXIFMA")
_AVX512 = (
    *_IFMA,
    "AVX512F",
    "AVX512DQ",
    "AVX512CD",
    "AVX512BW",
    "AVX512VL",
    "AVX512VBMI",
    "AVX512VBMI2",
    "AVX10",
)
_AVX2 = (*_AVX512, "AVX2", "BMI1", "BMI2", "FMA", "ADX", "SHA", "GFNI", "VAES", "VPCLMULQDQ")
_AES = (*_AVX2, "AVX", "AES", "PCLMULQDQ")

HIDDEN: dict[str, tuple[str, ...]] = {
    OWN_FEATURES: (),
    "no-ifma": _IFMA,
    "no-avx512": _AVX512,
    "no-avx2": _AVX2,
    "no-aesni": _AES,
}
"""Levels of `cpu_features` and what each hides: everything that came with it or later.

Without IFMA are servers of 2017 (Skylake), without AVX-512 those of 2013 (Haswell) and AMD's until 2021,
without AVX2 those of 2011 (Sandy Bridge), without AES-NI those before 2010."""


def environment(level: str) -> dict[str, str]:
    """What a program is to find in its environment, empty where nothing is hidden."""
    hidden = HIDDEN[level]
    return {VARIABLE: ":".join(f"~{word:#x}" for word in _words(hidden))} if hidden else {}


def still_there(level: str, capabilities: Sequence[int]) -> tuple[str, ...]:
    """The features that the level hides and that these numbers, as OpenSSL prints them, have all the same."""
    return tuple(
        name
        for name in HIDDEN[level]
        for word, bit in [_BITS[name]]
        if word < len(capabilities) and capabilities[word] >> bit & 1
    )


def words(level: str) -> str:
    """What it is called: "without AVX2 and what came later"."""
    named = {"ifma": "IFMA", "avx512": "AVX-512", "avx2": "AVX2", "aesni": "AES-NI"}
    hidden = level.removeprefix("no-")
    return f"without {named[hidden]} and what came later" if level != OWN_FEATURES else "all instructions"


def _words(hidden: Sequence[str]) -> list[int]:
    numbers = [0] * _WORDS
    for word, bit in (_BITS[name] for name in hidden):
        numbers[word] |= 1 << bit
    return numbers
