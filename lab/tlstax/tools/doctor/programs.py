"""Checks of what is installed: OpenSSL, the engine, a server, drivers, and the means to fetch them."""

from __future__ import annotations

import ctypes
import shutil

from tlstax.clients.engine import engine_command
from tlstax.specimens import catalogue, shelf
from tlstax.specimens.catalogue import DEFAULT_SERVER, RECIPES, default_servers
from tlstax.specimens.sources.apt import codename, configured_mirror
from tlstax.specimens.sources.compiled import PACKAGES
from tlstax.study import listed
from tlstax.study.driver_catalogue import DRIVERS
from tlstax.support.errors import MachineFault
from tlstax.tools.doctor.check import Seen, missing

OTHER_TUNNELS = {"ghostunnel": "ghostunnel", "WireGuard": "wg", "OpenVPN": "openvpn"}
"""Other ways to carry a connection, and the program by which each is known; there is no path of them."""

SONAMES = ("4", "3", "1.1")
"""Versions in the file names of libssl and libcrypto, the newest first."""


def openssl() -> Seen:
    """Which libssl the client uses where a study names none."""
    for version in SONAMES:
        try:
            ctypes.CDLL(f"libssl.so.{version}")
            library = ctypes.CDLL(f"libcrypto.so.{version}")
        except OSError:
            continue
        library.OpenSSL_version.restype = ctypes.c_char_p
        found = f"{library.OpenSSL_version(0).decode()} (libssl.so.{version})"
        return Seen("ok", found, "The client can use this machine's library.")
    return Seen(
        "missing",
        "no libssl.so.3 and none of its neighbours",
        "The client cannot encrypt, unless a study names a library.",
        "apt-get install libssl3",
    )


def engine() -> Seen:
    """Whether the load engine is there."""
    try:
        (path, *_) = engine_command()
    except MachineFault as fault:
        return missing(fault, "Nothing can be measured.")
    return Seen("ok", path, "Built from these sources, in release mode.")


def child_control() -> Seen:
    """Whether the programs are there that tie children to us and to their CPUs."""
    wanted = ("setpriv", "taskset")
    lacking = [program for program in wanted if shutil.which(program) is None]
    if not lacking:
        return Seen("ok", " and ".join(wanted), "Nothing is left running behind.")
    found = f"{' and '.join(lacking)} not found"
    return Seen("missing", found, "Servers and clients cannot be started.", "apt-get install util-linux")


def server() -> Seen:
    """Whether the default server, or what takes its place, is there already."""
    for recipe in default_servers(codename()):
        root = shelf.present(recipe)
        if root is not None:
            return Seen("ok", f"{recipe.name} in {root.path}", "No network is needed.")
    return Seen(
        "limited",
        "none fetched yet",
        f"The first run fetches {DEFAULT_SERVER.name}, which needs the network and some seconds.",
    )


def paths() -> Seen:
    """Which programs between client and server are there already, and which others this machine has."""
    recipes = catalogue.PATHS
    there = [recipe.name for recipe in recipes if shelf.present(recipe) is not None]
    absent = [recipe.name for recipe in recipes if recipe.name not in there]
    others = [words for words, program in OTHER_TUNNELS.items() if shutil.which(program)]
    lacking = [words for words in OTHER_TUNNELS if words not in others]
    found = f"{listed(there)} fetched" if there else "none fetched yet"
    also = f"; of this machine {listed(others)}" if others else ""
    without = f"; no {' and no '.join(lacking)} on this machine" if lacking else ""
    meaning = "Studies of paths need no network." if not absent else f"A study that needs {listed(absent)}"
    if absent:
        meaning += " fetches it from Debian, 8 to 25 MB each."
    unmeasured = " Tunnels of this machine are not measured." if others else ""
    return Seen("limited" if absent else "ok", found + also + without, meaning + unmeasured)


def fetching() -> Seen:
    """Whether a server could be fetched, as far as that can be known without the network."""
    try:
        mirror = configured_mirror()
    except MachineFault as fault:
        return missing(fault, "No server can be fetched; one that is installed here can be measured.")
    found = f"apt, dpkg-deb, a Debian archive and {mirror.keyrings[0].name}"
    return Seen("ok", found, "Servers can be fetched and their signatures checked.")


def drivers() -> Seen:
    """Which drivers are built already, and which cannot be built because a program is missing."""
    built = [name for name in DRIVERS if shelf.present(RECIPES[name]) is not None]
    programs = dict.fromkeys(program for driver in DRIVERS.values() for program in driver.needs)
    lacking = [program for program in programs if shutil.which(program) is None]
    without = [
        name
        for name, driver in DRIVERS.items()
        if name not in built and any(program in lacking for program in driver.needs)
    ]
    there = [program for program in programs if program not in lacking]
    absent = f"; no {listed(lacking)}" if lacking else ""
    found = f"{len(built)} of {len(DRIVERS)} built; {listed(there)}{absent}"
    if not without:
        meaning = "Every driver can be built when it is needed, by its own package manager."
        return Seen("ok", found, meaning)
    return Seen(
        "limited",
        found,
        f"{listed(without)} cannot be measured; all others are built when they are needed.",
        f"install {listed([PACKAGES.get(program, program) for program in lacking])}",
    )
