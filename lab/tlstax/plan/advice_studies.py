"""The two studies behind an advice: at the server itself, and of its CPU time on a private one like it. Pure.

Both measure connections with one statement, since it is there that TLS differs; what that is worth among more
statements is computed. At the server itself there is one client, which waits for every answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tlstax.study import Study, load_study
from tlstax.study.configuration import AS_IT_COMES
from tlstax.study.files import rebuilt
from tlstax.study.level_names import DIRECT_TLS, P256_FIRST, Level
from tlstax.study.mixes import CHEAPEST_KEY
from tlstax.study.product import product_of, release_of
from tlstax.study.workloads.sized import Session

AT_ONCE = 4
"""Connections at once on the private server: it is busy, as one that is worth advice is."""

ROWS_THERE = 1_000
"""Rows of the table that is made for the time of measuring, in a server that is not ours."""

ONE_GROUP = "ssl_ecdh_curve"
"""The setting by which a PostgreSQL before 18 takes one group, by default P-256; clients that do not offer it
first are asked again."""

Levels = dict[str, Level]


@dataclass(frozen=True)
class Changes:
    """Levels of the cases: as it is `now`, and with each change, by its name."""

    now: Levels
    changed: dict[str, Levels]

    def all(self) -> Iterator[Levels]:
        """Each case once."""
        yield self.now
        for levels in self.changed.values():
            if levels != self.now:
                yield levels


def changes_there(  # noqa: PLR0913 (each is another thing that clients may change)
    tls: str, other: str | None, *, answer_bytes: int, resumes: bool, retried: bool, direct: bool = False
) -> Changes:
    """What clients alone can change: to resume, offer P-256 first, keep connections, use another version.

    With `direct` they may begin TLS at once.
    """
    now: Levels = {"tls": tls, "resumption": "off", "group": "default", "workload": _made(answer_bytes)}
    changed = {"pool": {**now, "workload": _kept(answer_bytes)}}
    if resumes:
        changed["resumption"] = {**now, "resumption": "on"}
    if retried:
        changed["group"] = {**now, "group": P256_FIRST}
    if other is not None:
        changed["version"] = {**now, "tls": other}
    if direct:
        changed["direct"] = {**now, "tls": DIRECT_TLS}
    return Changes(now, changed)


def changes_like_it(there: Changes, certificate: str, *, resumes: bool = True, groups: str = "") -> Changes:
    """The same on a server of our own with such a key, and what its owner can change: the key, the groups.

    Each process has plaintext measured beside it, since two differ by some per cent: "clear of" a change is
    that of the process with the change. `resumes` is whether its product resumes sessions at all. `groups` is
    the option by which its own groups are set, where they are not the product's default.
    """
    own: Levels = {"certificate": certificate, **({"configuration": groups} if groups else {})}
    now: Levels = {**there.now, **own}
    clear: Levels = {**now, "tls": "off"}
    changed = {name: {**levels, **own} for name, levels in there.changed.items()}
    if resumes:
        changed.setdefault("resumption", {**now, "resumption": "on"})
    if now["tls"] == "1.2":
        changed.setdefault("version", {**now, "tls": "1.3"})
    changed["clear"] = clear
    if certificate != CHEAPEST_KEY:
        changed["certificate"] = {**now, "certificate": CHEAPEST_KEY}
        changed[clear_of("certificate")] = {**clear, "certificate": CHEAPEST_KEY}
    if groups:
        offered = P256_FIRST if groups.startswith(ONE_GROUP) else "default"
        changed["groups"] = {**now, "configuration": AS_IT_COMES, "group": offered}
        changed[clear_of("groups")] = {**clear, "configuration": AS_IT_COMES}
    return Changes(now, changed)


def clear_of(change: str) -> str:
    """The name of plaintext on the process that has this change."""
    return f"clear of {change}"


def study_there(changes: Changes, budget_s: float) -> Study:
    """What is measured at the server itself, with one connection at a time."""
    return _study(
        "advice-there", "What clients could change, at the server itself", changes, budget_s
    ).model_copy(
        update={"factors": {"connections": (1,)}, "rows": ROWS_THERE, "deciding_outcome": "latency_mean_us"}
    )


def study_like_it(changes: Changes, server: str, budget_s: float) -> Study:
    """What is measured on a private server of that name."""
    study = _study("advice", "What would be cheaper, on a private server", changes, budget_s)
    return study.model_copy(update={"factors": {"server": (server,), "connections": (AT_ONCE,)}})


def _study(name: str, title: str, changes: Changes, budget_s: float) -> Study:
    return rebuilt(
        load_study("components"),
        name,
        name=name,
        title=title,
        question="What does each change save?",
        treatments=tuple(changes.all()),
        baseline=changes.now,
        budget_s=budget_s,
        precision=0.01,
        minimum_blocks=3,
    )


def _made(answer_bytes: int) -> str:
    return Session(1, answer_bytes).name


def _kept(answer_bytes: int) -> str:
    return Session(None, answer_bytes).name


MYSQL = {(5, 5): "mysql-5.5.34", (5, 6): "mysql-5.6.14", (5, 7): "mysql-8.0.33", (9, 0): "mysql-9.7"}
MARIADB = {(10, 0): "mariadb-10.5", (10, 11): "mariadb-10.11", (11, 0): "mariadb-11.8"}
"""From which version on each specimen is the nearest. Of 5.7 there is none: 8.0's TLS is as modern."""


OLDEST_POSTGRESQL, NEWEST_POSTGRESQL = 10, 18
"""The major versions between which every one has a specimen."""


def stand_in_for(version: str) -> str | None:
    """The specimen for a server's own word of its version; None for a product, or an age, of which none is.

    Forks of MySQL (Percona Server) say the version that they are made from, and get its specimen. A
    PostgreSQL of any major version from 10 on has one of its own, until one is newer than all.
    """
    if product_of(version) == "postgresql":
        major, *_ = release_of(version)
        return f"postgresql-{min(major, NEWEST_POSTGRESQL)}" if major >= OLDEST_POSTGRESQL else None
    found = re.search(r"([0-9]{1,4})\.([0-9]{1,4})\.[0-9]{1,4}", version)
    if found is None:
        return None
    own = int(found[1]), int(found[2])
    known = MARIADB if product_of(version) == "mariadb" else MYSQL
    older = [since for since in known if since <= own]
    return known[max(older)] if older else None
