"""`tlstax predict`: bad options are one sentence each; what was not measured here is scaled, or says so."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from fake_trials import Truth, fake_run
from tlstax.cli import predict_command as predict_module
from tlstax.cli import quantities
from tlstax.cli.exit import guarded
from tlstax.cli.predict_command import Parts, mix_of, predict_command, validate_command
from tlstax.cli.server_app import PredictOptions
from tlstax.plan.prediction_studies import calibration_study
from tlstax.records.trial import StoredRun
from tlstax.run.preparing import Request
from tlstax.store import Store, open_store
from tlstax.study import Case, Study, load_study, override
from tlstax.study.mixes import Mix
from tlstax.study.product import family_of
from tlstax.study.server_abilities import product_named
from tlstax.support import interruption
from tlstax.support.errors import Interrupted, MachineFault, TlstaxError, UserMistake
from tlstax.topics.prediction.model import CLIENT_CPU, SERVER_CPU, TIME
from tlstax.topics.prediction.other_machines import shipped_parts, stand_in
from tlstax.topics.prediction.parts import parts_of
from tlstax.topics.prediction.prediction import Prediction


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path))


def calibrated_run(server: str = "mysql-9.7", times: float = 2.0) -> StoredRun:
    """A calibration in which all takes N times as long as where the parts were measured."""
    fits = shipped_parts(stand_in(server)).calibrated().fits

    def truth(case: Case) -> Truth:
        product = family_of(product_named(server))
        mix, at_once = Mix.of(case.levels, product), case.levels.connections
        assert mix is not None
        own = {name: times * fit.cost(parts_of(mix)).point for name, fit in fits[at_once].items()}
        return Truth(
            at_once * 1e6 / own[TIME],
            {"connect": own[TIME] / 2, "query": own[TIME] / 2, "operation": own[TIME]},
            own[SERVER_CPU],
            own[CLIENT_CPU],
        )

    study = calibration_study(server)
    return fake_run(study, number_of_blocks=3, noise=0.0, truth=truth, invalid=False)


class Measuring:
    """In the place of the pipeline: keeps what it is told to, or raises; counts how often it was asked."""

    def __init__(self, *found: StoredRun | TlstaxError | type[BaseException]) -> None:
        self.found = list(found)
        self.asked: list[Study] = []

    def __call__(self, request: Request, store: Store, _watcher: object) -> StoredRun:
        self.asked.append(request.study)
        found = self.found.pop(0)
        if not isinstance(found, StoredRun):
            raise found
        store.adopt(found)
        return found


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Measuring]:
    """The machine of fake runs, where measuring gives what is handed in."""
    monkeypatch.setattr(predict_module, "cpu_model", lambda: "Fake CPU @ 3.00GHz")
    monkeypatch.setattr(predict_module, "available_cpus", lambda: {0, 1})

    def measuring(*found: StoredRun | TlstaxError | type[BaseException]) -> Measuring:
        made = Measuring(*found)
        monkeypatch.setattr(predict_module, "run", made)
        return made

    return measuring


def predicted(capsys: pytest.CaptureFixture[str], **options: object) -> tuple[int, Prediction]:
    status = predict_command(PredictOptions(json=True, **options))  # type: ignore[arg-type]
    return status, Prediction.model_validate_json(capsys.readouterr().out)


def unscaled_us(capsys: pytest.CaptureFixture[str]) -> float:
    _, found = predicted(capsys, calibration=False)
    return found.of("connection")[SERVER_CPU].value or 0.0


def test_the_first_answer_is_measured_for_half_a_minute_and_the_second_is_not(
    here: Callable[..., Measuring], capsys: pytest.CaptureFixture[str]
) -> None:
    there_us = unscaled_us(capsys)
    measuring = here(calibrated_run())
    for _ in range(2):
        status, found = predicted(capsys)
        assert status == 0
        assert found.of("connection")[SERVER_CPU].value == pytest.approx(2 * there_us, rel=1e-3)
        scaling = found.calibration.scaling
        assert scaling is not None
        assert (scaling.run, scaling.processor) == ("20261121-195500-ab12", "Fake CPU @ 3.00GHz")
        assert scaling.speed == pytest.approx(2, rel=0.02)
    (study,) = measuring.asked
    assert (study.name, study.budget_s) == ("calibration", 24)


def test_without_a_calibration_nothing_is_measured_and_the_answer_is_wider(
    here: Callable[..., Measuring], capsys: pytest.CaptureFixture[str]
) -> None:
    measuring = here(calibrated_run())
    _, wide = predicted(capsys, calibration=False)
    assert measuring.asked == []
    assert wide.calibration.scaling is not None
    assert wide.calibration.scaling.run is None
    _, narrow = predicted(capsys)
    ends = [own.of("connection")[SERVER_CPU].interval for own in (wide, narrow)]
    spans = [(own.high or 0.0) / (own.low or 1.0) for own in ends if own is not None]
    assert spans[0] > 2 * spans[1]
    with pytest.raises(UserMistake, match=r"of mysql-9\.7, mariadb-11\.8 and postgresql-18 alone"):
        predict_command(PredictOptions(server="mysql-8.0.33", calibration=False))


def test_another_server_or_machine_has_a_calibration_of_its_own(
    here: Callable[..., Measuring], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = calibrated_run("mysql-8.0.33", 3.0)
    other = other.model_copy(
        update={"header": other.header.model_copy(update={"run": "20261121-195501-ab12"})}
    )
    measuring = here(calibrated_run(), other, Interrupted)
    predicted(capsys)
    _, found = predicted(capsys, server="mysql-8.0.33")
    assert found.calibration.server == "mysql-9.7"
    assert found.calibration.scaling is not None
    assert found.calibration.scaling.server == "mysql-8.0.33"
    monkeypatch.setattr(predict_module, "cpu_model", lambda: "Another CPU")
    status, found = predicted(capsys)
    assert status == 130
    assert [own.levels_of()["server"] for own in measuring.asked] == [
        ("mysql-9.7",),
        ("mysql-8.0.33",),
        ("mysql-9.7",),
    ]


def test_an_interrupted_calibration_still_answers_and_is_not_kept(
    here: Callable[..., Measuring], capsys: pytest.CaptureFixture[str]
) -> None:
    cut = calibrated_run().model_copy(update={"status": "interrupted"})
    again = calibrated_run()
    again = again.model_copy(
        update={"header": again.header.model_copy(update={"run": "20261121-195502-ab12"})}
    )
    measuring = here(Interrupted, cut, again)
    for status in (130, 130, 0):
        ended, found = predicted(capsys)
        assert ended == status
        assert found.calibration.scaling is not None
        assert (found.calibration.scaling.run is None) == (status == 130)
    assert len(measuring.asked) == 3


def test_where_nothing_can_be_measured_the_answer_comes_with_a_warning(
    here: Callable[..., Measuring], capsys: pytest.CaptureFixture[str]
) -> None:
    here(MachineFault("no server can be fetched"), MachineFault("no server can be fetched"))
    assert predict_command(PredictOptions()) == 0
    said = capsys.readouterr()
    assert "not scaled to this machine, since nothing can be measured here: no server" in said.err
    assert "not scaled to this one" in said.out
    with pytest.raises(MachineFault, match="no server"):
        predict_command(PredictOptions(server="mysql-8.0.33"))


def test_a_fault_after_an_interrupted_calibration_is_told_as_one(
    here: Callable[..., Measuring], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert here()

    def interrupted(*_: object) -> StoredRun:
        with suppress(Interrupted):
            interruption.interrupt()
        return calibrated_run().model_copy(update={"status": "interrupted"})

    def failing(*_: object, **__: object) -> None:
        raise MachineFault("it cannot be shown", remedy="none")

    monkeypatch.setattr(predict_module, "run", interrupted)
    monkeypatch.setattr(predict_module, "show_found", failing)
    assert guarded(lambda: predict_command(PredictOptions())) == 3
    assert "it cannot be shown" in capsys.readouterr().err


def test_a_new_calibration_is_measured_where_it_is_asked_for(
    here: Callable[..., Measuring], capsys: pytest.CaptureFixture[str]
) -> None:
    there_us = unscaled_us(capsys)
    second = calibrated_run(times=3.0)
    second = second.model_copy(
        update={"header": second.header.model_copy(update={"run": "20261121-195503-ab12"})}
    )
    here(calibrated_run(), second)
    predicted(capsys)
    _, found = predicted(capsys, calibrate=True)
    assert found.of("connection")[SERVER_CPU].value == pytest.approx(3 * there_us, rel=1e-3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (PredictOptions(calibration=False, calibrate=True), "--calibrate measures what --no-calibration"),
        (PredictOptions(calibration=False, run="last"), "--no-calibration goes with"),
        (PredictOptions(calibrate=True, run="last"), "--calibrate goes with"),
        (PredictOptions(server="mysql://a@b/c"), "a private server is needed here"),
    ],
)
def test_what_does_not_go_together_is_refused(options: PredictOptions, words: str) -> None:
    with pytest.raises(UserMistake, match=words):
        predict_command(options)


def test_options_are_a_mix() -> None:
    asked = PredictOptions(queries=10, bytes="2k", certificate="rsa-4096", group="default", resumption="on")
    assert mix_of(asked) == Mix(
        certificate="rsa-4096", group="default", resumption="on", statements=10, answer_bytes=2048
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (PredictOptions(tls="1.1"), "--tls"),
        (PredictOptions(tls="2"), "--tls"),
        (PredictOptions(chain=4), "--chain"),
        (PredictOptions(chain=0), "--chain"),
        (PredictOptions(client_certificate="yes"), "--client-certificate"),
        (PredictOptions(tls="off", client_certificate="on"), "--client-certificate"),
        (PredictOptions(tls="1.2", certificate="mldsa44"), "--certificate"),
        (PredictOptions(certificate="rsa-512"), "--certificate"),
        (PredictOptions(group="P-1"), "--group"),
        (PredictOptions(resumption="maybe"), "--resumption"),
        (PredictOptions(tls="off", resumption="on"), "--resumption"),
        (PredictOptions(path="stunnel"), "--path"),
        (PredictOptions(tls="off", path="router-terminate"), "--path"),
        (PredictOptions(auth="sha256_password"), "--auth"),
        (PredictOptions(tls="1.2", certificate="ec-p384"), "--group"),
        (PredictOptions(queries=100_000), "--queries"),
        (PredictOptions(bytes="many"), "--bytes"),
        (PredictOptions(bytes="9M"), "--bytes"),
        (PredictOptions(connects="often"), "--connects"),
        (PredictOptions(rtt_ms=-1), "--rtt-ms"),
        (PredictOptions(rtt_ms=float("nan")), "--rtt-ms"),
    ],
)
def test_a_bad_option_is_named(options: PredictOptions, words: str) -> None:
    with pytest.raises(UserMistake) as caught:
        predict_command(options)
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (PredictOptions(resumption="on"), "--resumption: PostgreSQL resumes no TLS session"),
        (PredictOptions(compression="zlib"), "--compression: PostgreSQL's protocol has no compression"),
        (PredictOptions(auth="mysql_native_password"), "--auth"),
        (PredictOptions(auth="cert"), "--auth"),
        (PredictOptions(tls="off", path="router-encrypt"), "--path"),
        (PredictOptions(tls="off", path="pgbouncer", auth="md5"), "--path"),
        (PredictOptions(tls="off", path="pgbouncer", protocol="prepared"), "--protocol"),
    ],
)
def test_what_postgresql_has_not_is_named(options: PredictOptions, words: str) -> None:
    with pytest.raises(UserMistake) as caught:
        predict_command(replace(options, server="postgresql-18"))
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (PredictOptions(tls="1.3-direct"), "--tls: MySQL and MariaDB begin in the clear"),
        (PredictOptions(protocol="prepared"), "--protocol"),
        (PredictOptions(server="postgresql-15", tls="1.3-direct"), "postgresql-15 cannot begin TLS at once"),
        (PredictOptions(server="postgres://a@b/c"), "a private server is needed here"),
    ],
)
def test_what_another_server_has_is_refused(options: PredictOptions, words: str) -> None:
    with pytest.raises(UserMistake) as caught:
        predict_command(options)
    assert words in caught.value.message


def test_a_postgresql_is_calibrated_with_mixes_of_its_own(
    here: Callable[..., Measuring], capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"server": "postgresql-18", "tls": "1.3-direct", "auth": "md5", "protocol": "prepared"}
    _, there = predicted(capsys, **options, calibration=False)
    measuring = here(calibrated_run("postgresql-18"))
    _, found = predicted(capsys, **options)
    assert found.mix.product == "postgresql"
    assert found.of("connection")[SERVER_CPU].value == pytest.approx(
        2 * (there.of("connection")[SERVER_CPU].value or 0.0), rel=1e-3
    )
    (study,) = measuring.asked
    assert study.levels_of()["server"] == ("postgresql-18",)
    assert {"auth": "trust"}.items() <= study.treatments[-2].items()


def test_the_run_that_is_named_says_which_server_it_is() -> None:
    truth = Truth(1000.0, {"connect": 100.0, "query": 100.0, "operation": 300.0}, 300.0, 100.0)
    study = load_study("postgres-components")
    stored = fake_run(study, number_of_blocks=1, noise=0.0, truth=lambda _: truth, invalid=False)
    with open_store() as store:
        store.adopt(stored)
    with pytest.raises(UserMistake, match="PostgreSQL resumes no TLS session"):
        predict_command(PredictOptions(run=stored.header.run, resumption="on"))


@pytest.mark.parametrize("mixes", [1, 201])
def test_a_validation_has_some_mixes_and_not_too_many(mixes: int) -> None:
    with pytest.raises(UserMistake, match="--mixes"):
        validate_command(PredictOptions(mixes=mixes))


def test_a_share_may_be_all_of_it() -> None:
    assert [quantities.share(text) for text in ("10%", "0.5", "100%", "1")] == [0.1, 0.5, 1.0, 1.0]
    with pytest.raises(UserMistake, match="--share"):
        quantities.share("0%")


def test_a_validation_measures_over_what_the_parts_were_measured_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The libraries and servers of the calibration, not those of the study as it is built in."""
    study = load_study("components")
    for factor, level in (("tls_library", "openssl-3.6"), ("server", "mariadb-11.8")):
        study = override(study, factor, (level,))
    parts = shipped_parts("mysql-9.7").calibrated()
    model = replace(parts, origin=replace(parts.origin, study=study))
    asked: list[Request] = []

    def measured(request: Request, *_: object) -> NoReturn:
        asked.append(request)
        raise Interrupted

    monkeypatch.setattr(predict_module, "parts_in", lambda *_: Parts(model))
    monkeypatch.setattr(predict_module, "measure", measured)
    with pytest.raises(Interrupted):
        validate_command(PredictOptions(mixes=5, seed=3, near=True))
    (found,) = asked
    assert found.study.levels_of()["tls_library"] == ("openssl-3.6",)
    assert found.study.levels_of()["server"] == ("mariadb-11.8",)
    assert found.predictions is not None
    predicted = [own.levels for own in found.predictions.cases]
    assert len(predicted) == 2 * (3 + 5)
    included = list(found.study.included())
    assert all(any(own.items() <= case.items() for case in included) for own in predicted)
