"""What cases and groups are called in words, in one place for terminal, report and progress."""

from __future__ import annotations

from tlstax.contract import OpenLoop
from tlstax.study import Case, Level, Levels

CONTROL_MARK: dict[str, Level] = {"control": "yes"}
"""Added to the levels of a control in a finding, so that it differs from its baseline."""

WORKLOADS = {
    "point-select": "point selects on kept connections",
    "reconnect": "reconnecting for every point select",
}

_OF_THE_GROUP = ("workload", "connections")


def label(case: Case) -> str:
    """What a case is called: "plaintext", "plaintext again (control)", "TLS 1.3 resumed"."""
    return label_levels(finding_levels(case))


def label_levels(levels: Levels) -> str:
    """The same for the levels of a finding, where the control is marked by a level of its own.

    Factors that TLS, workload and connections leave unsaid follow by name: "TLS 1.3, auth=native".
    """
    words = [_tls_label(levels)] if "tls" in levels else []
    said = {"tls", "resumption", *_OF_THE_GROUP, *CONTROL_MARK}
    words += [f"{name}={level}" for name, level in sorted(levels.items()) if name not in said]
    again = " again (control)" if levels.get("control") == "yes" else ""
    return (", ".join(words) or "the baseline") + again


def group_label(levels: Levels) -> str:
    """What the cases of a group share: "point selects on kept connections, 8 connections"."""
    words = []
    if "workload" in levels:
        words.append(WORKLOADS.get(str(levels["workload"]), str(levels["workload"])))
    if "connections" in levels:
        many = levels["connections"]
        words.append(f"{many} connection{'s' if many != 1 else ''}")
    return ", ".join(words)


def schedule_label(schedule: OpenLoop) -> str:
    """The load of an open loop: "5,000 operations a second"."""
    return f"{schedule.rate_per_s:,.10g} operations a second"


def full_label(case: Case) -> str:
    """A case and its group: "TLS 1.3, point selects on kept connections, 8 connections"."""
    group = group_label(case.levels)
    return f"{label(case)}, {group}" if group else label(case)


def finding_levels(case: Case) -> dict[str, Level]:
    """The levels by which a finding names its case: the case's own, and the mark of the control."""
    return {**case.levels, **CONTROL_MARK} if case.role == "control" else dict(case.levels)


def _tls_label(levels: Levels) -> str:
    tls = levels["tls"]
    if tls == "off":
        return "plaintext"
    version = "TLS as the client chooses" if tls == "default" else f"TLS {tls}"
    return f"{version} resumed" if levels.get("resumption") == "on" else version
