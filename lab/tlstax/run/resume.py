"""Resuming a run that was cut off: which one, and that nothing has changed since."""

from __future__ import annotations

from collections.abc import Iterable

from tlstax import __version__
from tlstax.plan.cpu_shares import Split
from tlstax.plan.order import trials_per_block
from tlstax.records.trial import Machine, RunHeader, Specimen, StoredRun, TrialRecord
from tlstax.stats.stopping import Stop, decide
from tlstax.store import Store
from tlstax.study import Study
from tlstax.support.errors import UserMistake
from tlstax.support.text import enumerated

ANEW = "leave out --resume to begin a new run"


def unfinished(store: Store, study_name: str, run_or_prefix: str) -> StoredRun:
    """The run to be resumed: the last one of this study that was cut off, or the one that is named.

    Its trials are `slim`. UserMistake where there is none, or where it came to its end, is still running or
    is of another study.
    """
    run = run_or_prefix
    if run == "last":
        of_study = [summary for summary in store.runs() if summary.study == study_name]
        if not of_study:
            raise UserMistake(f"there is no run of study {study_name} to resume", remedy=ANEW)
        cut_off = (summary.run for summary in of_study if summary.status in {"interrupted", "failed"})
        run = next(cut_off, of_study[0].run)
    stored = store.load(run)
    name = stored.header.run
    if stored.header.study.name != study_name:
        raise UserMistake(f"run {name} is one of study {stored.header.study.name}, not of {study_name}")
    if stored.status == "complete":
        raise UserMistake(
            f"run {name} is complete ({stored.stopped_because}): nothing is left to do", remedy=ANEW
        )
    if stored.status == "running":
        raise UserMistake(f"run {name} is still running", remedy="end it, or wait for it")
    if stored.header.guest:
        raise UserMistake(f"run {name} was made on an external server, and cannot be resumed")
    trials = tuple(slim(record, stored.header.study) for record in stored.trials)
    return stored.model_copy(update={"trials": trials})


WORDS = frozenset({"title", "question"})
"""What a study says of itself, which measures nothing."""


def check_study(stored: StoredRun, study: Study) -> None:
    """UserMistake where the run was made of another study than this one, or has nothing left to do."""
    then = stored.header.study
    fields = (name for name in type(study).model_fields if name not in WORDS)
    differ = [name for name in fields if getattr(study, name) != getattr(then, name)]
    if differ:
        raise UserMistake(
            f"the study is not what run {stored.header.run} began with: {enumerated(differ)} changed since",
            remedy=f"resume it with the same options and file as then, or {ANEW}",
        )
    per_block = trials_per_block(study)
    in_blocks = len(stored.compared)
    if in_blocks and in_blocks % per_block == 0:
        decision = decide(study, stored.measured, spent_s(stored))
        if isinstance(decision, Stop):
            raise UserMistake(
                f"nothing is left to do in run {stored.header.run}: {decision.why}", remedy=ANEW
            )


def slim(record: TrialRecord, study: Study) -> TrialRecord:
    """What the stopping rule needs of a trial that is in the store: a long run has thousands of them."""
    unneeded = {"client_log": "", "server_log": "", "profile": None, "capture": None}
    if record.done is None or study.deciding_outcome.endswith("_us"):
        return record.model_copy(update=unneeded)
    done = record.done.model_copy(update={"histograms_ns": {}, "row_samples": ()})
    return record.model_copy(update={**unneeded, "done": done})


def spent_s(stored: StoredRun) -> float:
    """What the trials of a run have taken of its budget; what goes before is beside it."""
    return sum(record.took_s for record in stored.compared)


def check_same(header: RunHeader, specimens: Iterable[Specimen], machine: Machine) -> None:
    """UserMistake where what would be measured now is not what the run began with, or not on that machine."""
    check_same_content(header, specimens)
    _check_same_machine(header, machine)


def check_same_content(header: RunHeader, specimens: Iterable[Specimen]) -> None:
    """UserMistake where what would be measured now is not what the run began with."""
    if header.tlstax_version != __version__:
        raise UserMistake(
            f"run {header.run} was begun by tlstax {header.tlstax_version}, and this is {__version__}",
            remedy=ANEW,
        )
    then = {specimen.name: specimen for specimen in header.specimens}
    for now in specimens:
        known = then.get(now.name)
        if known is None or (known.sha256, known.version) != (now.sha256, now.version):
            raise UserMistake(
                f"{now.name} is not the one that run {header.run} began with{_versions(known, now)}",
                remedy=f"restore that one, or {ANEW}",
            )


def check_where(header: RunHeader, *, on_cluster: bool, shares_load: bool = False) -> None:
    """UserMistake where a run of one machine would go on with several, or the other way round.

    And where its load came from other machines than the server's, or not, and would no longer.
    """
    if bool(header.machines) != on_cluster:
        was = "several machines" if header.machines else "one machine"
        remedy = "give --ray, as then" if header.machines else "leave out --ray, as then"
        raise UserMistake(f"run {header.run} was begun on {was}", remedy=f"{remedy}, or {ANEW}")
    if (header.load is not None) != shares_load:
        had = "with" if header.load else "without"
        remedy = "give it, as then" if header.load else "leave it out, as then"
        raise UserMistake(f"run {header.run} was begun {had} --clients-on", remedy=f"{remedy}, or {ANEW}")


def _check_same_machine(header: RunHeader, machine: Machine) -> None:
    for what, before, after in (
        ("processor", header.machine.cpu_model, machine.cpu_model),
        ("number of cores", header.machine.cores, machine.cores),
    ):
        if before != after:
            raise UserMistake(
                f"run {header.run} was begun on another machine: the {what} was {before}, and is {after}",
                remedy=ANEW,
            )
    was, now_is = (Split(each.server_cpus, each.client_cpus) for each in (header.machine, machine))
    if was != now_is:
        raise UserMistake(
            f"run {header.run} was begun on other CPUs ({was.words() or 'any'}) than it would go on with "
            f"({now_is.words() or 'any'})",
            remedy=f"let it have those of then, or {ANEW}",
        )


def _versions(known: Specimen | None, now: Specimen) -> str:
    if known is None or known.version == now.version:
        return ": its program differs"
    return f": it was {known.version} then, and is {now.version}"
