"""From a job to sysbench's scripts and options, and what sysbench cannot do."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tlstax.clients.adapter import Refusal, refuse, tls_lacking
from tlstax.contract import Job, Parameter, Sequence, TlsOff, TlsOn, UniformInt, UnixEndpoint, Workload
from tlstax.study import workloads

TABLE = re.compile(r"(?:FROM|INTO|UPDATE) ([A-Za-z0-9_]+) ")
STOCK_TABLE = "sbtest1"
"""What sysbench's own scripts call the first of their tables."""

RANGE_SIZE = 100
"""How many rows sysbench's ranges span, unless told otherwise."""


@dataclass(frozen=True)
class Script:
    """A script of ours and the stock script that it holds still, empty where the event is our own.

    `options` make of the stock script what is wanted. `sampled_rows` is how many rows the statement spans
    that is shown as a sample of the work, 0 where nothing can be shown: data that changes is another by the
    time that it is checked.
    """

    ours: str = "stock"
    stock: str = ""
    options: tuple[str, ...] = ()
    any_table: bool = False
    text_only: bool = False
    sampled_rows: int = 0


SCRIPTS = {
    "point-select": Script("point_select", "oltp_point_select", any_table=True, sampled_rows=1),
    "reconnect": Script("reconnect", any_table=True, text_only=True, sampled_rows=1),
    "select-range": Script(
        stock="oltp_read_only",
        options=(
            "--skip_trx=on",
            "--point_selects=0",
            "--sum_ranges=0",
            "--order_ranges=0",
            "--distinct_ranges=0",
        ),
        sampled_rows=RANGE_SIZE,
    ),
    "insert": Script(stock="oltp_insert", text_only=True),
    "update": Script(stock="oltp_update_index"),
    "delete": Script(stock="oltp_delete"),
    "oltp-read-only": Script(stock="oltp_read_only", sampled_rows=1),
    "oltp-read-write": Script(stock="oltp_read_write"),
}
"""By the built-in workload that each does."""


@dataclass(frozen=True)
class Chosen:
    """The script for a workload, and the table of how many rows that it works on."""

    script: Script
    table: str
    rows: int


def chosen(workload: Workload) -> Chosen:
    """The script that does this workload, in whichever protocol; Refusal where there is none.

    A workload is known by its definition, not by its name: it must be the built-in one, word by word.
    """
    table, rows = _table(workload), _rows(workload)
    if table is not None and rows is not None:
        for name, script in SCRIPTS.items():
            if _bare(workload) == _bare(_done_by_sysbench(name, table, rows)):
                _check(name, script, workload, table)
                return Chosen(script, table, rows)
        if _bare(workload) == _bare(workloads.built_in("delete", table, rows)):
            raise Refusal(
                "sysbench's oltp_delete draws ids at random, so that ever more of its deletes find no row, "
                "and the job wants one id after another"
            )
    known = ", ".join(SCRIPTS)
    raise Refusal(f"sysbench runs its own scripts alone ({known}), and the job's statements are in none")


def _done_by_sysbench(name: str, table: str, rows: int) -> Workload:
    """What the script does, in the contract's words; the deletes alone are not the built-in ones."""
    workload = workloads.built_in(name, table, rows)
    if name != "delete":
        return workload
    (statement,) = workload.statements
    drawn: dict[str, Parameter] = {"id": UniformInt(low=1, high=rows)}
    return workload.model_copy(update={"statements": (statement.model_copy(update={"parameters": drawn}),)})


def _check(name: str, script: Script, workload: Workload, table: str) -> None:
    if script.text_only and workload.protocol == "prepared":
        raise Refusal(f"sysbench does {name} with a text query, and the job wants a prepared statement")
    if not script.any_table and table != STOCK_TABLE:
        raise Refusal(f"sysbench's {script.stock} works on a table {STOCK_TABLE}, and the job names {table}")


def _bare(workload: Workload) -> Workload:
    """Without what sysbench has options for: the protocol, and the statements on connecting."""
    return workload.model_copy(update={"protocol": "text", "on_connect": ()})


def _table(workload: Workload) -> str | None:
    """The table of its first statement; None where it has none: no statement, or none with a table."""
    match = next((TABLE.search(statement.sql) for statement in workload.all_statements), None)
    return match[1] if match else None


def _rows(workload: Workload) -> int | None:
    """How many rows the table has, as far as ids are drawn from all of them."""
    return next(filter(None, map(_last, workload.all_parameters)), None)


def _last(parameter: Parameter) -> int | None:
    if isinstance(parameter, UniformInt):
        return parameter.high
    return parameter.last if isinstance(parameter, Sequence) and parameter.first == 1 else None


TIME_GIVEN_S = 999_999
"""What --time is given, by which the script finds the place of the limit; then it sets the real one, which
need not be whole seconds (quiescence.lua)."""

UNIT_SEPARATOR = "\x1f"
"""Stands between the statements that a connection begins with (ASCII's US, which no statement has)."""

LARGEST_SEED = 2**31 - 1
"""sysbench reads --rand-seed as a C int, and takes the time of day for 0."""

LONGEST_OPTION_LINE = 254
"""sysbench reads a file of options in lines of 255 characters at most, the line's end included."""

_PROTOCOL_NAMES = {"1.0": "TLSv1", "1.1": "TLSv1.1", "1.2": "TLSv1.2", "1.3": "TLSv1.3"}
"""Levels of the contract in the words of OpenSSL's configuration (SSL_CONF_cmd(3), MinProtocol)."""

UNFIT_SIGNATURE = "ed448"
"""Signatures that a client may make with its certificate when it is to show none: OpenSSL then leaves out
a certificate with a key of another kind (SSL_CONF_cmd(3), ClientSignatureAlgorithms)."""


def demand_of(job: Job) -> Chosen:
    """The script that the job asks for, and its table; Refusal where sysbench cannot do it."""
    refuse(_limits(job))
    return chosen(job.workload)


def _limits(job: Job) -> list[tuple[bool, str]]:
    limits = [
        (
            job.schedule.mode != "closed",
            "sysbench is run in a closed loop only, and the job wants an open one",
        ),
        (
            job.workload.storm,
            "sysbench opens no storm of connections, and the job wants one",
        ),
        (
            bool(job.reset),
            "sysbench does all operations in one go, and the job wants the data put back between rounds",
        ),
        (
            isinstance(job.endpoint, UnixEndpoint) and "," in job.endpoint.path,
            "sysbench takes a comma in a socket's path for the end of it",
        ),
    ]
    if isinstance(job.tls, TlsOff):
        asks = "sysbench asks every server for its public key, and the job does not want that"
        limits.append((not job.tls.get_server_public_key, asks))
    return [*limits, *_tls_limits(job.tls)] if isinstance(job.tls, TlsOn) else limits


def _tls_limits(tls: TlsOn) -> list[tuple[bool, str]]:
    """There is one switch for TLS; OpenSSL's configuration adds the versions, which can be proved."""
    return [
        *tls_lacking("sysbench", tls, "cipher_list", "ciphersuites"),
        (
            tls.ca_file is None,
            "sysbench reads an authority's certificate, and the job names none (tls.ca_file)",
        ),
        (
            (tls.certificate_file is None) != (tls.key_file is None),
            "sysbench needs tls.certificate_file and tls.key_file together",
        ),
    ]


def arguments(job: Job, demand: Chosen, *, address: str | None) -> list[str]:
    """The options that follow from the job, but for the password; `address` is the TCP host's, resolved.

    Percentiles, ignored errors and the rest keep sysbench's defaults, which is what people run.
    """
    endpoint = job.endpoint
    if isinstance(endpoint, UnixEndpoint):
        where = [f"--mysql-socket={endpoint.path}"]
    else:
        where = [f"--mysql-host={address}", f"--mysql-port={endpoint.port}"]
    return [
        *where,
        f"--mysql-user={job.account.user}",
        f"--mysql-db={job.account.database or ''}",
        f"--mysql-ssl={'on' if isinstance(job.tls, TlsOn) else 'off'}",
        f"--db-ps-mode={'auto' if job.workload.protocol == 'prepared' else 'disable'}",
        f"--threads={job.connections}",
        f"--time={TIME_GIVEN_S}",
        f"--events={job.operations or 0}",
        "--rand-type=uniform",
        f"--rand-seed={job.seed % LARGEST_SEED + 1}",
        f"--table_name={demand.table}",
        f"--table_size={demand.rows}",
        f"--tlstax_warmup_us={round(job.warmup_s * 1e6)}",
        f"--tlstax_duration_us={max(1, round(job.duration_s * 1e6))}",
        f"--tlstax_samples={job.row_samples if demand.script.sampled_rows else 0}",
        f"--tlstax_sampled_rows={demand.script.sampled_rows}",
        f"--tlstax_on_connect={UNIT_SEPARATOR.join(job.workload.on_connect)}",
        *demand.script.options,
    ]


def password_line(password: str) -> str:
    """The password as a line of a file of options; Refusal where sysbench's syntax cannot express it.

    A value may stand in quotes of either kind, without escapes; bare, it ends at white space or a comma
    (sysbench's sb_options.c, read_config).
    """
    quote = next((quote for quote in "'\"" if quote not in password), None)
    if quote is not None:
        value = f"{quote}{password}{quote}"
    elif re.search(r"[\s,]", password) or password[0] in "'\"#":
        raise Refusal("sysbench accepts no password with both kinds of quotes and a space or comma")
    else:
        value = password
    line = f"mysql-password={value}\n"
    if re.search(r"[\0\n]", password) or len(line.encode()) > LONGEST_OPTION_LINE:
        raise Refusal("sysbench accepts no password of several lines or of more than 200 characters")
    return line


def openssl_conf(tls: TlsOn) -> str:
    """The only OpenSSL configuration that sysbench reads (config(5)): the versions, and no certificate.

    sysbench loads a client certificate whether one is wanted or not, and a server that trusts an authority
    asks for it: without one in the job it must not be shown, or both sides would do work that was not asked
    for, and the server would refuse it.
    """
    settings = {
        "MinProtocol": _PROTOCOL_NAMES.get(tls.min_version or ""),
        "MaxProtocol": _PROTOCOL_NAMES.get(tls.max_version or ""),
        "ClientSignatureAlgorithms": None if tls.certificate_file else UNFIT_SIGNATURE,
    }
    lines = [f"{name} = {value}" for name, value in settings.items() if value is not None]
    return "\n".join(
        [
            "openssl_conf = settings",
            "[settings]",
            "ssl_conf = modules",
            "[modules]",
            "system_default = tls",
            "[tls]",
            *lines,
            "",
        ]
    )


def version_is_asked_for(tls: TlsOn, version: str) -> bool:
    """Whether a negotiated version, as OpenSSL prints it, lies within the job's bounds."""
    order = list(_PROTOCOL_NAMES.values())
    if version not in order:
        return False
    lowest = order.index(_PROTOCOL_NAMES[tls.min_version]) if tls.min_version else 0
    highest = order.index(_PROTOCOL_NAMES[tls.max_version]) if tls.max_version else len(order)
    return lowest <= order.index(version) <= highest


AUTHORITY, CERTIFICATE, KEY = "cacert.pem", "client-cert.pem", "client-key.pem"
"""Names in sysbench's working directory (1.0.20 has no options for them)."""

OPENSSL_CONF = "openssl.cnf"


def lay_out(directory: Path, tls: TlsOn) -> None:
    """Put the job's authority, certificate and key into `directory`, and OpenSSL's configuration.

    Without a certificate in the job there is a stand-in, which is loaded and never shown. Raises OSError
    when a file of the job cannot be read.
    """
    shutil.copyfile(str(tls.ca_file), directory / AUTHORITY)
    (directory / OPENSSL_CONF).write_text(openssl_conf(tls), encoding="utf-8")
    if tls.certificate_file is not None and tls.key_file is not None:
        shutil.copyfile(tls.certificate_file, directory / CERTIFICATE)
        shutil.copyfile(tls.key_file, directory / KEY)
    else:
        _stand_in(directory)


def _stand_in(directory: Path) -> None:
    """A certificate that signs itself, with the key that is quickest to load."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tlstax stand-in, never shown")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(subject_name=name, issuer_name=name, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=30))
        .sign(key, hashes.SHA256())
    )
    (directory / CERTIFICATE).write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (directory / KEY).write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
