"""The cases that a study leaves out because nothing would burn in them what they ask for, and why."""

from __future__ import annotations

from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import BURN, NO_BURN


def why_not(case: CaseLevels) -> str:
    """Why what the case asks to be burned cannot be; empty where it can, or where it asks for nothing.

    Over TLS a server answers by other functions than the one that the fault stands for.
    """
    if case.burn == NO_BURN:
        return ""
    if case.fault != BURN:
        return f"burn = {case.burn} needs a server with fault = {BURN}, not with fault = {case.fault}"
    if case.is_encrypted:
        return f"burn = {case.burn} needs tls = off: the fault {BURN} reaches answers in plaintext alone"
    return ""
