"""What is set at a server for a trial is put back, whatever becomes of the trial or of the server."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tlstax.products.product import product_named
from tlstax.run import server_variables
from tlstax.run.benches import Benches
from tlstax.sql.database import SqlError
from tlstax.study import Level, parse_study
from tlstax.study.factors import CaseLevels, ServerChoice
from tlstax.support.errors import MachineFault, UserMistake

OFF = CaseLevels.of({"tls": "off", "tls_switch": "server", "durability": "none"})
HAD = ("TLSv1.2,TLSv1.3", 1)


class FakeServer:
    """A server as the laboratory's connection sees it; `fails_at` is a statement that it does not survive."""

    def __init__(self) -> None:
        self.versions, self.flushing = HAD
        self.in_force = self.versions
        self.fails_at = ""
        self.said: list[str] = []

    def rows(self, statement: str, values: tuple[Any, ...] = ()) -> list[tuple[object, ...]]:
        self.said.append(statement)
        if self.fails_at and statement.startswith(self.fails_at):
            raise SqlError(2013, "Lost connection to MySQL server during query")
        if "SELECT" in statement:
            return [(self.versions if "tls_version" in statement else self.flushing,)]
        if "tls_version" in statement:
            (self.versions,) = values or ("",)
        elif "innodb" in statement:
            (self.flushing,) = values or (0,)
        elif "RELOAD" in statement and (self.versions or "NO ROLLBACK" in statement):
            self.in_force = self.versions
        return []

    @property
    def state(self) -> tuple[str, str, int]:
        return self.versions, self.in_force, self.flushing


def bench(server: FakeServer) -> Any:
    own = SimpleNamespace(resume=bool, pause=bool, product=product_named("mysql"))
    return SimpleNamespace(admin=server, server=own)


def test_it_is_so_within_and_as_before_behind() -> None:
    server = FakeServer()
    with server_variables.applied(OFF, bench(server)):
        assert server.state == ("", "", 0)
    assert server.state == (HAD[0], *HAD)


def test_it_is_put_back_when_the_trial_fails() -> None:
    server = FakeServer()
    with pytest.raises(ZeroDivisionError), server_variables.applied(OFF, bench(server)):
        raise ZeroDivisionError
    assert server.state == (HAD[0], *HAD)


def test_what_was_set_is_put_back_when_the_rest_cannot_be_set() -> None:
    server = FakeServer()
    server.fails_at = "SET GLOBAL innodb"
    sentence = r"did not carry out SET GLOBAL innodb.* \(Lost connection"
    with pytest.raises(MachineFault, match=sentence), server_variables.applied(OFF, bench(server)):
        pytest.fail("the block must not begin")
    assert server.state == (HAD[0], *HAD)


def test_a_trial_in_which_the_server_died_tells_its_own_failure() -> None:
    server = FakeServer()

    def dies() -> None:
        server.fails_at = "S"
        raise MachineFault("it died")

    with pytest.raises(MachineFault, match="it died"), server_variables.applied(OFF, bench(server)):
        dies()


def test_a_server_that_cannot_be_put_back_makes_the_trial_fail() -> None:
    server = FakeServer()
    with pytest.raises(MachineFault, match="ALTER INSTANCE"), server_variables.applied(OFF, bench(server)):
        server.fails_at = "ALTER"
    assert server.flushing == 1, "what could be put back was"


@pytest.mark.parametrize(
    "levels",
    [{"tls": "off"}, {"tls": "off", "tls_switch": "client"}, {"tls": "1.3", "tls_switch": "server"}],
)
def test_a_server_is_left_alone_where_there_is_nothing_to_set(levels: dict[str, Level]) -> None:
    server = FakeServer()
    with server_variables.applied(CaseLevels.of(levels), bench(server)):
        assert server.said == []


def test_a_server_that_cannot_switch_tls_ends_the_study_before_its_first_trial() -> None:
    study = parse_study(
        """
        name = "switched"
        title = "t"
        question = "q"
        baseline = { tls = "off" }
        [factors]
        server = ["mariadb-11.8"]
        tls = ["off", "1.3"]
        tls_switch = ["server"]
        workload = ["point-select"]
        connections = [1]
        """,
        where="switched.toml",
    )
    (choice,) = {CaseLevels.of(levels).server_choice for levels in study.included()}
    assert choice == ServerChoice("mariadb-11.8")
    benches = Benches(None, (), benches={choice: bench(FakeServer())})  # type: ignore[arg-type]
    with pytest.raises(UserMistake, match=r"mariadb-11\.8 cannot turn TLS off and on while it runs"):
        server_variables.check_switchable(study, benches)
