"""Which kinds of keys and groups server and client agree on, found by asking; a study cut to those."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

from tlstax.clients.process import ClientFailure
from tlstax.plan.jobs import job_for, longest_warmup_s
from tlstax.run.bench import Bench
from tlstax.run.benches import Benches
from tlstax.study import Exclusion, Study
from tlstax.study.design import Case
from tlstax.study.factors import CaseLevels
from tlstax.study.labels import full_label
from tlstax.study.level_names import HYBRIDS, MLDSA

NOT_EVERYWHERE = frozenset({"ed25519", *MLDSA})
"""Keys that not every server signs with, nor every client verifies."""

ASK_S, PATIENCE_S = 0.02, 30.0


def accepted(study: Study, benches: Benches, say: Callable[[str], None]) -> Study:
    """The study without the cases in which server and client do not agree on such a key, or a hybrid group.

    Each combination is asked once, with the client of its cases. What is left out is said, in the words of
    whoever refused.
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
    return Study.model_validate({**dict(study), "exclude": (*study.exclude, *refused)})


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
