"""`tlstax predict`: bad options are one sentence each, and a missing measurement is named."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest

from tlstax.cli import validate_command as validate_module
from tlstax.cli.advise_command import _share
from tlstax.cli.predict_command import PredictOptions, mix_of, predict_command
from tlstax.cli.validate_command import ValidateOptions, validate_command
from tlstax.run.preparing import Request
from tlstax.study import Study, load_study, override
from tlstax.study.case_levels import CaseLevels
from tlstax.study.mixes import Mix
from tlstax.support.errors import Interrupted, UserMistake


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path))


def test_without_a_measurement_it_names_the_command_that_makes_it() -> None:
    with pytest.raises(UserMistake, match="was not measured here yet") as caught:
        predict_command(PredictOptions())
    assert "study run components" in str(caught.value.remedy)
    with pytest.raises(UserMistake) as of_server:
        predict_command(PredictOptions(server="mysql-8.0.33"))
    assert "--set server=mysql-8.0.33" in str(of_server.value.remedy)
    with pytest.raises(UserMistake, match="not measured"):
        validate_command(ValidateOptions())


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


@pytest.mark.parametrize("mixes", [1, 201])
def test_a_validation_has_some_mixes_and_not_too_many(mixes: int) -> None:
    with pytest.raises(UserMistake, match="--mixes"):
        validate_command(ValidateOptions(mixes=mixes))


def test_a_share_may_be_all_of_it() -> None:
    assert [_share(text) for text in ("10%", "0.5", "100%", "1")] == [0.1, 0.5, 1.0, 1.0]
    with pytest.raises(UserMistake, match="--share"):
        _share("0%")


def test_a_validation_measures_over_what_the_parts_were_measured_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The libraries and servers of the calibration, not those of the study as it is built in."""
    study = load_study("components")
    for factor, level in (("tls_library", "openssl-3.6"), ("server", "mariadb-11.8")):
        study = override(study, factor, (level,))
    mixes = tuple(mix for own in study.treatments if (mix := Mix.of(CaseLevels.of(own))) is not None)
    model = SimpleNamespace(header=SimpleNamespace(study=study), mixes=mixes)
    asked: list[Study] = []

    def measured(request: Request, *_: object) -> NoReturn:
        asked.append(request.study)
        raise Interrupted

    monkeypatch.setattr(validate_module, "calibration_in", lambda *_: model)
    monkeypatch.setattr(validate_module, "run", measured)
    with pytest.raises(Interrupted):
        validate_command(ValidateOptions(mixes=5, seed=3, near=True))
    (found,) = asked
    assert found.levels_of()["tls_library"] == ("openssl-3.6",)
    assert found.levels_of()["server"] == ("mariadb-11.8",)
