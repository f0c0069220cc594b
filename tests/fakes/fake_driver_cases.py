"""Cases of drivers that a test makes up one by one, and the study that they are of."""

from __future__ import annotations

from tlstax.study import Case, Level, Study
from tlstax.study.level_names import UNSET

OLD, NEW, OTHER = "connector-j-5.1.6", "connector-j-8.0.16", "connector-j-8.0.33"

_SERVER: dict[str, Level] = {"server": "mysql-8.0.33"}

STUDY = Study(
    name="upgrade",
    title="An upgrade of a driver",
    question="What does it cost?",
    treatments=(
        {**_SERVER, "client": OLD},
        {**_SERVER, "client": NEW},
        {**_SERVER, "client": NEW, "option.useSSL": "false"},
        {**_SERVER, "client": NEW, "option.useSSL": "false", "option.useLocalSessionState": "true"},
    ),
    baseline={**_SERVER, "client": OLD},
    factors={
        "workload": ("words-insert", "words-execute"),
        "connections": (1,),
        "tls": (UNSET,),
        "option.characterEncoding": ("UTF-8",),
    },
)


def driver_case(client: str, *, tls: str = UNSET, server: str = "mysql-8.0.33", **levels: Level) -> Case:
    """A case of this driver with these options and other levels; of the old driver, the baseline."""
    factors = {name: levels.pop(name) for name in ("workload", "connections") if name in levels}
    options = {"characterEncoding": "UTF-8", "useSSL": UNSET, "useLocalSessionState": UNSET, **levels}
    return Case(
        levels={
            "client": client,
            "server": server,
            "workload": "words-insert",
            "connections": 1,
            "tls": tls,
            **factors,
            **{f"option.{name}": level for name, level in options.items()},
        },
        role="baseline" if client == OLD else "treatment",
    )
