"""`tlstax predict`: what a way of using a server would cost, from what was measured here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from tlstax.cli import quantities
from tlstax.cli.kept import open_store
from tlstax.cli.streams import colourful, show, show_json, tell, terminal_width
from tlstax.findings.model.calibration import STUDY, Calibrated, calibrated
from tlstax.findings.model.predict import prediction
from tlstax.report.prediction.text import prediction_text
from tlstax.specimens.resolve import check_server_name
from tlstax.store import Store
from tlstax.study import load_study
from tlstax.study.factors import check_factor, check_level
from tlstax.study.level_names import DEFAULT_AUTH, DIRECT
from tlstax.study.mixes import Mix
from tlstax.support.errors import MachineFault, UserMistake


@dataclass(frozen=True)
class PredictOptions:
    """The options of `tlstax predict` as they were typed; `run` names the run whose parts are used."""

    connects: str | None = None
    queries: int = 1
    bytes: str = "120"
    rtt_ms: float = 0.0
    tls: str = "1.3"
    certificate: str = "rsa-2048"
    chain: int = 1
    client_certificate: str = "off"
    group: str = "P-256"
    resumption: str = "off"
    auth: str = DEFAULT_AUTH
    path: str = DIRECT
    compression: str = "off"
    server: str | None = None
    run: str | None = None
    json: bool = False


def predict_command(options: PredictOptions) -> int:
    """Predict and show it; the exit status. UserMistake where nothing that fits was measured."""
    mix = mix_of(options)
    if options.server is not None:
        check_level(check_factor("server", where="--server"), options.server, where="--server")
    rate = None if options.connects is None else quantities.rate(options.connects, "--connects")
    if not 0 <= options.rtt_ms <= _LONGEST_MS:
        raise UserMistake(f"--rtt-ms: {options.rtt_ms:g} is not a round trip time in milliseconds")
    with open_store() as store:
        model = calibration_in(store, options.run, options.server)
    found = prediction(model, mix, rtt_ms=options.rtt_ms, connects_per_s=rate)
    if options.json:
        show_json(found.model_dump_json(indent=2, by_alias=True) + "\n")
    else:
        colour = colourful()
        show(prediction_text(found, width=terminal_width(), colour=colour), coloured=colour)
    return 0


_LONGEST_MS = 10_000.0


def mix_of(options: PredictOptions) -> Mix:
    """The mix that was asked for. Raises UserMistake that names the option."""
    given: dict[str, Any] = {
        "statements": options.queries,
        "answer_bytes": quantities.size(options.bytes, "--bytes"),
    }
    for name in (field for field in Mix.model_fields if field not in _OPTIONS):
        where = f"--{name.replace('_', '-')}"
        given[name] = check_level(check_factor(name, where=where), str(getattr(options, name)), where=where)
    try:
        return Mix.model_validate(given)
    except ValidationError as fault:
        error = fault.errors()[0]
        field = str(error["loc"][0]) if error["loc"] else error["type"]
        words = error["msg"].removeprefix("Value error, ")
        raise UserMistake(f"--{_OPTIONS.get(field, field).replace('_', '-')}: {words}") from fault


_OPTIONS = {"statements": "queries", "answer_bytes": "bytes"}
"""Options of which the name is not the field's; all others are factors by their names."""


def calibration_in(store: Store, run: str | None, server: str | None) -> Calibrated:
    """The newest run of `components` that is complete, or the one named. UserMistake where there is none."""
    if server is not None and "://" in server:
        check_server_name(server)
    if run is not None:
        return calibrated(store.load(run))
    for summary in store.runs():
        if summary.study == STUDY and summary.status != "running" and summary.valid:
            try:
                stored = store.load(summary.run)
            except MachineFault as fault:
                tell(f"tlstax: {fault.sentence()}")
                continue
            if server is None or server in stored.header.study.levels_of().get("server", ()):
                return calibrated(stored)
    chosen = f" --set server={server}" if server else ""
    minutes = load_study(STUDY).budget_s / 60
    raise UserMistake(
        f"what the parts of a connection cost{f' to {server}' if server else ''} was not measured here yet",
        remedy=f"`tlstax study run {STUDY}{chosen}` does that in {minutes:.0f} minutes",
    )
