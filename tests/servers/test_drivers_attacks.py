"""A driver on a hostile wire, on a real server: what it gives away is seen, and what it refuses too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Home

from tlstax.run.bench import Needs, Wanted, open_private_bench
from tlstax.specimens.server_build import ServerBuild
from tlstax.support.errors import MachineFault
from tlstax.tools.probes.drivers.asking import Ask, attacks, made_ambush
from tlstax.tools.probes.drivers.probed import TRICKS, DriverRow, ProbeDocument

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def found(
    tmp_path_factory: pytest.TempPathFactory, mysql_build: object, own_drivers: Path
) -> Iterator[tuple[DriverRow, str]]:
    """What a small program around PyMySQL 1.2 does, and all that was printed."""
    assert mysql_build
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TLSTAX_DRIVERS", str(own_drivers))
        home = Home(tmp_path_factory.mktemp("attacks"))
        done = home.run("drivers", "probe", "plain-driver", "--no-costs", "--attacks", "--json")
        assert done.returncode == 0, done.stderr
        (row,) = ProbeDocument.model_validate(json.loads(done.stdout)).drivers
        yield row, done.stdout


def test_with_nothing_said_it_goes_on_in_the_clear_and_gives_its_password(
    found: tuple[DriverRow, str],
) -> None:
    row, _ = found
    outcomes = {attack.trick: attack.outcome for attack in row.attacks if attack.tls == "unset"}
    assert outcomes == {
        "offer taken away": "went on",
        "clear password": "password",
        "old password": "refused",
        "key of nobody": "password",
        "file": "refused",
        "certificate of nobody": "password",
    }


def test_where_it_verifies_nothing_is_given_away(found: tuple[DriverRow, str]) -> None:
    row, _ = found
    outcomes = {attack.trick: attack.outcome for attack in row.attacks if attack.tls == "verified"}
    assert outcomes == {"offer taken away": "refused", "certificate of nobody": "refused"}


def test_each_outcome_has_what_the_driver_sent_and_no_password(found: tuple[DriverRow, str]) -> None:
    row, printed = found
    for attack in row.attacks:
        assert attack.trick in TRICKS
        assert bool(attack.words) or attack.outcome == "went on"
        if attack.outcome != "refused":
            assert attack.frames
    (given,) = [a for a in row.attacks if (a.tls, a.trick) == ("unset", "clear password")]
    # A generated password has 32 characters; what was sent is as long, and an end.
    assert given.frames[-1].length == 33
    assert given.frames[-1].hex == "2a" * 32 + "00"
    assert "2a" * 32 in printed


def test_a_program_that_is_gone_has_refused_nothing(tmp_path: Path, mysql_build: ServerBuild) -> None:
    needs = Needs(rows=10, connections=1, seed=1, duration_s=0.2)
    with open_private_bench(needs, lambda _: None, Wanted(build=mysql_build)) as bench:
        ask = Ask(driver="plain-driver", tls="unset")
        with pytest.raises(MachineFault, match=r"plain-driver neither connected nor said why: "):
            list(attacks(ask, [str(tmp_path / "gone")], made_ambush(bench, tmp_path)))
