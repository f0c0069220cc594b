"""`tlstax predict --validate`: mixes drawn at random, measured, and set beside what was predicted."""

from __future__ import annotations

import secrets
from functools import partial

from tlstax.cli import quantities
from tlstax.cli.exit import INTERRUPTED
from tlstax.cli.kept import open_store
from tlstax.cli.measuring import check_answered
from tlstax.cli.predict_app import PredictOptions
from tlstax.cli.predict_command import PartsAsked, parts_in
from tlstax.cli.progress import ProgressLine
from tlstax.cli.streams import show_found
from tlstax.doctor.network import distance
from tlstax.plan.drawn_mixes import drawn, references, validation_study
from tlstax.run.pipeline import run
from tlstax.run.preparing import Request
from tlstax.support.errors import Interrupted, UserMistake
from tlstax.topics.prediction.validation import validation, validation_text

MOST_MIXES = 200


def validate_command(options: PredictOptions) -> int:
    """Measure mixes that were not measured before, and show how well they were predicted; the exit status."""
    if not 2 <= options.mixes <= MOST_MIXES:
        raise UserMistake(f"--mixes: {options.mixes} is not between 2 and {MOST_MIXES}")
    budget_s = quantities.seconds(options.budget, "--budget")
    seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    watcher = ProgressLine(quiet=options.json)
    with open_store() as store:
        asked = PartsAsked(options.run, options.server, options.calibration, options.calibrate)
        parts = parts_in(store, asked, watcher)
        if parts.was_interrupted:
            raise Interrupted
        model = parts.model
        with_distance = not options.near and distance().status == "ok"
        if not with_distance and not options.near:
            watcher.warn("no distances are drawn, since none can be made here (`tlstax doctor` says why)")
        mixes = drawn(model.mixes, options.mixes, seed, with_distance=with_distance)
        study = validation_study(model.origin.study, references(model.mixes), mixes, budget_s)
        stored = run(Request(study=study, seed=seed), store, watcher)
    found = validation(model, stored)
    show_found(found, partial(validation_text, found), as_json=options.json)
    check_answered(stored)
    return INTERRUPTED if found.status == "interrupted" else 0
