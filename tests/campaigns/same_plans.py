"""Whether two trees plan, refuse, ask and judge alike: studies built in and drawn, and every recorded run.

`dump FOLDER 3000 1` writes what this tree makes of them, a line for each thing; another tree's `dump` into a
folder beside it draws nothing, where `--studies OTHER/drawn.json` has what the first one drew. `compare OLD
NEW` says which lines differ. No server is started. (PYTHONPATH=lab)
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from tlstax.checks.verdict import judge
from tlstax.contract import Account, TcpEndpoint
from tlstax.plan import elsewhere, order, sittings, timing, turns
from tlstax.plan.jobs import captured, job_for
from tlstax.store import Store
from tlstax.store.pack import opened
from tlstax.study import Study, built_in_studies, load_study
from tlstax.study.configuration import AS_IT_COMES
from tlstax.study.factors import FACTORS
from tlstax.study.files import check_tables
from tlstax.study.job_parts import ClientProof, JobTerms, Verification
from tlstax.study.labels import full_label, group_label, label
from tlstax.study.needs import (
    check_shared,
    clients,
    data_needs,
    lacking,
    paths,
    server_choices,
    tls_libraries,
)
from tlstax.study.workloads import TABLES
from tlstax.support.errors import TlstaxError

HERE = Path(__file__).parents[2]

RECORDED = (*sorted((HERE / "docs").glob("*.tlstax")), *sorted((HERE / "tests/unit").rglob("*.tlstax")))
STORES = tuple(sorted((HERE / "tests/unit/store/recorded").glob("*.sqlite")))

POOLS: dict[str, tuple[Any, ...]] = {
    "workload": (
        *(
            "point-select",
            "reconnect",
            "ping",
            "storm",
            "insert",
            "update",
            "oltp-read-write",
            "people-insert",
        ),
        *("people-update", "words-insert", "mine", "select-range", "reconnect-ping"),
        *("rows-100x1024", "connect-rows-100x1024", "session-10x2048", "answer-2048", "insert-4x100"),
    ),
    "server": ("mysql-9.7", "mariadb-11.8", "mysql-5.6.51", "mysql-8.0.33"),
    "connections": (1, 8, 64, 600),
    "client": (
        "engine",
        "sysbench",
        "floor",
        "mysqlslap-8.0.33",
        "mysqlslap-9.7",
        "libmariadb-3.4",
        "pymysql-1.1",
    ),
    "burn": ("off", "400ns", "0ns"),
    "configuration": (AS_IT_COMES, "performance_schema=OFF"),
    "tls_library": ("own", "openssl-3.5.5"),
    "client_tls_library": ("own", "openssl-3.5.5"),
    "address": ("direct", "proxy"),
    "slice_ms": (0, 5, 20.5),
    "rtt_ms": (0, 45, 0.5),
    "rounds": (1, 2, 8),
    "trust": (1, 128),
}

OWN = {
    "mine": {
        "protocol": "prepared",
        "reconnect": True,
        "restore": ["TRUNCATE TABLE more"],
        "transactions": [{"statements": [{"sql": "UPDATE {table} SET k = 1 WHERE id = {id}"}]}],
    }
}


def pool(name: str) -> tuple[Any, ...]:
    """Levels of a factor to draw from: those listed here, or its own, or small numbers."""
    factor = FACTORS[name]
    return POOLS.get(name) or factor.levels or (1, 2, 8)


def drawn(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Studies as a file would have them, sensible or not."""
    generator = Random(seed)  # noqa: S311 (studies, not secrets)
    names = sorted(FACTORS)
    for number in range(count):
        chosen = generator.sample(names, generator.randint(1, 5))
        if "tls" not in chosen and generator.random() < 0.7:
            chosen.append("tls")
        if "workload" not in chosen and generator.random() < 0.8:
            chosen.append("workload")
        levels = {
            name: generator.sample(own := sorted(pool(name), key=str), min(len(own), generator.randint(1, 3)))
            for name in chosen
        }
        bundled = generator.sample(chosen, generator.choice((0, 0, 2))) if len(chosen) > 2 else []
        study: dict[str, Any] = {
            "name": f"drawn-{number}",
            "title": "drawn",
            "question": "?",
            "factors": {name: own for name, own in levels.items() if name not in bundled},
            "baseline": {name: levels[name][0] for name in generator.sample(chosen, min(2, len(chosen)))},
            "rows": generator.choice((100, 10_000)),
            "profile": generator.random() < 0.1,
            "capture": generator.random() < 0.1,
            "budget_s": generator.choice((10, 60, 900)),
        }
        if bundled:
            study["treatments"] = [
                {name: generator.choice(levels[name]) for name in bundled} for _ in range(2)
            ]
            study["baseline"] = {
                **{n: level for n, level in study["baseline"].items() if n not in bundled},
                **study["treatments"][0],
            }
        if generator.random() < 0.1:
            study["schedule"] = {"mode": "open", "rate_per_s": 500}
            study["deciding_outcome"] = "latency_p50_us"
        if generator.random() < 0.1:
            study["new_processes"] = generator.choice((True, "trial"))
        if generator.random() < 0.1:
            study["count"] = "locks"
        if generator.random() < 0.1:
            option = {"option.useSSL": generator.choice(("true", "false", "unset"))}
            study["factors"] = {**study["factors"], **{name: [level] for name, level in option.items()}}
        yield study


def terms(study: Study, *, lingering: bool) -> JobTerms:
    """What jobs have in common, with something different in every field."""
    account = Account(user="load", password="secret", database="tlstax")
    proof = ClientProof(
        account=account.model_copy(update={"user": "proved"}), certificate_file="/c.pem", key_file="/k.pem"
    )
    plugins = (
        "mysql_native_password",
        "caching_sha2_password",
        "sha256_password",
        "client_ed25519",
        "parsec",
    )
    return JobTerms(
        endpoint=TcpEndpoint(host="127.0.0.1", port=3306),
        addresses={"proxy": TcpEndpoint(host="127.0.0.1", port=6033)},
        account=account,
        accounts={name: account.model_copy(update={"user": f"by-{name}"}) for name in plugins},
        tables=dict(TABLES),
        rows=study.rows,
        workloads=study.workloads,
        verification=Verification(verify="identity", ca_file="/ca.pem", get_server_public_key=False),
        client_cpus=(1,),
        schedule=study.schedule,
        client_libraries={name: f"/{name}/libssl.so.3" for name in tls_libraries(study)},
        trust_files={number: f"/trust-{number}.pem" for number in (1, 2, 8, 16, 128, 145, 1024)},
        client_proof=proof,
        duration_s=1.5,
        seed=7,
        counts_lingering=lingering,
    )


def tried(make: Any) -> Any:
    """What it makes, or how it fails: a failure is told alike too."""
    try:
        return make()
    except TlstaxError as fault:
        return f"{type(fault).__name__}: {fault.message} | {fault.remedy}"
    except (KeyError, RuntimeError, ValueError, StopIteration) as error:
        return f"{type(error).__name__}: {error}"


def told(study: Study) -> Iterator[tuple[str, Any]]:
    """All that is planned of a study, by what it is."""
    yield "study", study.model_dump_json()
    excluded = {frozenset(levels.items()): exclusion for levels, exclusion in study.excluded()}
    for levels in study.product():
        why = excluded.get(frozenset(levels.items()))
        yield f"excluded {json.dumps(dict(levels))}", why.why if why else ""
    yield "lacking", tried(lambda: lacking(study))
    yield "needs", repr((clients(study), paths(study), [each.words() for each in server_choices(study)]))
    yield "data", repr(tried(lambda: data_needs(study)))
    yield "shared", tried(lambda: check_shared(study))
    yield "tables", tried(lambda: check_tables(study, "here"))
    yield "plan", tried(lambda: order.plan(study).model_dump_json())
    yield "held", tried(lambda: sittings.most_held(study, 5))
    cases = order.cases(study)
    for case in cases:
        levels, key = case.levels, case.key()
        yield f"label {key}", (label(case, study), full_label(case, study), group_label(levels, study))
        yield f"turns {key}", (turns.takes_turns(levels, study), turns.lead_in(levels))
        yield f"window {key}", tried(lambda levels=levels: timing.window_s(levels, 0.1, study))
        yield f"overhead {key}", tried(lambda levels=levels: timing.overhead_s(levels, study))
        yield f"promise {key}", tried(lambda levels=levels: repr(elsewhere.Promise.of([levels], study)))
    for block in islice(order.blocks(study, 3), 4 if study.count or study.capture else 2):
        yield f"block {block[0].block}", [trial.model_dump_json() for trial in block]
        yield (
            f"sittings {block[0].block}",
            tried(
                lambda block=block: [
                    (s.number, [t.place for t in s.trials], s.slice_s, s.rounds, s.watched_s, s.full_load)
                    for s in sittings.sittings(study, block, 0.2)
                ]
            ),
        )
    common = terms(study, lingering=False)
    counting = terms(study, lingering=True)
    for number, case in enumerate(cases):
        for words, own in (("job", common), ("lingering", counting)):
            yield (
                f"{words} {case.key()}",
                tried(
                    lambda case=case, own=own, number=number: job_for(
                        case.levels, own, sequence=number
                    ).model_dump_json()
                ),
            )
        yield (
            f"captured {case.key()}",
            tried(
                lambda case=case, number=number: captured(
                    job_for(case.levels, common, sequence=number)
                ).model_dump_json()
            ),
        )


def of_studies(written: list[dict[str, Any]]) -> Iterator[tuple[str, str, Any]]:
    """All that is told of built-in studies and of the drawn ones."""
    for name in built_in_studies():
        for what, value in told(load_study(name)):
            yield name, what, value
    for each in written:
        study = tried(lambda each=each: Study.model_validate({**each, "workloads": OWN}))
        if not isinstance(study, Study):
            yield each["name"], "refused", study
            continue
        for what, value in told(study):
            yield each["name"], what, value


def of_records() -> Iterator[tuple[str, str, Any]]:
    """The verdict of every recorded trial, judged anew, and the record as it would be written."""
    for file in (*RECORDED, *STORES):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "store.sqlite"
            if file.suffix == ".sqlite":
                place.write_bytes(file.read_bytes())
                with Store.open(place) as store:
                    runs = [store.load(row.run) for row in store.runs()]
            else:
                runs = [opened(file)[1]]
            for run in runs:
                yield file.name, f"header {run.header.run}", run.header.model_dump_json()
                for record in run.trials:
                    yield file.name, f"verdict {record.trial.place}", judge(record).model_dump_json()
                    yield file.name, f"record {record.trial.place}", digest(as_named_now(record.model_dump()))


CLAIMS_NOW = {
    "Connections": "connections",
    "Ssl_finished_accepts": "handshakes",
    "Ssl_session_cache_hits": "session_lookups",
}
"""What a record calls the counts that cases in turns have claimed, by the names that it had before."""


def as_named_now(record: dict[str, Any]) -> str:
    """A record as text, with today's names also where an older tree wrote it."""
    if together := record.get("together"):
        together["claims"] = {CLAIMS_NOW.get(name, name): own for name, own in together["claims"].items()}
    return json.dumps(record, default=str)


def digest(text: str) -> str:
    """A short digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def dump(folder: Path, count: int, seed: int, studies: Path | None) -> None:
    """Write what this tree makes of everything into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    written = json.loads(studies.read_text()) if studies else list(drawn(count, seed))
    (folder / "drawn.json").write_text(json.dumps(written))
    for name, lines in (("studies.txt", of_studies(written)), ("records.txt", of_records())):
        total, hashed = 0, hashlib.sha256()
        with (folder / name).open("w") as file:
            for whose, what, value in lines:
                line = f"{whose} | {what} | {value}\n"
                hashed.update(line.encode())
                file.write(line)
                total += 1
        sys.stdout.write(f"{name}: {total:,} lines, {hashed.hexdigest()[:16]}\n")


def compare(old: Path, new: Path) -> int:
    """Print what differs; how many lines do."""
    differing = 0
    for name in ("studies.txt", "records.txt"):
        before, after = ((each / name).read_text().splitlines() for each in (old, new))
        pairs = [(a, b) for a, b in zip(before, after, strict=False) if a != b]
        differing += len(pairs) + abs(len(before) - len(after))
        for a, b in pairs[:5]:
            sys.stdout.write(f"- {a[:400]}\n+ {b[:400]}\n")
        sys.stdout.write(f"{name}: {len(before):,} lines and {len(after):,}, {len(pairs):,} differ\n")
    return differing


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parts = parser.add_subparsers(dest="what", required=True)
    dumping = parts.add_parser("dump")
    dumping.add_argument("folder", type=Path)
    dumping.add_argument("count", type=int)
    dumping.add_argument("seed", type=int)
    dumping.add_argument("--studies", type=Path)
    comparing = parts.add_parser("compare")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    asked = parser.parse_args()
    if asked.what == "dump":
        dump(asked.folder, asked.count, asked.seed, asked.studies)
    else:
        sys.exit(1 if compare(asked.old, asked.new) else 0)
