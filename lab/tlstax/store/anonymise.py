"""A run as it may leave the machine: of every text it has only what is known to say nothing of whose it is.

`fields` classifies every field of a run in which any text may stand. Names of the user's own (servers,
workloads, machines, options) become numbered ones, the same wherever they stand, so that what belongs
together still does. A new field is left out until it is classified, and a test fails for it.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources
from itertools import count
from typing import Any, get_args

from tlstax.contract import (
    PHASES,
    Done,
    ErrorEvent,
    ErrorKind,
    Job,
    Ready,
    RowSample,
    Streamed,
    StreamTerms,
    tls,
    workload,
)
from tlstax.contract.event import Counts
from tlstax.contract.job import Account, DriverTerms, TcpEndpoint, UnixEndpoint
from tlstax.records import beforehand, capture, trial
from tlstax.records import public_texts as texts
from tlstax.records.beforehand import ExternalServer, PilotLoad
from tlstax.records.profiles.stacks import UNKNOWN, Profile, SideProfile, folded, frames
from tlstax.records.profiles.stacks import Frame as StackFrame
from tlstax.records.public_texts import Fields, Public, Texts, always, form, out
from tlstax.records.server_counts import COUNTS
from tlstax.records.trial import HEAD, RunHeader, StoredRun, TrialRecord, Verdict
from tlstax.records.window import Load, LoadPart, LockSite, ProcessUse, Together, Window
from tlstax.study import design, factors, level_names, published, workloads
from tlstax.study.files import built_in_studies
from tlstax.study.outcomes import OUTCOMES
from tlstax.study.product import ProductName
from tlstax.study.server_abilities import ServerAbilities
from tlstax.study.workloads import user_defined

NOT_AT_ALL = (RowSample,)
"""Types of which nothing leaves: rows may be a user's own, and no figure is worked out from them."""


USER, SCHEMA, USUAL_PORT = "user", "schema", 3306

UNTOLD = "why is left out here, where no names are"
OWN_TEXT = "left out"

ENDED = "the client ended"
_KINDS = "|".join(kind.replace("_", " ") for kind in get_args(ErrorKind))
_ENDED = re.compile(rf"{ENDED}: (?:{_KINDS})(?: \d{{1,6}})?")
"""A failure by the kind and number of what the client met."""

_SPOKEN = (
    "checks", "network/paths", "run", "observers", "clients", "plan", "network/distance", "store/rows",
    "store/anonymise", "external", "specimens", "machines", "network/tap", "mysql", "postgres", "sql",
    "support", "study", "topics/answer", "records/profiles", "stats/stopping",
)  # fmt: skip
"""Where sentences come from that are kept of a run."""

_STUDIES = ("study", "plan", "tools/probes/drivers", "topics/prediction", "cli/ab_command")
"""Where studies are made that are no file."""


def anonymous(stored: StoredRun) -> StoredRun:
    """The same run as it may leave the machine. One that has been made so is as it was."""
    public = Public(fields(_Names(stored.header)), NOT_AT_ALL)
    kept = public.of(stored.model_copy(update={"trials": ()}))
    trials = tuple(_anonymous_trial(public, own) for own in stored.trials)
    if stored.header.guest:
        trials = tuple(map(_at_no_port, trials))
    return kept.model_copy(update={"trials": trials})


def unclassified() -> list[str]:
    """Fields that any text may stand in and that have no rule, so that they are left out."""
    return Public(fields(_Names()), NOT_AT_ALL).unclassified(StoredRun)


def _anonymous_trial(public: Public, record: TrialRecord) -> TrialRecord:
    """Why it failed is said by the kind and number of what the client met, where that is all there is."""
    kept = public.of(record)
    met = next((error for error in record.client_errors if error.fatal), None)
    is_cut = kept.failure == UNTOLD or texts.LEFT_OUT in kept.failure
    if met is not None and is_cut and not _ENDED.fullmatch(kept.failure):
        number = f" {met.code}" if met.code is not None else ""
        failure = f"{ENDED}: {met.kind.replace('_', ' ')}{number}"
        reasons = zip(record.verdict.reasons, kept.verdict.reasons, strict=True)
        said = tuple(failure if before == record.failure else after for before, after in reasons)
        verdict = kept.verdict.model_copy(update={"reasons": said})
        kept = kept.model_copy(update={"failure": failure, "verdict": verdict})
    return kept


def _at_no_port(record: TrialRecord) -> TrialRecord:
    """A number too can be a name: an external server's port, where it is not the usual one."""
    job, path = record.job, record.path
    if job is not None and isinstance(job.endpoint, TcpEndpoint):
        endpoint = job.endpoint.model_copy(update={"port": USUAL_PORT})
        job = job.model_copy(update={"endpoint": endpoint})
    if path is not None:
        path = path.model_copy(update={"server_port": USUAL_PORT})
    return record.model_copy(update={"job": job, "path": path})


class _Names:
    """What names of the user's own become in one run: the same one becomes the same everywhere."""

    def __init__(self, header: RunHeader | None = None) -> None:
        self._given: dict[tuple[str, str], str] = {}
        self._seen: set[str] = set()
        self.is_ours = header is not None and not header.guest and not header.study.workloads
        if header is not None:
            self._learn(header)

    def _learn(self, header: RunHeader) -> None:
        machines = (*header.machines, *(header.load.machines if header.load else ()))
        levels = [
            (name, level)
            for name, own in header.study.levels_of().items()
            for level in own
            if isinstance(level, str) and not texts.is_level(level)
        ]
        self._seen = {*machines, *(level for _, level in levels)}
        for machine in machines:
            self.machine(machine)
        for specimen in header.specimens:
            of_several = header.external and header.external[0].server is not None
            theirs = {own.server for own in header.external} if of_several else {specimen.name}
            is_theirs = header.guest and specimen.kind == "server" and specimen.name in theirs
            if is_theirs and not texts.is_level(specimen.name):
                self._give("level", specimen.name, texts.HOST, "server-{}.invalid")
        for name, level in levels:
            self._give("level", level, *_own_level(name))

    def level(self, text: str) -> str:
        """A level of any factor: a public one, or what stands for it."""
        return text if not text or texts.is_level(text) else self._give("level", text, "own-{}")

    def factor(self, name: str) -> str:
        """A factor's name; an option that no study of ours has becomes a numbered one."""
        if name in factors.FACTORS or name in _known_options() or texts.MADE_OPTION.fullmatch(name):
            return name
        return self._give("option", name, f"{level_names.OPTION}left-out-{{}}")

    def machine(self, name: str) -> str:
        """A machine's name."""
        is_public = name in {"", HEAD} or re.fullmatch(r"machine-\d{1,4}", name)
        return name if is_public else self._give("machine", name, "machine-{}")

    def text(self, text: str) -> str:
        """What a study says in words: ours where a study or the source has it, numbered where it does not."""
        if not text or text in _study_texts() or re.fullmatch(rf"{OWN_TEXT} \d{{1,4}}", text):
            return text
        return _said(text, _STUDIES) or self._give("text", text, f"{OWN_TEXT} {{}}")

    def changed(self, setting: str) -> str:
        """`NAME=LEVEL,LEVEL` as `--set` takes it."""
        name, _, levels = setting.partition("=")
        return f"{self.factor(name)}={','.join(self.level(level) for level in levels.split(','))}"

    def _give(self, kind: str, name: str, *patterns: str) -> str:
        """The first of the patterns that nothing else has, with the first number that nothing else has."""
        if (kind, name) not in self._given:
            taken = {*self._given.values(), *self._seen}
            made = (pattern.format(number) for number in count(1) for pattern in patterns)
            self._given[kind, name] = next(one for one in made if one not in taken)
        return self._given[kind, name]


def _own_level(factor: str) -> tuple[str]:
    """What stands for a level of the user's own, with a place for its number."""
    if factor == "configuration":
        return ("left-out-{}=0",)
    if factor in {"server", "workload", "tls_library", "client_tls_library", "client", "path"}:
        return (f"{factor.replace('_', '-')}-{{}}",)
    return ("option-{}",)


@cache
def _known_options() -> frozenset[str]:
    return frozenset(text for text in _study_texts() if text.startswith(level_names.OPTION))


@cache
def _said(text: str, rooms: tuple[str, ...]) -> str | None:
    return texts.ours(text, rooms, texts.is_term)


def _sentence(text: str) -> str | None:
    """What of a reason, a note or a failure is ours; that it is left out where nothing is."""
    if not text or text == UNTOLD or _ENDED.fullmatch(text):
        return text
    return _said(text, _SPOKEN) or UNTOLD


@cache
def _study_texts() -> frozenset[str]:
    """Every text of the studies that come with the program, the names of their factors among them."""
    found: set[str] = set()

    def gather(value: Any) -> None:
        if isinstance(value, dict):
            for key, own in value.items():
                found.add(str(key))
                gather(own)
        elif isinstance(value, list):
            for own in value:
                gather(own)
        elif isinstance(value, str):
            found.add(value)

    for name in built_in_studies():
        file = resources.files("tlstax") / "studies" / f"{name}.toml"
        gather(tomllib.loads(file.read_text(encoding="utf-8")))
    return frozenset(found)


def _study_name(name: str) -> str:
    is_ours = name in built_in_studies() or name in texts.constants(*_STUDIES)
    return name if is_ours else "own-study"


def _stack(text: str) -> str:
    """The frames of public programs; of others that there was one."""
    return folded(
        [frame if texts.base(frame.library) in texts.LIBRARIES else _NO_FRAME for frame in frames(text)]
    )


_NO_FRAME = StackFrame(UNKNOWN, "left-out")


@cache
def _built_in_words() -> frozenset[str]:
    """All that the statements of built-in workloads are made of, and the parameters that are put in."""
    products = get_args(ProductName)
    made = [
        workloads.built_in(name, table, 10, product)
        for name in level_names.WORKLOADS
        for table in _TABLES
        for product in products
    ]
    statements = [own for one in made for own in one.all_statements]
    words = {word for own in statements for word in re.findall(r"\w+", own.sql)}
    names = {name for one in made for part in one.transactions for name in part.parameters}
    verbs = {"BEGIN", "COMMIT", "ROLLBACK", "TRUNCATE", "TABLE", "ALTER", "ENGINE", "InnoDB", "left", "out"}
    return frozenset(words | names | {name for own in statements for name in own.parameters} | verbs)


_LIKE = r"(?:Variable_name )?LIKE '(?:Ssl|Compression)%'"
_STATUS_ASKED = re.compile(rf"SHOW SESSION STATUS (?:WHERE )?{_LIKE}(?: OR {_LIKE})*")
_TABLES = ("sbtest1", "tlstax_sbtest1", "people", "tlstax_people", "words", "tlstax_words", "sbtest")

_COPIED = Texts(form(r"rows|bytes|base/\d+/\d+"))
"""What a whole copy is known to have: the file is that of the table in a base backup."""
_VERB = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|DELETE|REPLACE|CALL|SET|BEGIN|COMMIT|ROLLBACK|DO|SHOW|TRUNCATE)\b",
    re.IGNORECASE,
)


def _sql(text: str) -> str:
    """A statement of a built-in workload; of any other one what it does."""
    words = re.findall(r"[^\W\d]\w*|[^\x00-\x7f]+", re.sub(r"'[\d-]*'", "", text))
    # A quoted name may have no letter.
    words += [name for pair in re.findall(r'"([^"]*)"|`([^`]*)`', text) for name in pair if name]
    if all(word in _built_in_words() or word in _TABLES for word in words) and "'" not in re.sub(
        r"'[\d-]*'", "", text
    ):
        return text
    if _STATUS_ASKED.fullmatch(text):
        return text
    verb = _VERB.match(text)
    return f"{verb[1].upper() if verb else 'SELECT'} left out"


def _parameter(name: str) -> str | None:
    return name if name in _built_in_words() else None


def _variable(text: str) -> str | None:
    return text if re.fullmatch(r"[\d.]+[kKmMgG]?|ON|OFF|YES|NO|", text) else "left out"


def _plain(text: str) -> str | None:
    """Text of ours where the source has it whole, such as a kind or a command."""
    return (
        _said(text, ("network/tap", "clients", "observers", "records/profiles", "network/paths"))
        if text
        else text
    )


def fields(names: _Names) -> Fields:
    """The rule for every field of a run in which any text may stand."""
    return {
        **_header_fields(names),
        **_study_fields(names),
        **_job_fields(names),
        **_client_fields(),
        **_server_fields(names),
        **_wire_fields(is_ours=names.is_ours),
        TrialRecord: {
            "started_at": texts.TIME,
            "client_log": out,
            "server_log": out,
            "client_ia32cap": form(r"[~:x0-9a-fA-F,]*"),
            "why_no_profile": _sentence,
            "row_mismatches": _sql,
            "failure": _sentence,
            "machine": names.machine,
        },
        StoredRun: {"stopped_because": _sentence, "resumed_at": texts.TIME},
        Verdict: {"reasons": _sentence, "notes": _sentence},
    }


_run_name = form(r"\d{8}-\d{6}-[0-9a-f]{4}", "run")
_outcome = form("|".join(map(re.escape, OUTCOMES)), "")


def _processor(text: str) -> str | None:
    return texts.words(text, texts.PROCESSORS, texts.MODEL)


def _header_fields(names: _Names) -> Fields:
    parts = {"run": _run_name, "at": texts.TIME, "server": names.level, "processor": _processor}
    return {
        RunHeader: {
            "run": _run_name,
            "started_at": texts.TIME,
            "tlstax_version": texts.version,
            "machines": Texts(names.machine),
        },
        trial.Machine: {
            "cpu_model": _processor,
            "kernel": texts.version,
            "distribution": lambda text: texts.words(text, texts.RELEASES, re.compile(r"\d{1,4}(?:\.\d+)*")),
            "virtualization": lambda text: texts.words(text, texts.TERMS),
            "microcode": form(r"0x[0-9a-f]{1,16}"),
            "notes": _sentence,
        },
        beforehand.Predictions: parts,
        beforehand.Scaling: parts,
        beforehand.PredictedCase: {
            "levels": Texts(names.factor, names.level),
            "outcomes": Texts(_outcome),
        },
        ExternalServer: {"server": names.level, "no_plaintext": _sentence, "no_tables": _sentence},
        trial.TrustFile: {"sha256": texts.DIGEST},
        trial.LoadMachines: {"server_address": texts.host, "machines": Texts(names.machine)},
        trial.Specimen: {
            "name": names.level,
            "version": texts.version,
            "origin": lambda text: _said(text, _SPOKEN) or OWN_TEXT,
            "why": _sentence,
            "path": texts.file,
            "sha256": texts.DIGEST,
            "packages": Texts(form(texts.PACKAGE.pattern), texts.version),
        },
        trial.Changes: {
            "set": names.changed,
            "budget": texts.AMOUNT,
            "precision": texts.AMOUNT,
            "rate": texts.AMOUNT,
            "arrivals": form("uniform|poisson"),
            "count": form("locks"),
            "server_cpus": texts.AMOUNT,
            "client_cpus": texts.AMOUNT,
        },
        PilotLoad: {"case": Texts(names.factor, names.level)},
    }


def _study_fields(names: _Names) -> Fields:
    levels, text = Texts(names.factor, names.level), names.text
    within = {"within": levels}
    table = {"number": text, "title": text, "source": text}
    return {
        design.Study: {
            "name": _study_name,
            "title": text,
            "question": text,
            **dict.fromkeys(("factors", "treatments", "baseline", "control_within"), levels),
            "workloads": Texts(names.level),
            "servers": Texts(names.level),
            "deciding_outcome": form("|".join(map(re.escape, OUTCOMES)), "ops_per_s"),
        },
        design.Exclusion: {"levels": levels, "why": text},
        design.Contrast: {"factor": names.factor, "baseline": names.level, **within},
        design.Case: {"levels": levels},
        design.Sides: {"a": levels, "b": levels},
        design.Part: {"key": text, "title": text, **within},
        design.Pool: {"kept": names.level, "made": names.level},
        published.Statement: {
            "says": text,
            "source": text,
            "factor": lambda name: names.factor(name) if name else name,
            "better": levels,
            "than": levels,
            "outcome": _outcome,
            **within,
        },
        published.GrowthClaim: {"says": text, "source": text, **within},
        published.Published: {
            **dict.fromkeys(("label", "unit", "source", "against", "conditions", "note"), text),
            "outcome": _outcome,
            "beside": levels,
        },
        published.ProcessorTable: {**table, **within, "rows": Texts(text, always("-"))},
        published.Column: {"name": text, "levels": levels},
        published.Claim: {"says": text, "side": text},
        published.TimeTable: {**table, "outcome": _outcome},
        published.TimeRow: {"label": text, **within, "values": Texts(text)},
        user_defined.UserWorkload: {
            "name": names.level,
            **dict.fromkeys(("on_connect", "prepare", "restore"), _sql),
        },
        user_defined.UserTransaction: {"parameters": Texts(out)},
        user_defined.UserStatement: {"sql": _sql, "parameters": Texts(out)},
        ServerAbilities: {
            "tls_versions": texts.TLS_VERSION,
            "account_plugins": form("|".join((*level_names.AUTH_PLUGINS, *level_names.POSTGRESQL_AUTH))),
            "compressions": form("off|zlib|zstd"),
        },
    }


def _socket(path: str) -> str:
    """A socket of the usual name of its product's."""
    name = ".s.PGSQL.5432" if path.rpartition("/")[2].startswith(".s.PGSQL.") else "mysqld.sock"
    return f"{texts.DIRECTORY}/{name}" if path else path


_TLS_FILES = ("ca_file", "certificate_file", "key_file", "library", "keylog_file")


def _job_fields(names: _Names) -> Fields:
    file = {"trusted_ca_file": texts.file}
    return {
        TcpEndpoint: {"host": texts.host},
        UnixEndpoint: {"path": _socket},
        Account: {
            "user": form("tlstax_[a-z_]{1,20}", USER),
            "password": out,
            "database": form("tlstax", SCHEMA),
        },
        tls.TlsOn: {
            "cipher_list": texts.cipher,
            "ciphersuites": texts.cipher,
            "groups": texts.groups,
            **dict.fromkeys(_TLS_FILES, texts.file),
            "server_name": texts.host,
        },
        tls.TlsUnset: file,
        tls.TlsRequired: file,
        workload.Workload: {"on_connect": _sql},
        workload.Transaction: {"parameters": Texts(_parameter)},
        workload.Statement: {"sql": _sql, "parameters": Texts(_parameter)},
        workload.Offset: {"of": form("|".join(sorted(_built_in_words())), "id")},
        workload.Digits: {"template": form(r"[#-]+", "#")},
        workload.OneOf: {"values": always("left out")},
        Job: {
            "reset": _sql,
            "source_addresses": texts.loopback,
            "attributes": Texts(
                form("program_name|_client_version|application_name"),
                lambda text: " ".join(
                    part if part == "tlstax" else texts.version(part) for part in text.split(" ")
                ),
            ),
        },
        StreamTerms: {
            "names": form("|".join((r"binlog\.\d+|[0-9A-F]{24}|tlstax_copy_\d+", *_TABLES)), "left out"),
            "holds": _COPIED,
            "until": form("[0-9A-F]{1,8}/[0-9A-F]{1,8}", "left out"),
        },
        DriverTerms: {
            "options": Texts(
                lambda name: names.factor(f"{level_names.OPTION}{name}").removeprefix(level_names.OPTION),
                names.level,
            )
        },
    }


def _client_fields() -> Fields:
    library = {"version": texts.library_version, "libssl_path": texts.file, "libcrypto_path": texts.file}
    handshake = {"version": texts.TLS_VERSION, "cipher": texts.cipher, "group": texts.groups}
    return {
        Ready: {
            "client": lambda text: text if texts.is_level(text) else "a client",
            "client_version": texts.library_version,
            "server_version": texts.version,
        },
        tls.TlsLibrary: library,
        tls.TlsView: {
            **handshake,
            "certificate_key": form(texts.KEY.pattern),
            "certificate_sha256": out,
            "client_name": out,
        },
        tls.Handshakes: handshake,
        Counts: {
            "authentications": Texts(
                form(
                    r"fast|full_tls|full_rsa|full_socket|native|sha256|ed25519|empty|parsec|"
                    r"none|password|md5|scram-sha-256(?:-plus)?"
                )
            )
        },
        Done: {
            "histograms_ns": Texts(form("|".join(PHASES)), form(r"HIST[A-Za-z0-9+/=]*")),
            "reported_s": Texts(form("average|minimum|maximum")),
            "phase_wire": Texts(form("|".join(PHASES))),
        },
        Streamed: {"holds": _COPIED},
        ErrorEvent: {"message": always("left out")},
    }


def _server_fields(names: _Names) -> Fields:
    counters = Texts(form(texts.COUNTER.pattern))
    return {
        trial.MappedLibrary: {"path": texts.file, "sha256": texts.DIGEST},
        trial.ServerObservation: {
            "version": texts.version,
            "tls_library_version": texts.library_version,
            "status_delta": counters,
            "program": texts.file,
            "data_directory": always(f"{texts.DIRECTORY}/data"),
            "tls_versions": form(r"(?:TLSv1(?:\.[0-3])?,?)*"),
            "durability": form(r"\d"),
            "ia32cap": form(r"[~:x0-9a-fA-F,]*"),
            "variables": Texts(
                form(r"(?:innodb|performance_schema|max|table|thread|key|query)[a-z_]{0,48}"), _variable
            ),
        },
        trial.ConnectionsSeen: {"version": texts.TLS_VERSION, "cipher": texts.cipher},
        trial.ServerClaim: {
            "name": names.level,
            "version": texts.version,
            "program": texts.file,
            "data_directory": always(f"{texts.DIRECTORY}/data"),
        },
        trial.LibraryClaim: {
            "name": names.level,
            "version": texts.version,
            "libssl_sha256": texts.DIGEST,
            "libcrypto_sha256": texts.DIGEST,
        },
        trial.PlantedClaim: {"name": names.level, "sha256": texts.DIGEST},
        trial.TableState: {"table": lambda text: text if text in _TABLES else "table"},
        ProcessUse: {"counters": Texts(form(_PROCESS_COUNTER.pattern))},
        Window: {"status_delta": counters},
        Together: {"status_delta": counters, "claims": Texts(form("|".join(COUNTS)))},
        Profile: {"event": form(r"(?:cycles|cpu-clock|task-clock|instructions)(?::[ukhpPG]+)?", "left out")},
        SideProfile: {"stacks": Texts(_stack)},
        LockSite: {
            "kind": _plain,
            "library": lambda text: text if texts.base(text) in texts.LIBRARIES else "left out",
            "function": out,
        },
        LoadPart: {"machine": names.machine},
        Load: {"server_address": texts.host},
    }


_PROCESS_COUNTER = re.compile(
    r"(?:instructions|cycles|cache_misses|cache_references|branches|branch_misses)(?:_(?:user|kernel))?|"
    r"context_switches|page_faults|read_bytes|migrations|cpu_migrations"
)


_RECORD = re.compile(r"(?:TLSv1(?:\.[0-3])?|SSLv3) (?:Application Data|Handshake|Alert|Change Cipher Spec)")


_REFUSED = re.compile(r"ERR \d{1,5}|ErrorResponse [0-9A-Z]{5}")


def _message(text: str) -> str | None:
    """What a packet or message is, an error with its number or SQLSTATE."""
    return text if _REFUSED.fullmatch(text) else _plain(text)


def _messages(text: str) -> str | None:
    """The same of several that are one frame."""
    names = [_message(name) for name in text.split(", ")]
    return ", ".join(map(str, names)) if all(names) else None


def _wire_fields(*, is_ours: bool) -> Fields:
    """With `is_ours` the server and all that it is asked are the laboratory's own, and so are their bytes."""
    return {
        trial.PathObservation: {
            "name": lambda text: text if texts.is_level(text) else "path",
            "specimen": lambda text: text if texts.is_level(text) else "path",
            "version": texts.library_version,
            "protection": lambda text: (
                _said(text, ("network/paths",)) or (text if texts.is_term(text) else "left out")
            ),
            "said_by": lambda text: _said(text, ("network/paths",)) or "",
            "log": out,
        },
        trial.PathPart: {
            "program": texts.file,
            "ended": lambda text: _said(text, _SPOKEN) or "",
            "last_line": out,
        },
        capture.Hello: {
            "versions": texts.TLS_VERSION,
            "cipher_suites": texts.cipher,
            "groups": texts.groups,
            "key_shares": texts.groups,
            "server_name": texts.host,
            "signatures": form(r"(?:rsa|ecdsa|ed|mldsa|0x)[0-9a-z_]{2,24}"),
            "protocols": form("postgresql"),
        },
        capture.TlsSeen: {"version": texts.TLS_VERSION, "cipher": texts.cipher, "group": texts.groups},
        capture.Conversation: {"login": _message},
        capture.StatementSeen: {"command": _plain, "text": _sql},
        capture.Frame: {
            "what": lambda text: text if _RECORD.fullmatch(text) else _messages(text),
            "hex": form(r"[0-9a-f]*") if is_ours else out,
        },
    }
