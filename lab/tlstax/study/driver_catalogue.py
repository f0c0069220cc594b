"""The drivers that can be measured: the lines of `drivers/drivers.toml`, checked when they are read."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from tlstax.contract.frozen import Frozen
from tlstax.support.errors import UserMistake
from tlstax.support.installation import folder_of
from tlstax.support.plain_words import first_mistake

FOLDER = folder_of("drivers")
"""Where each driver's program lies, beside the list of them."""

FOLDER_VARIABLE = "TLSTAX_DRIVERS"
"""Names another such folder, whose drivers are known beside this project's."""

LIST = "drivers.toml"


class Driver(Frozen):
    """A driver of one version: whose it is, in which language, and the folder that has our program around it.

    `needs` are the programs that its folder's `build` calls, `debian` packages of `debian_suite` that are
    unpacked for it before. `protocols` are those that it can be told to send statements by, `connections` is
    how many it can keep, None for as many as it is asked for; `unix_socket` is whether it comes over one.
    With a `specimen`, its program is given the command of that server's `program`. It `speaks` the protocol
    of MySQL, which MariaDB's is too, or PostgreSQL's; one that `begins_tls` can begin TLS at once there. An
    `adapter` is spoken to by `tlstax-tools driver` (drivers/ADAPTERS.md); any other program speaks the
    contract itself.
    """

    folder: str
    product: str
    version: str
    language: str
    needs: tuple[str, ...]
    protocols: tuple[Literal["text", "prepared"], ...] = ("text", "prepared")
    debian: tuple[str, ...] = ()
    debian_suite: str = "bookworm"
    specimen: str | None = None
    program: str = ""
    connections: int | None = None
    unix_socket: bool = False
    adapter: bool = False
    speaks: Literal["mysql", "postgresql"] = "mysql"
    begins_tls: bool = False
    place: Path = Field(exclude=True)
    """Where the folder is."""


def _read(directory: Path) -> dict[str, Driver]:
    """The drivers of a folder; UserMistake where its list is none."""
    file = directory / LIST
    try:
        lines = tomllib.loads(file.read_text(encoding="utf-8"))
        return {
            name: Driver.model_validate({**line, "place": directory / line.get("folder", "")})
            for name, line in lines.items()
        }
    except OSError as error:
        raise UserMistake(f"{file} cannot be read ({error.strerror})") from error
    except (ValueError, AttributeError, TypeError) as error:
        problem = first_mistake(error) if isinstance(error, ValidationError) else str(error)
        raise UserMistake(
            f"{file} is not a list of drivers ({problem})", remedy="drivers/README.md has the format"
        ) from error


def _known() -> dict[str, Driver]:
    other = os.environ.get(FOLDER_VARIABLE)
    return _read(FOLDER) | (_read(Path(other).expanduser().absolute()) if other else {})


DRIVERS: dict[str, Driver] = _known()
"""By their names, which are levels of the factor `client`."""


def speaking(protocol: Literal["mysql", "postgresql"]) -> tuple[str, ...]:
    """The names of the drivers that speak this protocol, in the order of the list."""
    return tuple(name for name, driver in DRIVERS.items() if driver.speaks == protocol)


HELD_BACK_US = 35_000
"""From here on a connect over TLS waits for a delayed acknowledgement: Linux delays one by 40 ms at least
(TCP_DELACK_MIN, include/net/tcp.h), and TLS itself adds a few to a driver that does not wait."""
