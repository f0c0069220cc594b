"""All that a run shows of drivers is put together, and a run without drivers shows nothing."""

from __future__ import annotations

from fake_driver_runs import Planted, fake_study_run
from sampled_trials import measured
from tlstax.findings.core.series import series, valid_values
from tlstax.findings.drivers.drivers import caveats_of_drivers, drivers
from tlstax.plan.order import cases
from tlstax.study import load_study, override

WHOLE = load_study("driver-defaults")
STUDY = override(WHOLE, "workload", ["words-insert"]).model_copy(
    update={
        "capture": False,
        "treatments": WHOLE.treatments[:4],
        "exclude": (),
        "contrasts": (),
        "statements": (),
    }
)


def test_defaults_splits_and_warm_ups_are_told_of_the_run() -> None:
    run = fake_study_run(STUDY, Planted(), blocks=2)
    shown = drivers(series(STUDY, run.trials, valid_values(STUDY, run.trials)), run.trials)
    assert shown is not None
    encrypts = {
        "Connector/J 5.1.6": "never",
        "Connector/J 5.1.49": "always",
        "Connector/J 8.0.16": "always",
        "Connector/J 8.0.16 with useSSL=false": "never",
    }
    assert {each.label: each.encrypts for each in shown.defaults} == encrypts
    assert [each.label for each in shown.warmups] == list(encrypts)
    (split,) = [each for each in shown.splits if each.label == "Connector/J 8.0.16"]
    assert "encryption" in [part.kind for part in split.parts]
    (told,) = caveats_of_drivers(STUDY, shown)
    assert told.startswith("Connector/J 5.1.49, ")
    assert "in 1 of 2 trials the driver was measured before it was steady" in told


def test_a_run_without_drivers_shows_nothing_of_them() -> None:
    study = override(load_study("tax"), "workload", ["reconnect"])
    records = [measured(case, 0) for case in cases(study)]
    assert drivers(series(study, records, valid_values(study, records)), records) is None
    assert caveats_of_drivers(study, None) == ()
