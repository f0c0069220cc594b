"""A signal whose exception came to nobody ends the run all the same, at the next trial."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from pydantic import BaseModel, field_serializer
from pydantic_core import PydanticSerializationError

from fake_trials import fake_run
from tlstax.cli import measuring
from tlstax.cli.benches_command import bench_command
from tlstax.cli.exit import _Ending, guarded
from tlstax.cli.options import BenchOptions, MeasuringOptions
from tlstax.records.trial import StoredRun
from tlstax.run.preparing import Request
from tlstax.study import load_study
from tlstax.support import interruption
from tlstax.support.errors import Interrupted, MachineFault
from tlstax.tools.probes.storm_search import TOPIC


@pytest.fixture(autouse=True)
def anew() -> Iterator[None]:
    interruption.forget()
    yield
    interruption.forget()


def dropped(ending: _Ending) -> None:
    """The handler runs where exceptions are dropped, as they are in a finalizer."""
    with pytest.raises(Interrupted):
        ending.interrupt(signal.SIGTERM, None)


def test_an_interruption_that_was_dropped_is_raised_at_the_next_trial() -> None:
    interruption.check()
    dropped(_Ending())
    with pytest.raises(Interrupted):
        interruption.check()


def test_one_that_is_on_its_way_is_not_raised_twice() -> None:
    ending = _Ending()
    try:
        ending.interrupt(signal.SIGTERM, None)
    except Interrupted:
        interruption.check()


def test_nothing_is_remembered_of_an_earlier_command() -> None:
    dropped(_Ending())
    interruption.forget()
    interruption.check()


class Noted(BaseModel):
    """As it is written, a signal comes."""

    text: str

    @field_serializer("text")
    def written(self, text: str) -> str:
        if text == "signal":
            _Ending().interrupt(signal.SIGINT, None)
        raise ValueError(text)


def test_an_interruption_of_which_a_library_made_its_own_error_is_an_interruption_again() -> None:
    with pytest.raises(Interrupted), interruption.restored():
        Noted(text="signal").model_dump_json()


def test_an_error_that_nobody_asked_for_stays_what_it_is() -> None:
    with pytest.raises(PydanticSerializationError, match="a mistake"), interruption.restored():
        Noted(text="a mistake").model_dump_json()


FAULT = MachineFault("it cannot be shown", remedy="none")


def test_a_report_that_fails_after_an_interruption_is_no_interruption(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The run has ended in order by then: a fault in what shows it is told as one. So it is with a bench."""

    def interrupted(*_: object) -> StoredRun:
        dropped(_Ending())
        return fake_run()

    def failing(*_: object, **__: object) -> None:
        raise FAULT

    monkeypatch.setattr("tlstax.run.pipeline.run", interrupted)
    monkeypatch.setattr("tlstax.cli.report_command.report_measured", failing)
    monkeypatch.setattr("tlstax.cli.benches_command.show_bench", failing)
    request = Request(study=load_study("tax"))
    assert guarded(lambda: measuring.measured(request, MeasuringOptions())) == 3
    interruption.forget()
    assert guarded(lambda: bench_command(TOPIC, BenchOptions(), interrupted)) == 3
    assert capfd.readouterr().err.count("it cannot be shown") == 2
