"""Building and starting specimens, as far as it needs no server: apt's words, logs, certificates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from tlstax.records.trial import Specimen
from tlstax.specimens import certificates, sessions
from tlstax.specimens.certificates import CertificateRequest
from tlstax.specimens.processes import log_bytes, log_reason, log_tail
from tlstax.specimens.server_build import ServerBuild, loader_of
from tlstax.specimens.sources import apt
from tlstax.support import directories
from tlstax.support.errors import MachineFault, UserMistake

APT_SAYS = [
    (
        "E: Failed to fetch http://mirror.example/debian/dists/sid/InRelease  Could not connect to "
        "mirror.example:80 (192.0.2.1). - connect (111: Connection refused)\n",
        "the mirror cannot be reached",
    ),
    (
        "Err:1 http://mirror.example sid InRelease\n  Temporary failure resolving 'mirror.example'\n",
        "reached",
    ),
    ("W: GPG error: ... The following signatures couldn't be verified: NO_PUBKEY 6ED0E7B8\n", "verifiably"),
    ("E: The repository 'http://mirror.example/debian sid Release' is not signed.\n", "verifiably"),
    ("E: Version '9.7*' for 'mysql-server-core' was not found\n", "the mirror does not have it"),
    (
        "E: The repository 'http://m.example/x sid Release' does not have a Release file.\n",
        "does not have it",
    ),
    ("E: Release file for http://m.example/debian/dists/sid/InRelease is not valid yet\n", "in the future"),
    ("E: Unable to locate package mysql-server-core\n", "the mirror does not have it"),
    ("E: You don't have enough free space in /x/cache/archives/.\n", "the disk is full"),
    ("dpkg-deb: error: <decompress> subprocess: write: No space left on device\n", "the disk is full"),
]


@pytest.mark.parametrize(("output", "meaning"), APT_SAYS)
def test_apts_failures_are_understood(output: str, meaning: str) -> None:
    error = apt.fault("apt-get update failed", "Hit:1 something\n" + output)
    assert meaning in error.message
    assert error.remedy
    assert "\n" not in error.sentence()
    assert "Hit:1" not in error.sentence()


def targets(monkeypatch: pytest.MonkeyPatch, fetched: str, configured: str, os_release: str) -> None:
    def output_of(command: list[str]) -> str:
        return configured if "--no-release-info" in command else fetched

    monkeypatch.setattr(apt, "_output_of", output_of)
    monkeypatch.setattr(apt, "_os_release", os_release.splitlines)
    monkeypatch.delenv("TLSTAX_APT_MIRROR", raising=False)


def test_the_archive_is_told_from_security_and_strangers(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched = (
        "Vendor|stable|https://vendor.example/apt\n"
        "Debian|bookworm-security|http://m.example/debian-security/\n"
        "Debian|bookworm|http://m.example/debian/\n"
    )
    targets(monkeypatch, fetched, "", "ID=debian")
    assert apt._archive_of_apt() == "http://m.example/debian/"


def test_the_archive_is_known_before_the_first_apt_get_update(monkeypatch: pytest.MonkeyPatch) -> None:
    configured = "$(ORIGIN)|trixie-security|http://m.example/s/\n$(ORIGIN)|trixie|http://m.example/d/\n"
    targets(monkeypatch, "", configured, "ID=debian\nVERSION_ID=13")
    assert apt._archive_of_apt() == "http://m.example/d/"
    targets(monkeypatch, "", configured, "ID=ubuntu\nID_LIKE=debian")
    with pytest.raises(MachineFault, match="no Debian archive") as caught:
        apt._archive_of_apt()
    assert "TLSTAX_APT_MIRROR" in caught.value.remedy


@pytest.mark.parametrize("value", ["not a uri", "http://m.example/debian sid main", "http://[trusted=yes]"])
def test_a_mirror_that_is_no_uri_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("TLSTAX_APT_MIRROR", value)
    with pytest.raises(UserMistake, match="TLSTAX_APT_MIRROR"):
        apt.configured_mirror()


def test_removed_keys_are_not_trusted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(apt, "KEYRINGS", tmp_path)
    with pytest.raises(MachineFault, match="no Debian archive keyring") as caught:
        apt._keyrings()
    assert "debian-archive-keyring" in caught.value.remedy
    (tmp_path / "debian-archive-removed-keys.gpg").touch()
    (tmp_path / "vendor.gpg").touch()
    with pytest.raises(MachineFault, match="no Debian archive keyring"):
        apt._keyrings()
    (tmp_path / "debian-archive-trixie-stable.gpg").touch()
    assert apt._keyrings() == (tmp_path / "debian-archive-trixie-stable.gpg",)
    (tmp_path / "debian-archive-keyring.gpg").touch()
    assert apt._keyrings() == (tmp_path / "debian-archive-keyring.gpg",)


MYSQL_LOG = """\
2026-11-21T20:18:46.379734Z 0 [System] [MY-015015] [Server] MySQL Server - start.
2026-11-21T20:18:46.379734Z 0 [ERROR] [MY-010262] [Server] Can't start server: Bind on TCP/IP port
2026-11-21T20:18:46.379734Z 0 [ERROR] [MY-010119] [Server] Aborting
2026-11-21T20:18:47.100000Z 0 [System] [MY-010910] [Server] mysqld: Shutdown complete (mysqld 9.7.4-2)
"""
MARIADB_LOG = """\
2026-11-21 20:18:52 0 [Note] InnoDB: Using io_uring
2026-11-21 20:18:52 0 [ERROR] /r/usr/sbin/mariadbd: unknown variable 'nonsense=1'
2026-11-21 20:18:52 0 [ERROR] Aborting
"""
POSTGRESQL_LOG = """\
2026-11-28 07:00:00.000 GMT [712] FATAL:  could not load server certificate file "/x.pem": No such file
2026-11-28 07:00:00.000 GMT [713] FATAL:  the database system is starting up
2026-11-28 07:00:00.000 GMT [712] LOG:  database system is shut down
"""
LOADER_LOG = "/r/mysqld: error while loading shared libraries: libaio.so.1: cannot open shared object file\n"


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (MYSQL_LOG, "Can't start server: Bind on TCP/IP port"),
        (MARIADB_LOG, "/r/usr/sbin/mariadbd: unknown variable 'nonsense=1'"),
        (POSTGRESQL_LOG, 'could not load server certificate file "/x.pem": No such file'),
        ("backend> backend> 2026-11-28 07:00:00.000 GMT [7] ERROR:  it is there\n", "it is there"),
        (LOADER_LOG, LOADER_LOG.strip()),
        ("Killed\n", "Killed"),
        ("", "no message in its error log"),
    ],
)
def test_the_telling_line_of_an_error_log(tmp_path: Path, log: str, words: str) -> None:
    path = tmp_path / "error.log"
    path.write_text(log, encoding="utf-8")
    assert log_reason(path) == words
    assert log_tail(path, 1) == (log.splitlines() or [""])[-1]


def test_an_earlier_starts_errors_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "error.log"
    path.write_text(MYSQL_LOG, encoding="utf-8")
    offset = log_bytes(path)
    path.write_text(MYSQL_LOG + MARIADB_LOG, encoding="utf-8")
    assert "nonsense" in log_reason(path, offset)


def verify(files: certificates.Certificates, host: str, when: datetime | None = None) -> None:
    """Python's strictest verifier (webpki rules) accepts the certificate for the host."""
    store = Store([x509.load_pem_x509_certificate(files.ca_file.read_bytes())])
    builder = PolicyBuilder().store(store).time(when or datetime.now(UTC))
    leaf = x509.load_pem_x509_certificate(files.certificate_file.read_bytes())
    builder.build_server_verifier(x509.DNSName(host)).verify(leaf, [])


@pytest.mark.parametrize("kind", [kind for kind in certificates.KEY_KINDS if kind != "rsa-1024"])
def test_certificates_verify_and_have_the_key_asked_for(tmp_path: Path, kind: certificates.KeyKind) -> None:
    files = certificates.issue(tmp_path, CertificateRequest(key=kind))
    verify(files, "localhost")
    with pytest.raises(VerificationError):
        verify(files, "elsewhere.example")
    key = x509.load_pem_x509_certificate(files.certificate_file.read_bytes()).public_key()
    if kind == "ed25519":
        assert isinstance(key, ed25519.Ed25519PublicKey)
    elif kind.startswith("mldsa"):
        assert type(key).__name__.startswith(f"MLDSA{kind.removeprefix('mldsa')}")
    else:
        assert isinstance(key, rsa.RSAPublicKey | ec.EllipticCurvePublicKey)
        assert key.key_size == int(kind.removeprefix("rsa-").removeprefix("ec-p"))
    assert files.key_file.stat().st_mode & 0o777 == 0o600


def test_a_certificate_can_have_expired(tmp_path: Path) -> None:
    files = certificates.issue(tmp_path, CertificateRequest(valid_for=timedelta(days=-1)))
    with pytest.raises(VerificationError):
        verify(files, "localhost")
    verify(files, "localhost", datetime.now(UTC) - timedelta(days=1, minutes=30))


def test_places_follow_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / "c"))
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path / "d"))
    assert (directories.cache_dir(), directories.data_dir()) == (tmp_path / "c", tmp_path / "d")
    assert directories.sessions_dir().is_dir()
    (tmp_path / "file").touch()
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / "file"))
    with pytest.raises(MachineFault, match="cannot be created"):
        directories.sessions_dir()
    monkeypatch.setenv("TLSTAX_CACHE", f"{tmp_path}:elsewhere")
    with pytest.raises(UserMistake, match="colon"):
        directories.cache_dir()


def test_a_path_too_long_for_a_socket_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TLSTAX_CACHE", str(tmp_path / ("long" * 30)))
    with pytest.raises(MachineFault, match="too long for a Unix socket") as caught:
        sessions.open_session()
    assert "TLSTAX_CACHE" in caught.value.remedy


def test_a_root_without_a_loader_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        loader_of(tmp_path)
    loader = tmp_path / "usr/lib/aarch64-linux-gnu/ld-linux-aarch64.so.1"
    loader.parent.mkdir(parents=True)
    loader.touch()
    assert loader_of(tmp_path) == (loader, (loader.parent,))


def test_what_came_with_a_server_is_found_beside_it_or_in_its_tree(tmp_path: Path) -> None:
    server, beside, elsewhere = (
        tmp_path / "sbin" / "mysqld",
        tmp_path / "sbin" / "near",
        tmp_path / "bin" / "far",
    )
    for program in (server, beside, elsewhere):
        program.parent.mkdir(exist_ok=True)
        program.touch()
    specimen = Specimen(
        name="mysql-9.7", kind="server", version="9.7.4", origin="o", why="w", path=str(server)
    )
    build = ServerBuild(specimen, "mysql", server)
    assert build.companion("near") == (beside, [str(beside)])
    assert build.companion("far") == (elsewhere, [str(elsewhere)])
    with pytest.raises(MachineFault, match=r"mysql-9\.7 came without its mysqlslap"):
        build.companion("mysqlslap")
    own = ServerBuild(specimen, "mysql", server, own_libraries=(tmp_path / "lib",))
    assert own.companion("near")[1] == ["/usr/bin/env", f"LD_LIBRARY_PATH={tmp_path / 'lib'}", str(beside)]
