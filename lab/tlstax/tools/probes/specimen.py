"""Every specimen that is known, as it stands now, and what its TLS can do, found by asking it."""

from __future__ import annotations

import json
import os
import re
from contextlib import closing
from pathlib import Path
from typing import Literal, get_args

from pydantic import ConfigDict, Field, ValidationError

from tlstax.clients.engine import engine_command
from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import Frozen, Job, Ready, TlsOn, TlsVersion
from tlstax.specimens import added, manifest, processes, sessions, shelf
from tlstax.specimens.added import Added
from tlstax.specimens.catalogue import RECIPES
from tlstax.specimens.manifest import Kind, Recipe
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild, TlsLibrary, loader_of
from tlstax.sql.table_rows import TableContent
from tlstax.study import tls_levels, workloads
from tlstax.study.tls_levels import KEY_GROUPS, group_name
from tlstax.support.directories import data_dir, specimens_dir
from tlstax.support.errors import MachineFault, TlstaxError
from tlstax.support.trusted import sha256_of

FACTS = "facts.json"
ASK_TIMEOUT_S = 30.0
HANDSHAKE_WITHIN_S = 20.0

VERSIONS: tuple[TlsVersion, ...] = get_args(TlsVersion)


class Handshake(Frozen):
    """One TLS version as a server negotiated it with this machine's client."""

    version: str
    cipher: str
    group: str | None
    resumes: bool


class Facts(Frozen):
    """What was found: of a server its handshakes and its own word, of a library its lists.

    `unasked` says why it could not be asked; empty when it was. `account_plugins` are those by which a server
    can prove accounts, and `compressions` the levels of that factor which it agrees on; both are None of a
    library and where an earlier version asked.
    """

    schema_version: Literal[1] = 1
    unasked: str = ""
    tls_versions: tuple[str, ...] = ()
    library: str | None = None
    groups: tuple[str, ...] = ()
    cipher_suites: int | None = None
    handshakes: tuple[Handshake, ...] = ()
    account_plugins: tuple[str, ...] | None = None
    compressions: tuple[str, ...] | None = None

    def words(self) -> str:
        """All of it in a line."""
        if self.unasked:
            return f"could not be asked: {self.unasked}"
        parts = [_span(self.tls_versions)]
        if self.handshakes:
            last = self.handshakes[-1]
            resumes = any(handshake.resumes for handshake in self.handshakes)
            parts += [last.cipher, group_name(last.group), "resumes" if resumes else "does not resume"]
            parts.append(self.library or "library not reported")
        elif self.groups:
            hybrid = next((group for group in self.groups if "MLKEM" in group), "no ML-KEM")
            parts += [
                hybrid,
                f"{len(self.groups)} groups of {len(KEY_GROUPS)}",
                f"{self.cipher_suites} suites",
            ]
        return " · ".join(filter(None, parts))


def read(directory: Path) -> Facts | None:
    """The facts that were kept in this directory; None when it was never asked."""
    try:
        return Facts.model_validate_json((directory / FACTS).read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return None


def write(directory: Path, facts: Facts) -> None:
    """Keep the facts. Raises OSError."""
    (directory / FACTS).write_text(json.dumps(facts.model_dump(), indent=1), encoding="utf-8")


def of_library(library: TlsLibrary, tree: Path) -> Facts:
    """Ask the library by the openssl that came with it in `tree`; why not, where it does not run."""
    try:
        return _ask_openssl(_openssl(library, tree), library)
    except TlstaxError as error:
        return Facts(unasked=error.message)


def of_server(build: ServerBuild) -> Facts:
    """Start the server privately and negotiate each TLS version with it; why not, where that fails."""
    try:
        with (
            sessions.open_session() as session,
            PrivateServer.start(build, session) as server,
        ):
            server.prepare_table(TableContent(rows=1, seed=1))
            found = tuple(filter(None, (_handshake(server, version) for version in VERSIONS)))
            with closing(server.admin()) as admin:
                facts = server.product.server_facts
                plugins, agreed = facts.account_plugins(admin), facts.compressions(admin)
            return Facts(
                account_plugins=plugins,
                compressions=agreed,
                tls_versions=tuple(handshake.version for handshake in found),
                library=server.tls_library_version,
                handshakes=found,
            )
    except TlstaxError as error:
        return Facts(unasked=error.message)


def _handshake(server: PrivateServer, version: TlsVersion) -> Handshake | None:
    """What is negotiated when only this version is offered; None when there is no agreement.

    MachineFault when the client fails for another reason.
    """
    full = _negotiated(server, version, resumption=False)
    if full is None:
        return None
    again = _negotiated(server, version, resumption=True)
    resumed = (
        any(seen.client is not None and seen.client.resumed for seen in again.negotiated) if again else False
    )
    (seen,) = full.negotiated
    client = seen.client
    if client is None:
        return None
    return Handshake(version=version, cipher=client.cipher, group=client.group, resumes=resumed)


def _negotiated(server: PrivateServer, version: TlsVersion, *, resumption: bool) -> Ready | None:
    job = Job(
        endpoint=server.endpoint(),
        account=server.load_account,
        tls=TlsOn(
            min_version=version,
            max_version=version,
            cipher_list=tls_levels.cipher_list(version),
            resumption=resumption,
        ),
        workload=workloads.built_in("reconnect", server.table_name, 1),
        connections=1,
        duration_s=0.05,
        seed=1,
    )
    try:
        with LoadClient(engine_command(), job) as client:
            return client.wait_ready(HANDSHAKE_WITHIN_S)
    except ClientFailure as failure:
        if failure.tls_was_refused():
            return None
        raise MachineFault(f"TLS {version} could not be tried: {failure}") from failure


def _openssl(library: TlsLibrary, tree: Path) -> list[str]:
    """The command line of the library's own openssl, run over this very library."""
    if (tree / "bin" / "openssl").is_file():
        return ["env", f"LD_LIBRARY_PATH={library.directory}", str(tree / "bin" / "openssl")]
    loader, directories = loader_of(tree)
    path = ":".join(map(str, (library.directory, *directories)))
    return [str(loader), "--library-path", path, str(tree / "usr" / "bin" / "openssl")]


def _ask_openssl(command: list[str], library: TlsLibrary) -> Facts:
    reported = _output_of([*command, "version"])
    if library.specimen.version not in reported:
        raise MachineFault(
            f"its openssl says {reported.strip() or 'nothing'!r}, not {library.specimen.version}"
        )
    versions = []
    for version in VERSIONS:
        option = "-tls" + version.replace(".", "_").replace("1_0", "1")
        if _output_of([*command, "ciphers", "-s", option, "ALL:@SECLEVEL=0"]).strip():
            versions.append(version)
    return Facts(
        tls_versions=tuple(versions),
        library=reported.split(" (")[0].strip(),
        groups=tuple(group for group in KEY_GROUPS if _knows(command, group)),
        cipher_suites=len(_output_of([*command, "ciphers"]).strip().split(":")),
    )


def _knows(command: list[str], group: str) -> bool:
    """Whether s_client takes the group; then it fails later, for nobody listens at port 1."""
    refused = re.compile(rf"SSL_CONF_cmd\(-groups|Error with command: \"-groups {group}")
    return (
        refused.search(_output_of([*command, "s_client", "-groups", group, "-connect", "127.0.0.1:1"]))
        is None
    )


def _output_of(command: list[str]) -> str:
    """All that the program wrote. MachineFault when it does not run."""
    environment = {**os.environ, "OPENSSL_CONF": "/dev/null"}
    mortal = processes.mortal(command)
    done = processes.must_run("its openssl", mortal, environment, timeout_s=ASK_TIMEOUT_S, typed="")
    return done.stdout + (done.stderr if "s_client" in command or done.returncode else "")


def _span(versions: tuple[str, ...]) -> str:
    if not versions:
        return "no TLS"
    between = VERSIONS[VERSIONS.index(versions[0]) : VERSIONS.index(versions[-1]) + 1]
    if versions == between and len(versions) > 1:
        return f"TLS {versions[0]}–{versions[-1]}"
    return f"TLS {', '.join(versions)}"


Status = Literal["ready", "absent", "broken"]


class Listed(Frozen):
    """One specimen. `version` and `sha256` (of its program) are empty where only fetching it shows them.

    `reason` says why it is broken; `tls` is None where it was never asked.
    """

    name: str
    kind: Kind
    title: str
    version: str
    origin: str
    sha256: str = ""
    status: Status
    reason: str = ""
    bytes: int | None = None
    path: str = ""
    parts: dict[str, str] = {}
    tls: Facts | None = None


class Listing(Frozen):
    """The document that `specimens list --json` prints."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    specimens: tuple[Listed, ...]


def listing() -> Listing:
    """The catalogue in its order, then what was added."""
    catalogue = tuple(map(of_recipe, RECIPES.values()))
    return Listing(specimens=catalogue + tuple(map(of_added, added.entries())))


def of_recipe(recipe: Recipe) -> Listed:
    """A specimen of the catalogue."""
    known = Listed(
        name=recipe.name,
        kind=recipe.kind,
        title=recipe.title,
        version=recipe.version,
        origin=recipe.source.origin,
        status="absent",
    )
    path = specimens_dir() / recipe.name
    reason = shelf.broken(recipe)
    if reason:
        return known.model_copy(update={"status": "broken", "reason": reason, "path": str(path)})
    kept = manifest.read(path)
    if kept is None:
        return known
    if shelf.present(recipe) is None:
        outdated = "it was made by another tlstax, of other parts"
        return known.model_copy(update={"status": "broken", "reason": outdated, "path": str(path)})
    return known.model_copy(
        update={
            "version": kept.manifest.version,
            "sha256": kept.sha256(),
            "status": "ready",
            "bytes": kept.manifest.size_bytes,
            "path": str(kept.program),
            "parts": kept.manifest.versions(),
            "tls": read(path),
        }
    )


def of_added(entry: Added) -> Listed:
    """A specimen that the user added; its files are the user's, so they take no room of ours."""
    reason = changed(entry)
    return Listed(
        name=entry.name,
        kind="server",
        title=f"{entry.version} of this machine",
        version=entry.version,
        origin="this machine",
        sha256=entry.sha256,
        status="broken" if reason else "ready",
        reason=reason,
        path=entry.mysqld,
        tls=read(added_facts(entry.name)),
    )


def changed(entry: Added) -> str:
    """Why an added server is not what it was when it was added; empty when it is."""
    try:
        now = sha256_of(Path(entry.mysqld))
    except OSError as error:
        return f"{entry.mysqld} cannot be read ({error.strerror})"
    return "" if now == entry.sha256 else f"{entry.mysqld} was changed since it was added"


def added_facts(name: str) -> Path:
    """Where what an added server said is kept."""
    return data_dir() / "added" / name
