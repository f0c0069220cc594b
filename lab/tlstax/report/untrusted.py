"""What servers and clients say of themselves, made harmless for a terminal or a text file."""

from __future__ import annotations

import unicodedata

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def printable(text: str) -> str:
    """The text on one line, without characters that steer a terminal or turn the writing around.

    Controls and formatting characters (Unicode's Cc, Cf, Cs, Co) show as a replacement character, line
    breaks and tabs as a space.
    """
    # Most texts are; Python's test for that knows the categories in a tenth of the time.
    return text if text.isprintable() else "".join(_printable(character) for character in text)


def _printable(character: str) -> str:
    if character in "\t\n\r\v\f\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}":
        return " "
    return REPLACEMENT if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co"} else character
