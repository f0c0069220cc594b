"""What a study's subjects and modes are called where they stand side by side, in short."""

from __future__ import annotations

from tlstax.findings.core.series import LADDER
from tlstax.findings.core.twins import INSTANCE
from tlstax.study import Levels, Study
from tlstax.study.case_levels import WAY_FACTORS, CaseLevels
from tlstax.study.labels import (
    CONTROL_MARK,
    LOGIN,
    TLS_SWITCH,
    driver_words,
    label_levels,
    login_words,
    option_words,
    telling,
    way_words,
)
from tlstax.study.level_names import DIRECT, ENGINE, NO_FAULT, OPTION
from tlstax.study.server_words import key_of, planted_words

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
WAY = ("cipher", "group", *WAY_FACTORS)
"""What was negotiated besides the version, and how bytes travel."""

EVERYTHING = "all cases"
"""What a subject is called where a study has but one."""

_PLAIN = {"cipher": "default", "path": DIRECT}
"""What goes without saying of these."""


def mode_label(levels: Levels) -> str:
    """What was done: "reconnecting, TLS 1.3 resumed"."""
    return ", ".join(part for part in (workload_label(levels), tls_label(levels)) if part)


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
    varied = {name for name, known in study.levels_of().items() if len(known) > 1}
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
    if SWITCH in varied and CaseLevels.of(levels).is_switched_at_server:
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
    return ", ".join(word for word in words if word) or EVERYTHING
