"""What figures, cases and proofs are called: the one place that rounds. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import ceil, log10
from typing import Literal

from tlstax.contract import Handshakes, Negotiated, TlsView
from tlstax.records.trial import TrialRecord
from tlstax.results.interval import Interval
from tlstax.stats.contrasts import INSTANCE
from tlstax.stats.series import LADDER
from tlstax.study import Levels, Study
from tlstax.study.driver_catalogue import DRIVERS
from tlstax.study.factors import DISTANCE_FACTORS
from tlstax.study.labels import (
    CONTROL_MARK,
    LOGIN,
    driver_words,
    label_levels,
    login_words,
    option_words,
    telling,
    way_words,
)
from tlstax.study.level_names import DIRECT, ENGINE, NO_FAULT, OPTION, TLS_SWITCH, key_of, planted_words
from tlstax.study.tls_levels import is_of_client
from tlstax.support.text import with_commas

MOST_PER_CENT = 1000
"""What lies beyond is not worth a figure: a run of two blocks can give an interval of any width."""

_PRODUCTS = frozenset(driver.product.split(" ", 1)[0] for driver in DRIVERS.values())
"""First words of drivers' names, as their makers write them."""

MINUS = "\N{MINUS SIGN}"

MANY_TIMES = 2.0
"""From here on a factor is easier to grasp than a percentage."""


def percent(fraction: float) -> str:
    """A fraction as a percentage of two digits or so: 0.0713 is "7.1 %", 0.34 is "34 %"."""
    value = abs(fraction) * 100
    if value > MOST_PER_CENT:
        return f">{MOST_PER_CENT:,} %"
    if value >= 99.5:
        return f"{value:.0f} %"
    return "under 0.01 %" if 0 < value < 0.01 else f"{value:.2g} %"


def known_to(half_width: float) -> str:
    """How well something is known: "known to ±3.4 %", or "not even known to ±100 %"."""
    return f"known to ±{percent(half_width)}" if half_width <= 1 else "not even known to ±100 %"


def signed_percent(fraction: float) -> str:
    """The same with its sign: "+1.1 %", "-0.4 %" (with a real minus sign), "0 %"."""
    text = percent(fraction)
    if text == "0 %":
        return text
    return f"+{text}" if fraction > 0 else f"\u2212{text}"


def alike(*values: float) -> list[str]:
    """An estimate and its interval's ends, rounded alike, to as many decimals as their spread deserves.

    A spread of 2.3 keeps one decimal (7.1, 5.9, 8.2), one of 0.08 keeps two, one of 30 none. What is rounded
    to nothing has no sign.
    """
    spread = max(values) - min(values)
    decimals = min(2, max(0, ceil(-log10(spread / 5)))) if spread > 0 else 1
    texts = (f"{value:.{decimals}f}" for value in values)
    return [text if float(text) else text.removeprefix("-") for text in texts]


def signed_alike(*values: float) -> list[str]:
    """The same, each with its sign."""
    return [with_sign(text) for text in alike(*values)]


Rounding = Callable[..., Sequence[str]]
"""A figure and the ends of its interval as they are written, for which they are looked at together."""

Form = Literal["to", "[…]"]
"""How ends stand behind their figure: "(5.9 to 8.2 %)" in a sentence, "[5.9 … 8.2]" beside figures."""


def each(said: Callable[[float], str]) -> Rounding:
    """Figures of which each is written for itself."""
    return lambda *values: [said(value) for value in values]


def set_ends(low: str, high: str, form: Form = "to", *, unit: str = "") -> str:
    """The ends of an interval behind their figure; of all that is printed, this alone sets them."""
    return f"({low} to {high}{unit})" if form == "to" else f"[{low} … {high}{unit}]"


def with_ends(  # noqa: PLR0913 (a unit and another one behind the ends, by name)
    found: Interval,
    rounding: Rounding,
    unit: str = "",
    *,
    last: str = "",
    form: Form = "to",
    alone: str | None = None,
) -> str:
    """A figure in its unit, and the ends of its interval with what is behind the `last` of them.

    Where there is no interval it is `alone` in the blocks that there are, or the figure where that is None.
    """
    if found.between is None:
        (point,) = rounding(found.point)
        return f"{point}{unit}" if alone is None else f"{alone} in {without_scatter(found)} alone"
    point, low, high = rounding(found.point, *found.between)
    return f"{point}{unit} {set_ends(low, high, form, unit=last)}"


def capitalised(text: str) -> str:
    """The text with a capital to begin with, unless its first word is a name: "mysql-9.7", "mysql2"."""
    first = text.split(" ", 1)[0]
    is_name = any(character.isdigit() for character in first) or first in _PRODUCTS
    return text if is_name else text[:1].upper() + text[1:]


def change_words(ratio: Interval) -> str:
    """A ratio as a change with its interval: "+10.1 % (8.4 to 11.9 %)", "86 times (70 to 105)"."""
    if not ratio.is_telling:
        return "known to no better than a factor of ten"
    alone = signed_percent(ratio.point - 1)
    if ratio.point >= MANY_TIMES:
        return with_ends(ratio, alike, " times", alone=alone)
    return with_ends(ratio.each(per_cent), signed_alike, " %", last=" %", alone=alone)


def per_cent(ratio: float) -> float:
    """By how many per cent it is more than 1."""
    return 100 * (ratio - 1)


def verdict_words(judgement: str, within: float) -> str:
    """A judgement that is no difference: "alike within 5 %", "inconclusive"; `within` is a factor."""
    return f"alike within {percent(within - 1)}" if judgement == "alike" else judgement


def without_scatter(found: Interval) -> str:
    """The blocks of what has no interval: one, or one on either of two machines."""
    return "one block" if found.blocks == 1 else "one block on each machine"


def with_sign(rounded: str) -> str:
    """A rounded number with its sign, a real minus sign: "+1.1", "\u22120.4"."""
    text = rounded.replace("-", MINUS) if rounded.startswith("-") else rounded
    return text if text.startswith(MINUS) else f"+{text}"


def microseconds(us: float) -> str:
    """A cost as people read it: "1,250 µs", "31.2 µs", "0.84 µs"."""
    return f"{number(us)} µs"


def number(us: float) -> str:
    """Its digits alone, at most three of them significant below 1,000."""
    size = abs(us)
    decimals = 0 if round(size, 1) >= 100 else 1 if round(size, 2) >= 10 else 2
    text = f"{size:,.{decimals}f}"
    return f"{MINUS}{text}" if us < 0 and float(text.replace(",", "")) else text


def signed(us: float) -> str:
    """The same with a sign, whichever way it goes."""
    text = number(us)
    return text if text.startswith(MINUS) or not us else f"+{text}"


WORKLOADS = {
    "point-select": "kept connections",
    "reconnect": "reconnecting",
    "storm": "storms",
    "ping": "pings on kept connections",
    "reconnect-ping": "reconnecting for a ping",
}
MODE = ("workload", "tls", "resumption")
"""The factors that say what was done; the others say to what."""

LIBRARY, SERVER, FAULT, CERTIFICATE = "tls_library", "server", "fault", "certificate"
CLIENT, SWITCH, CLIENT_LIBRARY = "client", "tls_switch", "client_tls_library"
WAY = ("cipher", "group", "path", *DISTANCE_FACTORS)
"""What was negotiated besides the version, and how bytes travel."""

EVERYTHING = "all cases"
"""What a subject is called where a study has but one."""

_PLAIN = {"cipher": "default", "path": DIRECT}
"""What goes without saying of these."""


def mode_label(levels: Levels) -> str:
    """What was done: "reconnecting, TLS 1.3 resumed"."""
    return with_commas(workload_label(levels), tls_label(levels))


def case_label(levels: Levels, study: Study) -> str:
    """What was measured, and what it did: "mysql-9.7 over openssl-3.0: reconnecting, TLS 1.3"."""
    subject, mode = subject_label(levels, study), mode_label(levels)
    return mode if subject == EVERYTHING else f"{subject}: {mode}"


def workload_label(levels: Levels) -> str:
    """The workload in two words; empty where it is no factor."""
    workload = str(levels.get("workload", ""))
    return WORKLOADS.get(workload, workload)


def tls_label(levels: Levels) -> str:
    """The TLS mode: "plaintext", "TLS 1.3 resumed"; empty where it is no factor."""
    if "tls" not in levels:
        return ""
    return label_levels({name: levels[name] for name in ("tls", "resumption") if name in levels})


def library_label(levels: Levels) -> str:
    """The TLS library without its family, where that goes without saying: "3.5.5" of "openssl-3.5.5"."""
    library = str(levels.get(LIBRARY, ""))
    if library == "own":
        return "wolfSSL" if "wolfssl" in str(levels.get(SERVER, "")) else "its own"
    return library.removeprefix("openssl-")


def certificate_label(levels: Levels) -> str:
    """The key of the certificate that clients are shown; empty where it is no factor, and in plaintext."""
    shown = CERTIFICATE in levels and levels.get("tls") != "off"
    return key_of(levels[CERTIFICATE]) if shown else ""


def subject_label(levels: Levels, study: Study) -> str:
    """What was measured: "mysql-9.7 over openssl-3.5.5, twin"; factors that never vary are left out."""
    varied = study.varied
    server, library = (str(levels[name]) if name in levels else "" for name in (SERVER, LIBRARY))
    words = [f"{server} over {library}" if server and library not in {"", "own"} else server or library]
    words[0] = f"{words[0]}{planted_words(levels.get(FAULT, NO_FAULT))}".strip()
    if CERTIFICATE in varied and certificate_label(levels):
        words.append(f"{certificate_label(levels)} certificate")
    if CLIENT in varied:
        # Where clients are many and the server is one, its name would only push theirs aside.
        words = [
            *(words if varied & {SERVER, LIBRARY, FAULT} else words[1:]),
            driver_words({CLIENT: ENGINE, **levels}, study),
        ]
    if SWITCH in varied and levels.get(SWITCH) == "server":
        words.append(TLS_SWITCH["server"])
    if CLIENT_LIBRARY in varied and CLIENT_LIBRARY in levels:
        words.append(label_levels({CLIENT_LIBRARY: levels[CLIENT_LIBRARY]}))
    ways = varied | telling(study)
    words += way_words(
        {n: levels[n] for n in WAY if n in ways and n in levels and levels[n] != _PLAIN.get(n)}
    )
    known = {SERVER, LIBRARY, FAULT, INSTANCE, CERTIFICATE, CLIENT, CLIENT_LIBRARY, SWITCH, *WAY}
    options = {name for name in levels if name.startswith(OPTION)}
    if CLIENT not in varied:
        words.append(option_words({name: levels[name] for name in sorted(options & varied)}))
    words += login_words({name: levels[name] for name in varied if name in levels})
    said = {*MODE, LADDER, *known, *CONTROL_MARK, *options, *LOGIN}
    words += [f"{name}={levels[name]}" for name in sorted(varied - said) if name in levels]
    if levels.get(INSTANCE, 1) != 1:
        words.append("twin" if levels[INSTANCE] == 2 else f"process {levels[INSTANCE]}")
    return with_commas(*words) or EVERYTHING


def negotiated(records: Iterable[TrialRecord]) -> str:
    """What these trials negotiated: "plaintext", or "TLSv1.3 TLS_AES_128_GCM_SHA256 secp256r1, resumed".

    A HelloRetryRequest is part of it: it makes a handshake cost a round trip more (RFC 8446, 4.1.4).
    Handshakes of the measured window say it where there were any, else the connections that were asked
    before. Trials that differ are all named; "" where no trial says anything.
    """
    said = dict.fromkeys(words for record in records for words in _of_trial(record))
    return "; ".join(said)


def always_hello_retry(records: Iterable[TrialRecord]) -> bool:
    """Whether these trials made handshakes and all met a HelloRetryRequest (RFC 8446, 4.1.4)."""
    handshakes = [h for record in records if record.done for h in record.done.lifetime.handshakes]
    return bool(handshakes) and all(handshake.hello_retry for handshake in handshakes)


def no_valid_trial(records: Iterable[TrialRecord], otherwise: str = "") -> str:
    """That none of these trials is valid, and the first reason of their verdicts, or else this one."""
    reasons = (reason for record in records for reason in record.verdict.reasons)
    reason = next(reasons, otherwise)
    return f"no valid trial: {reason}" if reason else "no valid trial"


def _of_trial(record: TrialRecord) -> list[str]:
    way = _on_the_way(record)
    if record.done is not None and record.done.window.handshakes:
        return [_words(handshakes) + way for handshakes in record.done.window.handshakes]
    if record.ready is None:
        return []
    return [_side(told_by(seen)) + way for seen in record.ready.negotiated]


def told_by(seen: Negotiated) -> TlsView | None:
    """What a connection negotiated: the client's word, or the server's where the client has none."""
    return seen.client if seen.client_tells else seen.server


def _on_the_way(record: TrialRecord) -> str:
    """What a path protected the bytes with, in its own word, or what the server saw where a path ends TLS."""
    if record.path is None:
        return ""
    if record.path.protection is not None:
        return f", within {record.path.protection} ({record.path.specimen})"
    if is_of_client(record.trial.case.levels) or record.ready is None:
        return ""
    at_server = dict.fromkeys(_side(seen.server) for seen in record.ready.negotiated)
    return f", and {' and '.join(at_server)} at the server" if at_server else ""


def _side(view: TlsView | None) -> str:
    return _words(view) if view else "plaintext"


def _words(seen: TlsView | Handshakes) -> str:
    words = " ".join(part for part in (seen.version, seen.cipher, seen.group) if part)
    resumed = ", resumed" if seen.resumed else ""
    return f"{words}{resumed}{', after a HelloRetryRequest' if seen.hello_retry else ''}"
