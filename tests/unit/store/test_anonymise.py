"""What leaves the machine: of every text only what is known to be public, whatever else stands there."""

from __future__ import annotations

import re
import typing
from types import UnionType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captured_runs import captured_run
from fake_trials import fake_run
from profiled_runs import profiled_run
from report_runs import exact_run, guest, hostile, noisy_run
from tlstax.contract import Account, ErrorEvent, Frozen, TcpEndpoint, TlsOn
from tlstax.contract.job import UnixEndpoint
from tlstax.records.beforehand import ExternalServer
from tlstax.records.public_texts import Public, open_fields, types_below
from tlstax.records.trial import Changes, LoadMachines, Specimen, StoredRun, Verdict
from tlstax.store import anonymise
from tlstax.store.anonymise import anonymous
from tlstax.study import level_names, load_study, override, workloads
from tlstax.study.factors import CaseLevels
from tlstax.topics.answer.document import document

RUN = fake_run(number_of_blocks=2)
DIGEST = "d7" * 32
PUBLIC = Public(anonymise.fields(anonymise._Names(RUN.header)), anonymise.NOT_AT_ALL)

NAMES = st.from_regex(r"[a-z]{0,4}(jd|qz|xv)[a-z]{0,6}", fullmatch=True)
SHAPES = st.sampled_from(
    (
        "{}",
        "{}.example",
        "/home/{}/ca.pem",
        "8.0.36-{}",
        "'{}'@'localhost'",
        "Access denied for user '{}'@'localhost' (using password: YES)",
        "the server closed the connection of {}; try again",
        "SELECT secret FROM {} WHERE id = 1",
        "OpenSSL 3.0.{} 7 Feb 2026",
        "main [{}]",
        "option.{}",
        "Com_{}: {}",
        "127.0.0.1 {}",
        "TLS_{}_SHA256",
    )
)


@pytest.mark.parametrize(
    ("path", "name"),
    [("/run/user/jd/tlstax/.s.PGSQL.50123", ".s.PGSQL.5432"), ("/run/jd/mysql.sock", "mysqld.sock")],
)
def test_a_socket_is_called_as_its_product_calls_it(path: str, name: str) -> None:
    (left,) = {PUBLIC.of(UnixEndpoint(path=path)).path}
    assert left.endswith(f"/{name}")
    assert "jd" not in left
    assert PUBLIC.of(UnixEndpoint(path=left)).path == left


def test_what_is_said_of_a_postgresql_stays() -> None:
    said = Verdict(value="invalid", reasons=("the server does not read its settings again",))
    assert PUBLIC.of(said) == said


@pytest.mark.parametrize("product", ["mysql", "postgresql"])
@pytest.mark.parametrize("name", level_names.WORKLOADS)
def test_statements_of_our_own_stay(name: str, product: Any) -> None:
    made = workloads.built_in(name, "tlstax_sbtest1", 10, product)
    for statement in (own.sql for part in made.transactions for own in part.statements):
        # A text in one is not looked into.
        if re.search("'[A-Za-z]", statement) is None:
            assert anonymise._sql(statement) == statement


@pytest.mark.parametrize(
    ("statement", "left"),
    [
        ('SELECT c FROM jd."Orders" WHERE id = {id}', "SELECT left out"),
        ("SELECT c FROM jd.sbtest1 WHERE id = {id}", "SELECT left out"),
        ('SELECT c FROM "2024" WHERE id = {id}', "SELECT left out"),
        ("SELECT c FROM `2024` WHERE id = {id}", "SELECT left out"),
        ("SELECT c FROM sbtest1 WHERE c = $jd$a text$jd$", "SELECT left out"),
        ("SELECT c FROM sbtest1 WHERE c = E'\\x6a64'", "SELECT left out"),
        ('UPDATE U&"jd\\0061" SET c = {c}', "UPDATE left out"),
        ("WITH jd AS (SELECT 1) SELECT c FROM jd", "SELECT left out"),
        ("SELECT jd.total(id) FROM sbtest1", "SELECT left out"),
    ],
)
def test_nothing_of_a_users_statement_stays_but_what_it_does(statement: str, left: str) -> None:
    """By PostgreSQL's ways of naming too: schemas, quoted names, dollar quotes, escapes, functions."""
    assert anonymise._sql(statement) == left


def test_every_field_is_classified() -> None:
    assert anonymise.unclassified() == []


@pytest.mark.parametrize("name", ["crud-tls", "openssl-versions", "pool-or-reconnect", "tunnels"])
def test_what_a_built_in_study_publishes_stays_as_it_is(name: str) -> None:
    """A cell that is left out of a table would move those behind it: such a run could not be opened."""
    study = load_study(name)
    header = RUN.header.model_copy(update={"study": study})
    kept = anonymous(RUN.model_copy(update={"header": header, "trials": ()})).header.study
    for field in ("parts", "statements", "published", "processor_tables", "time_tables"):
        assert getattr(kept, field) == getattr(study, field)


def test_a_field_that_is_not_classified_is_left_out_and_noticed() -> None:
    class New(Frozen):
        said: str
        maybe: str | None
        many: tuple[str, ...]
        case: CaseLevels
        number: int

    case = CaseLevels.of({"server": "jd"})
    kept = Public({}).of(New(said="jd", maybe="jd", many=("jd",), case=case, number=3))
    assert kept == New(said="", maybe=None, many=(), case=CaseLevels(), number=3)
    assert Public({}).unclassified(New) == ["New.case", "New.many", "New.maybe", "New.said"]


def holding(annotation: Any, text: str) -> Any:
    """A value of this type in which the text stands wherever any may; nothing is checked."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Union or isinstance(annotation, UnionType):
        texts = [own for own in arguments if own is str or typing.get_origin(own)]
        return holding((texts or list(arguments))[0], text)
    if origin is dict:
        return {holding(arguments[0], text): holding(arguments[1], text)}
    if origin is tuple:
        return (holding(arguments[0], text),)
    if origin in {typing.Literal, typing.Annotated}:
        return holding(arguments[0], text) if origin is typing.Annotated else arguments[0]
    return text if annotation is str else 1


def texts_in(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for pair in value.items() for own in pair for text in texts_in(own)]
    if isinstance(value, list | tuple):
        return [text for own in value for text in texts_in(own)]
    return [value] if isinstance(value, str) else []


@settings(max_examples=60, deadline=None)
@given(name=NAMES, shape=SHAPES)
def test_nothing_that_is_planted_in_any_field_stays(name: str, shape: str) -> None:
    text = shape.replace("{}", name)
    for kind in types_below(StoredRun):
        for field in open_fields(kind):
            kept = PUBLIC.field(kind, field, holding(kind.model_fields[field].annotation, text))
            assert not [said for said in texts_in(kept) if name in said], f"{kind.__name__}.{field}"


@pytest.mark.parametrize("field", ["certificate_sha256", "password", "hex", "client_log", "last_line"])
def test_what_leads_to_a_name_does_not_stay_whatever_its_form(field: str) -> None:
    """A certificate's digest is in public logs beside the names that it is for."""
    public = Public(anonymise.fields(anonymise._Names()), anonymise.NOT_AT_ALL)
    kinds = [kind for kind in types_below(StoredRun) if field in kind.model_fields]
    assert kinds
    for kind in kinds:
        assert not public.field(kind, field, DIGEST)


def external_run() -> StoredRun:
    """A run at an external server, with everything that names it, on machines that have names."""
    url = "mysql://jd@db.example:3307/zq"
    server = Specimen(
        name="db.example:3307", kind="server", version="9.7.4-jdcorp", origin=f"a server at {url}"
    )
    load = LoadMachines(server_address="db.example", machines={"client-of-jd": RUN.header.machine}, offered=1)
    denied = "Access denied for user 'jd'@'10.1.2.3' (using password: YES)"
    trials = tuple(
        own.model_copy(
            update={
                "job": own.job.model_copy(
                    update={
                        "endpoint": TcpEndpoint(host="db.example", port=3307),
                        "account": Account(user="jd", password="", database="zq"),
                        "tls": TlsOn(verify="ca", ca_file="/etc/jdcorp/ca.pem", server_name="db.example"),
                    }
                ),
                "machine": "client-of-jd",
                "failure": denied,
                "client_errors": (
                    ErrorEvent(kind="access_denied", fault="server", fatal=True, message=denied, code=1045),
                ),
                "verdict": Verdict(value="invalid", reasons=(denied,)),
                "server_log": "db.example is up",
                "client_log": "/somewhere/jd/.cache/tlstax/engine: no such file",
                "claim": None,
            }
        )
        for own in RUN.trials
        if own.job is not None
    )
    header = RUN.header.model_copy(
        update={
            "guest": True,
            "specimens": (server,),
            "machines": {"client-of-jd": RUN.header.machine},
            "load": load,
        }
    )
    return StoredRun(header=header, status="failed", stopped_because=denied, trials=trials)


def run_at_several() -> StoredRun:
    """A run at two external servers and two of our own, one of which the user added."""
    run = external_run()
    labels, ours = ("db.example:3307", "10.1.2.3:3306"), ("jd-build", "mysql-9.7")
    first = run.header.specimens[0]
    external = tuple(
        ExternalServer(
            server=label,
            max_connections=151,
            in_use=1,
            at_most=37,
            promised=35,
            no_plaintext=f"{label} accepts encrypted connections only (require_secure_transport is ON)",
        )
        for label in labels
    )
    header = run.header.model_copy(
        update={
            "study": override(run.header.study, "server", [*labels, *ours], external=labels),
            "changes": Changes(set=(f"server={','.join((*labels, *ours))}",)),
            "specimens": tuple(first.model_copy(update={"name": name}) for name in (*labels, *ours)),
            "external": external,
        }
    )
    case = run.trials[0].trial.case
    trials = tuple(
        record.model_copy(
            update={
                "trial": record.trial.model_copy(
                    update={"case": case.model_copy(update={"levels": case.levels | {"server": label}})}
                )
            }
        )
        for record, label in zip(run.trials, (*labels, *ours), strict=False)
    )
    return run.model_copy(update={"header": header, "trials": trials})


def test_several_servers_stay_apart_and_are_the_same_wherever_they_are_named() -> None:
    found = anonymous(run_at_several())
    for text in texts_in(found.model_dump(mode="json", exclude={"trials": {"__all__": {"done"}}})):
        assert not re.search(r"db\.example|\bzq\b|jd|10\.1\.2\.3|3307", text), text
    names = ("server.invalid", "server-1.invalid", "server-1", "mysql-9.7")
    assert found.header.study.levels_of()["server"] == names
    assert tuple(specimen.name for specimen in found.header.specimens) == names
    assert tuple(own.server for own in found.header.external) == names[:2]
    assert found.header.changes.set == (f"server={','.join(names)}",)
    assert tuple(record.trial.case.levels["server"] for record in found.trials[:4]) == names


def test_a_run_at_an_external_server_says_nothing_of_it() -> None:
    run = external_run()
    found = anonymous(run)
    for text in texts_in(found.model_dump(mode="json", exclude={"trials": {"__all__": {"done"}}})):
        assert not re.search(r"db\.example|\bzq\b|jd|/etc|/somewhere|10\.1\.2\.3|denied for", text), text
    assert found.trials[0].failure == "the client ended: access denied 1045", "by its kind and number"
    assert found.trials[0].verdict.reasons == (found.trials[0].failure,)
    assert (found.header.specimens[0].name, found.header.specimens[0].version) == ("server.invalid", "9.7.4")
    assert "3307" not in re.findall(r'"port":(\d+)', found.model_dump_json())
    assert list(found.header.machines) == ["machine-1"] == [found.trials[0].machine]
    before, after = run.trials[0].done, found.trials[0].done
    assert before is not None
    assert after == before.model_copy(update={"row_samples": ()}), "what was measured is as it was"


@pytest.mark.parametrize(
    "make", [exact_run, noisy_run, guest, hostile, profiled_run, captured_run, external_run, run_at_several]
)
def test_once_is_enough(make: Any) -> None:
    """By this `publish` knows a pack that has nothing else in it."""
    found = anonymous(make())
    assert anonymous(found) == found


@pytest.mark.parametrize("make", [exact_run, profiled_run])
def test_the_report_of_a_private_server_stays_as_it_was(make: Any) -> None:
    before, after = document(make()), document(anonymous(make()))
    for field in ("answer", "findings", "design", "caveats", "status", "trials"):
        assert getattr(after, field, None) == getattr(before, field, None), field


def test_reasons_are_ours_without_what_was_put_in() -> None:
    said = anonymise._sentence
    for ours in (
        "12 handshakes used X25519, not P-256",
        "1 handshake was resumed where none may be",
        "the server counted 1 TLS handshake (Ssl_finished_accepts), the client 2",
    ):
        assert said(ours) == ours
    assert (
        said("rows differ from the server's: SELECT * FROM jd")
        == "rows differ from the server's: SELECT * FROM …"
    )
    assert said("the client was sent to jd.example, which is not loopback") == (
        "the client was sent to …, which is not loopback"
    )
    assert said("ERROR: jd has no room") == anonymise.UNTOLD


def test_what_passed_a_tap_is_called_by_the_protocols_words_alone() -> None:
    for said in ("COM_QUERY", "Bind, Execute, Sync", "ErrorResponse 42P01, ReadyForQuery", "ERR 1064"):
        assert anonymise._messages(said) == said
    login = ("SSLRequest", "yes (S)", "no (N)", "AuthenticationSASLFinal", "ErrorResponse 28P01", "ERR 1045")
    assert tuple(map(anonymise._message, login)) == login
    for said in ("jd", "Bind, jd", "ErrorResponse jd"):
        assert "jd" not in str(anonymise._messages(said))


def test_names_of_the_users_own_stay_apart() -> None:
    machines = {"jd": RUN.header.machine, "machine-1": RUN.header.machine}
    names = anonymise._Names(RUN.header.model_copy(update={"machines": machines}))
    assert (names.level("jd-build"), names.level("other"), names.level("jd-build")) == (
        "own-1",
        "own-2",
        "own-1",
    )
    assert (names.machine("jd"), names.machine("machine-1")) == ("machine-2", "machine-1")
    assert names.changed("server=mysql-9.7,jd-build") == "server=mysql-9.7,own-1"
