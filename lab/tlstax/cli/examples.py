"""Examples of each main command, shown at the end of its help and in the manual page."""

from __future__ import annotations

import typer

HEADING = "Examples:"
_AS_IT_IS = "\b"
"""Begins a paragraph whose lines are left as they are (click's documentation, Preventing Rewrapping)."""

EXAMPLES: dict[str, tuple[str, ...]] = {
    "run": (
        "run --budget 5m --trust /etc/ssl/certs/ca-certificates.crt",
        "run --server mysql-8.0.33,mariadb-11.8,postgresql-18 --workload reconnect",
        "run --server mysql://user@db.example:3306/scratch --report tls.html",
    ),
    "report": ("report last --format md > tls.md", "report last -o tls.html"),
    "explain": ("explain last", "explain last --json"),
    "flames": ("flames -o flames.svg",),
    "machines": ("machines --ray 10.0.0.1:6379",),
    "doctor": ("doctor",),
    "compare": (
        "compare main.tlstax last",
        "compare main.tlstax last --max-regression 5%",
        "compare main.tlstax last --max 'server_cpu_us_per_op +5%' --min 'ops_per_s -5%'",
    ),
    "ab": (
        "ab --a server=mysql-9.7 --b server=my-build --max-regression 1%",
        "ab --a configuration=default --b 'configuration=performance_schema=OFF'",
        "ab --a server=mysql://user@old.example/scratch --b server=mysql://user@new.example/scratch",
    ),
    "runs publish": ("runs publish site main.tlstax other.tlstax",),
    "runs watch": ("runs watch",),
    "runs explore": ("runs explore --port 8001",),
    "bundle": ("bundle -o tlstax.tar --server mariadb-11.8",),
    "runs pack": ("runs pack last -o main.tlstax",),
    "runs open": ("runs open main.tlstax",),
    "inspect": ("inspect mysql://user@db.example:3306/scratch",),
    "advise": ("advise mysql://user@db.example:3306/scratch",),
    "predict": ("predict --connects 200/s --queries 10 --rtt-ms 45 --certificate rsa-4096",),
    "library-bench": ("library-bench --library openssl-3.0.2,openssl-3.5.5",),
    "storm": ("storm --within 1s", "storm --steady"),
    "study list": ("study list",),
    "study show": ("study show tax > mine.toml",),
    "study plan": ("study plan openssl-versions --set connections=8,64 --budget 1h",),
    "study run": (
        "study run identity --budget 30m",
        "study run memory --set server=mysql-9.7,mariadb-11.8 --blocks 5",
        "study run tax --resume",
    ),
    "runs list": ("runs list",),
    "runs show": ("runs show last",),
    "runs export": (
        "runs export last --format csv > run.csv",
        "runs export last --format parquet --rows slices",
    ),
    "runs tabulate": ("runs tabulate",),
    "runs delete": ("runs delete 20261121-195500 --yes",),
    "specimens list": ("specimens list",),
    "specimens fetch": ("specimens fetch mysql-8.0.33 openssl-3.5.5",),
    "specimens verify": ("specimens verify",),
    "specimens remove": ("specimens remove mysql-8.0.33",),
    "specimens add": ("specimens add mine --mysqld /opt/mysql/bin/mysqld",),
    "drivers list": ("drivers list",),
    "drivers probe": (
        "drivers probe --no-costs",
        "drivers probe pymysql-1.2 --no-costs --attacks",
        "drivers probe --server postgresql-18 --no-costs",
    ),
    "completion": (
        "completion bash > ~/.local/share/bash-completion/completions/tlstax",
        "completion fish > ~/.config/fish/completions/tlstax.fish",
    ),
}
"""By the words that lead to a command: what is typed after the program's name."""


def attach(app: typer.Typer, before: str = "") -> None:
    """Give each command of the application its examples."""
    for command in app.registered_commands:
        own = command.name or (command.callback.__name__ if command.callback is not None else "")
        lines = EXAMPLES.get(f"{before}{own}", ())
        if lines:
            command.epilog = "\n".join((_AS_IT_IS, HEADING, *(f"  tlstax {line}" for line in lines)))
    for group in app.registered_groups:
        if group.typer_instance is not None:
            attach(group.typer_instance, f"{before}{group.name} " if group.name else before)


def examples_in(epilog: str) -> tuple[str, ...]:
    """The examples that were attached, by what a command has them in."""
    return tuple(line.strip() for line in epilog.splitlines() if line.startswith("  tlstax "))
