"""What a server could say of itself to steer the terminal of whoever reads it, and how that is looked for."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Any

from fake_trials import fake_run
from kept_runs import keep
from tlstax.records.trial import StoredRun
from tlstax.store import Store

STEERING = "\x1b]0;owned\x07\x1b[2J\x1b[8m\x9b2J\x7f\u202etxt\u2066\r\x08"
"""A title, a cleared screen, hidden text, the same with C1 controls, and text that runs backwards."""

OURS = re.compile(r"\x1b\[(?:0|[1-9]|3[0-7]|[12];3[0-7])m")
"""The colours and weights of our own texts."""

SAID_BY_OTHERS = frozenset(
    {
        *("version", "client_version", "server_version", "tls_library_version", "origin", "sql", "message"),
        *("cpu_model", "kernel", "distribution", "virtualization", "title", "question", "stopped_because"),
        *("why", "failure", "client_log", "server_log", "reasons", "notes"),
    }
)


def steering(text: str, *, coloured: bool = False) -> set[str]:
    """The characters of a text that steer a terminal, other than line breaks and, if it has them, colours."""
    bare = OURS.sub("", text) if coloured else text
    return {
        character
        for character in bare.replace("\r\n", "\n")
        if character != "\n" and unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co"}
    }


def hostile(value: Any, *, named: frozenset[str] = SAID_BY_OTHERS) -> Any:
    """A JSON document in which everything of these names steers."""
    if isinstance(value, dict):
        return {
            key: _steering(one) if key in named else hostile(one, named=named) for key, one in value.items()
        }
    return [hostile(one, named=named) for one in value] if isinstance(value, list) else value


def hostile_run() -> StoredRun:
    """A run of a server that says such things wherever it is asked, with trials that failed for it."""
    run = fake_run(number_of_blocks=3)
    return StoredRun.model_validate(hostile(run.model_dump(mode="json")))


def _steering(value: Any) -> Any:
    if isinstance(value, list):
        return [_steering(one) for one in value]
    return f"{value}{STEERING}" if isinstance(value, str) else hostile(value)


def kept_hostile_run(folder: Path) -> Path:
    """A data directory, made in this folder, whose one run is of a server that would steer terminals."""
    data, run = folder / "data", hostile_run()
    with Store.open(data / "store.sqlite") as store:
        keep(store, run, run.header.run)
        store.finish(run.header.run, "failed", run.stopped_because)
    return data
