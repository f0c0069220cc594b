"""`tlstax predict`: what a way of using a server would cost, and how well such predictions hold."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import ValidationError

from tlstax.cli import quantities
from tlstax.cli.exit import INTERRUPTED
from tlstax.cli.measuring import measure
from tlstax.cli.options import MeasuringOptions
from tlstax.cli.progress import ProgressLine
from tlstax.cli.server_app import PredictOptions
from tlstax.cli.streams import show_found, warn
from tlstax.observers.machine import available_cpus, cpu_model
from tlstax.plan.prediction_studies import CALIBRATION, calibration_study, drawn, references, validation_study
from tlstax.records.trial import StoredRun
from tlstax.run.pipeline import Watcher, run
from tlstax.run.preparing import Request
from tlstax.specimens.resolve import check_server_name
from tlstax.store import Store, open_store
from tlstax.study import load_study
from tlstax.study.case_workload import CaseWorkload
from tlstax.study.client_kinds import Wanted
from tlstax.study.factor import check_level
from tlstax.study.factors import CaseLevels, check_factor, whys_not
from tlstax.study.mixes import Mix
from tlstax.study.product import DEFAULT, ProductName, family_of
from tlstax.study.server_abilities import abilities_named, product_named
from tlstax.support import interruption
from tlstax.support.errors import Interrupted, MachineFault, UserMistake
from tlstax.support.plain_words import plain
from tlstax.support.text import enumerated
from tlstax.tools.doctor.network import distance
from tlstax.topics.prediction.model import STUDIES, Calibrated, Origin, calibrated, mixes_of, study_of
from tlstax.topics.prediction.other_machines import SHIPPED, scaled, shipped_parts, stand_in, unscaled
from tlstax.topics.prediction.prediction import prediction, prediction_text
from tlstax.topics.prediction.validation import predictions

MOST_MIXES = 200


def _check_parts(asked: PredictOptions) -> None:
    """UserMistake where the options of parts do not go together, or name no server."""
    if asked.server is not None:
        if "://" in asked.server:
            check_server_name(asked.server)
        check_level(check_factor("server", where="--server"), asked.server, where="--server")
    if asked.calibrate and not asked.calibration:
        raise UserMistake("--calibrate measures what --no-calibration leaves out", remedy="name one of them")
    if asked.run is not None and (asked.calibrate or not asked.calibration):
        given = "--calibrate" if asked.calibrate else "--no-calibration"
        raise UserMistake(
            f"{given} goes with what comes with tlstax, and --run names a run that is taken as it is",
            remedy="name one of them",
        )


def predict_command(options: PredictOptions) -> int:
    """Predict and show it; the exit status. UserMistake where nothing that fits was measured."""
    _check_parts(options)
    server, product = options.server, product_named(options.server)
    if options.run is not None:
        with open_store() as store:
            server, product = _server_of(store.load(options.run))
    mix = mix_of(options, server, product)
    rate = None if options.connects is None else quantities.rate(options.connects, "--connects")
    if not 0 <= options.rtt_ms <= _LONGEST_MS:
        raise UserMistake(f"--rtt-ms: {options.rtt_ms:g} is not a round trip time in milliseconds")
    watcher = ProgressLine(quiet=options.json)
    with open_store() as store:
        parts = parts_in(store, options, watcher)
    found = prediction(parts.model, mix, rtt_ms=options.rtt_ms, connects_per_s=rate)
    show_found(found, partial(prediction_text, found), as_json=options.json)
    return INTERRUPTED if parts.was_interrupted else 0


def validate_command(options: PredictOptions) -> int:
    """Predict mixes that were not measured before, measure them in a run that keeps both, and show it.

    The exit status. UserMistake for an option that cannot be.
    """
    if not 2 <= options.mixes <= MOST_MIXES:
        raise UserMistake(f"--mixes: {options.mixes} is not between 2 and {MOST_MIXES}")
    budget_s = quantities.seconds(options.budget, "--budget")
    seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    watcher = ProgressLine(quiet=options.json)
    with open_store() as store:
        parts = parts_in(store, options, watcher)
    if parts.was_interrupted:
        raise Interrupted
    model = parts.model
    with_distance = not options.near and distance().status == "ok"
    if not with_distance and not options.near:
        watcher.warn("no distances are drawn, since none can be made here (`tlstax doctor` says why)")
    known = references(model.mixes)
    mixes = drawn(model.mixes, options.mixes, seed, with_distance=with_distance)
    request = Request(
        study=validation_study(model.origin.study, known, mixes, budget_s),
        seed=seed,
        predictions=predictions(model, (*known, *mixes)),
    )
    return measure(request, MeasuringOptions(json=options.json))


_LONGEST_MS = 10_000.0


def _server_of(stored: StoredRun) -> tuple[str | None, ProductName]:
    """The first server of a run, None where the study names none, and which product it is."""
    study = stored.header.study
    server = next((str(level) for level in study.levels_of().get("server", ())), None)
    return server, study.product_at(server)


def mix_of(options: PredictOptions, server: str | None = None, product: ProductName = DEFAULT) -> Mix:
    """The mix that was asked for, at this server. Raises UserMistake, which names the option.

    A PostgreSQL is asked whether it has such a thing, as far as its name tells.
    """
    given: dict[str, Any] = {
        "product": family_of(product),
        "statements": options.queries,
        "answer_bytes": quantities.size(options.bytes, "--bytes"),
    }
    for name in (field for field in Mix.model_fields if field not in _OPTIONS):
        where = f"--{name.replace('_', '-')}"
        given[name] = check_level(check_factor(name, where=where), str(getattr(options, name)), where=where)
    try:
        mix = Mix.model_validate(given)
    except ValidationError as fault:
        error = fault.errors()[0]
        field = str(error["loc"][0]) if error["loc"] else error["type"]
        words = plain(error["msg"])
        raise UserMistake(f"--{_OPTIONS.get(field, field).replace('_', '-')}: {words}") from fault
    if product == "postgresql" and server is not None:
        case = CaseLevels.of({**mix.levels(), "server": server})
        workload, abilities = CaseWorkload.of(case, {}, product), abilities_named(server)
        for impossible in whys_not(Wanted(case, workload, server=abilities, product=product)):
            raise UserMistake(impossible)
    return mix


_OPTIONS = {"statements": "queries", "answer_bytes": "bytes", "product": "server"}
"""Options of which the name is not the field's; all others are factors by their names."""


@dataclass(frozen=True)
class Parts:
    """The parts that a prediction is computed from, and whether measuring some here was interrupted."""

    model: Calibrated
    was_interrupted: bool = False


def parts_in(store: Store, asked: PredictOptions, watcher: Watcher) -> Parts:
    """The run that was named, else the newest of the parts' study here, else what comes with tlstax, scaled.

    It is scaled by a calibration of this machine and server, which is measured where none is kept.
    UserMistake where what was asked for does not go together.
    """
    _check_parts(asked)
    if asked.run is not None:
        return Parts(calibrated(store.load(asked.run)))
    study = study_of(asked.server)
    own = None if asked.calibrate else _newest(store, study, asked.server)
    if own is not None:
        return Parts(calibrated(own, asked.server))
    server = asked.server or str(load_study(study).levels_of()["server"][0])
    return _scaled_to_here(store, server, asked, watcher)


def _scaled_to_here(store: Store, server: str, asked: PredictOptions, watcher: Watcher) -> Parts:
    parts = shipped_parts(stand_in(server)).calibrated()
    if not asked.calibration:
        if parts.origin.server != server:
            raise UserMistake(
                f"--no-calibration: of {enumerated(SHIPPED)} alone measurements come with tlstax",
                remedy=f"leave it out: half a minute of measuring here tells how {server} differs",
            )
        return Parts(unscaled(parts))
    kept = None if asked.calibrate else _newest(store, CALIBRATION, server)
    try:
        stored = kept or _measured(store, server, watcher)
    except Interrupted:
        stored = None
    except MachineFault as fault:
        if parts.origin.server != server:
            raise
        watcher.warn(f"not scaled to this machine, since nothing can be measured here: {fault.message}")
        return Parts(unscaled(parts))
    interruption.forget()
    known = () if stored is None else mixes_of(stored)
    if stored is None or stored.status == "interrupted" or not known:
        return Parts(unscaled(parts), was_interrupted=stored is None or stored.status == "interrupted")
    return Parts(scaled(parts, known, Origin.of(stored.header)))


def _measured(store: Store, server: str, watcher: Watcher) -> StoredRun:
    """A calibration of this machine and server. Interrupted and MachineFault as a run raises them."""
    watcher.step(
        f"measuring a few connections to {server}, by which to scale what was measured elsewhere: about half "
        "a minute, once (--no-calibration answers without)"
    )
    try:
        return run(Request(calibration_study(server)), store, watcher)
    finally:
        watcher.close()


def _newest(store: Store, study: str, server: str | None) -> StoredRun | None:
    """The newest run of a study that has ended, on this machine and, where one is named, of that server."""
    here = (cpu_model(), len(available_cpus()))
    for summary in store.runs():
        if summary.study != study or summary.status in _UNFINISHED[study] or not summary.valid:
            continue
        try:
            stored = store.load(summary.run)
        except MachineFault as fault:
            warn(fault.sentence())
            continue
        machine = stored.header.machine
        servers = stored.header.study.levels_of().get("server", ())
        if (machine.cpu_model, machine.cores) == here and (server is None or server in servers):
            return stored
    return None


_UNFINISHED = {
    **{study: {"running"} for study in STUDIES.values()},
    CALIBRATION: {"running", "interrupted", "failed"},
}
"""How a run of each study may have ended that says too little: of `components`, which is long, a part
does."""
