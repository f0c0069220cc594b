"""What the servers of a study agree on with its clients, found by asking them; and a study cut to that."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

from tlstax.clients.engine import engine_command
from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import Job
from tlstax.plan.jobs import job_for, longest_warmup_s
from tlstax.run.bench import Bench
from tlstax.run.benches import Benches
from tlstax.study import Exclusion, Level, Study
from tlstax.study.design import Case
from tlstax.study.factors import SERVER_FACTORS, CaseLevels, ServerChoice
from tlstax.study.files import rebuilt
from tlstax.study.labels import full_label
from tlstax.study.level_names import HYBRIDS, LEFT_TO_THE_DRIVER, MLDSA, OWN
from tlstax.study.needs import cases_at
from tlstax.support.errors import UserMistake

VERSIONS = ("1.3", "1.2", "1.1", "1.0")
"""The newest first."""

ASK_S, PATIENCE_S = 0.02, 30.0
ASKED = 3
"""Connections by which a server is asked: the second may resume the first one's session."""

Able = Mapping[str, bool]
"""TLS versions that a server has, and whether it resumes sessions there."""


def settled(study: Study, benches: Benches, say: Callable[[str], None], *, as_able: bool) -> Study:
    """The study as the servers can do it.

    Servers that were named are asked for the TLS versions of their cases. Where one is missing, a study
    that was asked for so is a UserMistake; with `as_able`, the server gets the newest version that it has.
    UserMistake, too, where nothing is left to be compared.
    """
    if "server" not in study.levels_of():
        return study
    missing = {choice: lacks for choice in benches.benches if (lacks := _lacking(study, choice, benches))}
    if not missing:
        return study
    able = {choice: _asked(study, benches, choice, VERSIONS) for choice in missing}
    if not as_able:
        choice, lacks = next(iter(missing.items()))
        raise UserMistake(
            f"{choice.words()} has no {_named(lacks)} ({_has(able[choice])})",
            remedy=f"ask for what it has, or leave {choice.words()} out",
        )
    for choice, lacks in missing.items():
        say(f"{choice.words()} has no {_named(lacks)}: measured with what it has ({_has(able[choice])})")
    return cut_to(study, missing, able)


def cut_to(
    study: Study, missing: Mapping[ServerChoice, Sequence[str]], able: Mapping[ServerChoice, Able]
) -> Study:
    """The study in which these servers have the newest version that they have in place of what they lack."""
    newest = {choice: next(iter(has), None) for choice, has in able.items()}
    added: list[dict[str, Level]] = []
    for choice, version in newest.items():
        for resumption in ("off", "on") if version and able[choice][version] else ("off",):
            bundle: dict[str, Level] = {"tls": version or "off", "resumption": resumption}
            if version and bundle not in (*added, *study.treatments):
                added.append(bundle)
    treatments = (*study.treatments, *added)
    exclude = list(study.exclude)
    for choice, levels in _served(study).items():
        for bundle in treatments:
            why = _why_not(bundle, choice, missing, able, added)
            if why:
                exclude.append(Exclusion(levels={**levels, **bundle}, why=why))
    return rebuilt(study, f"study {study.name}", treatments=treatments, exclude=tuple(exclude))


def _why_not(
    bundle: Mapping[str, Level],
    choice: ServerChoice,
    missing: Mapping[ServerChoice, Sequence[str]],
    able: Mapping[ServerChoice, Able],
    added: Sequence[Mapping[str, Level]],
) -> str:
    version, resumes = str(bundle.get("tls", "off")), bundle.get("resumption", "off") == "on"
    if version in {"off", *LEFT_TO_THE_DRIVER}:
        return ""
    if choice not in missing:
        return f"{choice.words()} has newer versions" if bundle in added else ""
    if version not in able[choice]:
        return f"{choice.words()} has no TLS {version}"
    if resumes and not able[choice][version]:
        return f"{choice.words()} does not resume sessions of TLS {version}"
    return ""


def _served(study: Study) -> dict[ServerChoice, dict[str, Level]]:
    """The study's servers, each with the levels that choose it."""
    names = [name for name in SERVER_FACTORS if name in study.levels_of()]
    served: dict[ServerChoice, dict[str, Level]] = {}
    for case in study.included():
        served.setdefault(case.server_choice, {name: case[name] for name in names})
    return served


def _lacking(study: Study, choice: ServerChoice, benches: Benches) -> list[str]:
    wanted = dict.fromkeys(case.tls for case in cases_at(study, choice) if case.tls in VERSIONS)
    has = _asked(study, benches, choice, tuple(wanted))
    return [version for version in wanted if version not in has]


def _asked(study: Study, benches: Benches, choice: ServerChoice, versions: Sequence[str]) -> dict[str, bool]:
    """Which of these versions the server has, and whether it resumes them; it is awake meanwhile.

    It is asked by the client's library of its first case, since not every library verifies every key.
    """
    has = {}
    cases = (case for case in cases_at(study, choice) if case.is_encrypted)
    library = next((case.client_tls_library for case in cases), OWN)
    with benches.using(choice) as bench:
        for version in versions:
            resumes = _tried(bench, version, choice, library)
            if resumes is not None:
                has[version] = resumes
    return has


def _tried(bench: Bench, version: str, choice: ServerChoice, library: str) -> bool | None:
    """Whether sessions of this version are resumed; None where the server lacks the version.

    A client that fails for another reason counts as a yes: the trials will show what is wrong. It makes a few
    connections one after another, and needs no table.
    """
    levels: dict[str, Level] = {
        "tls": version,
        "certificate": choice.certificate,
        "client_tls_library": library,
        "resumption": "on",
        "workload": "reconnect-ping",
        "queries": ASKED,
        "connections": 1,
    }
    terms = bench.terms.model_copy(update={"duration_s": ASK_S})
    stays = bench.server.connected()
    try:
        return _resumed(job_for(CaseLevels.of(levels), terms, sequence=0))
    except ClientFailure as failure:
        return None if failure.tls_was_refused() else True
    finally:
        bench.server.wait_until_gone(stays)


def _resumed(job: Job) -> bool:
    with LoadClient(engine_command(), job) as client:
        client.wait_ready(PATIENCE_S)
        client.go()
        done = client.wait_done(PATIENCE_S)
    return any(seen.resumed for seen in done.lifetime.handshakes)


def _named(versions: Sequence[str]) -> str:
    return " and no ".join(f"TLS {version}" for version in versions)


def _has(able: Able) -> str:
    return f"it has {', '.join(f'TLS {version}' for version in able)}" if able else "it has no TLS at all"


NOT_EVERYWHERE = frozenset({"ed25519", *MLDSA})
"""Keys that not every server signs with, nor every client verifies."""


def accepted(study: Study, benches: Benches, say: Callable[[str], None]) -> Study:
    """The study without the cases in which server and client do not agree on such a key, or a hybrid group.

    Each combination is asked once, with the client of its cases. What is left out is said, in the words of
    whoever refused. UserMistake where nothing is left to be compared.
    """
    known: dict[Hashable, str] = {}
    refused: list[Exclusion] = []
    for case in _in_question(study):
        question = _question(case)
        if question not in known:
            known[question] = _refusal(case, benches)
            if known[question]:
                words = full_label(Case(levels=case, role="treatment"), study)
                say(f"left out: {words} ({known[question]})")
        if known[question]:
            refused.append(Exclusion(levels=dict(case), why=known[question]))
    if not refused:
        return study
    return rebuilt(study, f"study {study.name}", exclude=(*study.exclude, *refused))


def _in_question(study: Study) -> Iterator[CaseLevels]:
    for case in study.included():
        if case.is_encrypted and (case.certificate in NOT_EVERYWHERE or case.group in HYBRIDS):
            yield case


def _question(case: CaseLevels) -> Hashable:
    """All that an agreement depends on: the server, the client and its library, version and groups."""
    return case.server_choice, case.client, case.client_tls_library, case.tls, case.group, case.proves_client


def _refusal(case: CaseLevels, benches: Benches) -> str:
    """Why they do not agree; empty where they do."""
    with benches.using(case.server_choice) as bench:
        try:
            _connect(case, bench)
        except ClientFailure as failure:
            return str(failure)
    return ""


def _connect(case: CaseLevels, bench: Bench) -> None:
    one = case | {"connections": 1}
    job = job_for(one, bench.terms_of(one).model_copy(update={"duration_s": ASK_S}), sequence=0)
    with bench.client(one, job, None) as client:
        client.wait_ready(PATIENCE_S + longest_warmup_s(job))
