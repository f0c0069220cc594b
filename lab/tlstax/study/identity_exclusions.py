"""The cases that a study leaves out because nobody can prove themselves so, and why."""

from __future__ import annotations

from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import DEFAULT_AUTH, HYBRIDS, MLDSA
from tlstax.study.path_exclusions import ENDS_TLS


def why_not(case: CaseLevels) -> str:
    """Why server or client cannot prove themselves as the case has it; empty where they can."""
    if case.tls in {"1.0", "1.1", "1.2"}:
        if case.certificate in MLDSA:
            return f"{case.certificate} signs handshakes of TLS 1.3 alone"
        if case.group in HYBRIDS:
            return f"{case.group} is a group of TLS 1.3 alone"
    if not case.proves_client:
        return ""
    if case.auth != DEFAULT_AUTH:
        return "the account that asks for a client certificate has the server's default plugin"
    if case.path in ENDS_TLS:
        return f"{case.path} ends the TLS of the client, so the server never sees its certificate"
    return ""
