"""Runs that a report must be able to show, the common one and the odd ones, each without noise."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from fake_crud_study import crud_run
from fake_trials import Truth, crashed, fake_run, kept, untrue, whole_tax
from tlstax.contract import Negotiated, TlsView
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.report.page.html import html
from tlstax.results.document import RunDocument
from tlstax.study import Case, Study
from tlstax.topics.answer.document import document

HOSTILE = '<script>alert("x")</script>|`\x1b[2J\N{RIGHT-TO-LEFT OVERRIDE}'
"""What a server or a client might say of itself."""


Make = Callable[[], StoredRun]


@cache
def with_document(make: Make) -> tuple[StoredRun, RunDocument]:
    """The run and what it shows, made once for all tests."""
    stored = make()
    return stored, document(stored)


@cache
def page_of(make: Make) -> str:
    """The run's page, drawn once for all tests."""
    return html(*with_document(make))


def exact_run(**changes: object) -> StoredRun:
    """A run of the tax study in which every trial is as the truth says, all of them valid."""
    return fake_run(noise=0.0, invalid=False, **changes)  # type: ignore[arg-type]


def noisy_run() -> StoredRun:
    """The tax study as a machine gives it: with noise, and two trials that are not valid."""
    return fake_run()


def one_workload_one_level(blocks: int = 5, **changes: object) -> StoredRun:
    """The smallest comparison: plaintext, its control, one TLS version, kept connections."""
    study = whole_tax().model_copy(
        update={
            "treatments": ({"tls": "off", "resumption": "off"}, {"tls": "1.3", "resumption": "off"}),
            "factors": {"workload": ("point-select",), "connections": (1,)},
        }
    )
    return fake_run(study, number_of_blocks=blocks, invalid=False, **changes)  # type: ignore[arg-type]


def one_block() -> StoredRun:
    """The least that shows anything: no interval, no noise floor."""
    return one_workload_one_level(blocks=1)


def two_blocks() -> StoredRun:
    """The least that has an interval."""
    return one_workload_one_level(blocks=2)


def guest() -> StoredRun:
    """A server whose process is out of reach: no CPU, no memory, no mapped libraries."""
    run = changed(exact_run(), _out_of_reach)
    return run.model_copy(update={"header": run.header.model_copy(update={"guest": True})})


def all_invalid() -> StoredRun:
    """No trial was what it claims to be."""
    return changed(exact_run(number_of_blocks=2), lambda record: untrue(record, "a session was not resumed"))


def one_case_lost() -> StoredRun:
    """Every trial of one case crashed, all others are well."""
    return changed(exact_run(), lambda record: crashed(record.trial) if _is_tls12(record) else record)


def baseline_lost() -> StoredRun:
    """Only the baseline's trials crashed: there is nothing to compare the others with."""
    return changed(
        exact_run(), lambda record: crashed(record.trial) if record.trial.case.role == "baseline" else record
    )


def not_begun() -> StoredRun:
    """A run that was interrupted before its first trial."""
    run = exact_run(number_of_blocks=1)
    return run.model_copy(update={"trials": (), "status": "interrupted", "stopped_because": ""})


def hostile() -> StoredRun:
    """A server and a client that say of themselves what would be a program in a page or a sheet."""
    run = changed(exact_run(number_of_blocks=2), _hostile)
    specimen = run.header.specimens[0].model_copy(update={"version": HOSTILE, "origin": HOSTILE})
    machine = run.header.machine.model_copy(update={"cpu_model": HOSTILE})
    study = run.header.study.model_copy(update={"title": HOSTILE, "question": HOSTILE})
    update = {"specimens": (specimen,), "machine": machine, "study": study}
    return run.model_copy(update={"header": run.header.model_copy(update=update)})


def many_levels() -> StoredRun:
    """More treatments than there are colours, on two numbers of connections."""
    versions = ("off", "1.0", "1.1", "1.2", "1.3", "default")
    study = Study(
        name="many",
        title="Many levels",
        question="Does a report hold many levels?",
        treatments=tuple(
            {"tls": tls, "resumption": on}
            for tls in versions
            for on in ("off", "on")
            if (tls, on) != ("off", "on")
        ),
        factors={"workload": ("point-select",), "connections": (1, 64)},
        baseline={"tls": "off", "resumption": "off"},
    )
    return fake_run(study, number_of_blocks=2, truth=_slower_by_version, invalid=False)


def published_tables() -> StoredRun:
    """A study with published tables, of which one part tests nothing."""
    return crud_run(blocks=2)


def changed(run: StoredRun, change: Callable[[TrialRecord], TrialRecord]) -> StoredRun:
    """The run with every trial changed."""
    return run.model_copy(update={"trials": tuple(change(record) for record in run.trials)})


def _slower_by_version(case: Case) -> Truth:
    slowness = 1 + len(str(case.levels["tls"])) / 10
    return kept(20_000 / slowness, 30.0 * slowness, 9.0, record_bytes=22)


def _is_tls12(record: TrialRecord) -> bool:
    return record.trial.case.levels["tls"] == "1.2"


def _out_of_reach(record: TrialRecord) -> TrialRecord:
    assert record.server is not None
    update = {"cpu": None, "rss_bytes": None, "mapped_tls_libraries": ()}
    return record.model_copy(update={"server": record.server.model_copy(update=update), "guest": True})


def _hostile(record: TrialRecord) -> TrialRecord:
    assert record.server is not None
    assert record.ready is not None
    assert record.done is not None
    view = TlsView(version=HOSTILE, cipher=HOSTILE, resumed=False, certificate_key=HOSTILE)
    said = (Negotiated(connections=1, client=view, server=view),)
    server = record.server.model_copy(update={"version": HOSTILE, "tls_library_version": HOSTILE})
    ready = record.ready.model_copy(update={"negotiated": said, "client_version": HOSTILE})
    verdict = record.verdict.model_copy(update={"notes": (HOSTILE,)})
    no_handshakes = record.done.window.model_copy(update={"handshakes": ()})
    done = record.done.model_copy(update={"window": no_handshakes})
    update = {"server": server, "ready": ready, "verdict": verdict, "done": done}
    return record.model_copy(update=update)


EVERY_RUN: dict[str, Make] = {
    "exact": exact_run,
    "noisy": noisy_run,
    "one workload, one level": one_workload_one_level,
    "one block": one_block,
    "two blocks": two_blocks,
    "guest": guest,
    "all invalid": all_invalid,
    "one case lost": one_case_lost,
    "baseline lost": baseline_lost,
    "not begun": not_begun,
    "hostile": hostile,
    "many levels": many_levels,
    "published tables": published_tables,
}
