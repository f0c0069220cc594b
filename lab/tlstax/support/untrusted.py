"""What servers and clients say of themselves, made harmless for a terminal or a text file."""

from __future__ import annotations

import re
import unicodedata

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_LINE_END = re.compile(r"(\r?\n)")

_LINE_END_OR_COLOUR = re.compile(r"(\r?\n|\x1b\[[\d;]*m)")
"""Select Graphic Rendition (ECMA-48, 8.3.117) is all that a coloured text of ours steers a terminal by."""

_BEYOND_ASCII = re.compile(r"[^\x00-\x7e]+")
"""Also DEL, the one control of ASCII that JSON lets stand in a string."""


def printable(text: str) -> str:
    """The text on one line, without characters that steer a terminal or turn the writing around.

    Controls and formatting characters (Unicode's Cc, Cf, Cs, Co) show as a replacement character, line
    breaks and tabs as a space.
    """
    # Most texts are; Python's test for that knows the categories in a tenth of the time.
    return text if text.isprintable() else "".join(_printable(character) for character in text)


def printable_lines(text: str, *, coloured: bool = False) -> str:
    r"""The same for a text of several lines: they stay, whether they end in \n or in \r\n.

    Where a text of ours is `coloured`, its colours stay too; what others said must be printable by then.
    """
    parts = (_LINE_END_OR_COLOUR if coloured else _LINE_END).split(text)
    return "".join(part if place % 2 else printable(part) for place, part in enumerate(parts))


def escaped_json(document: str, *, in_ascii: bool = False) -> str:
    r"""A JSON document that says the same, with every such character as \uXXXX; or all that is not ASCII.

    Outside strings JSON has none of them but line breaks and blanks (RFC 8259, sections 2 and 7).
    """

    def escaped(found: re.Match[str]) -> str:
        return "".join(own if own.isprintable() and not in_ascii else _by_number(own) for own in found[0])

    return _BEYOND_ASCII.sub(escaped, document)


def _printable(character: str) -> str:
    if character in "\t\n\r\v\f\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}":
        return " "
    return REPLACEMENT if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co"} else character


def _by_number(character: str) -> str:
    """As UTF-16 has it, which is how JSON escapes what lies beyond the first 65,536 characters."""
    units = character.encode("utf-16-be", errors="surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
