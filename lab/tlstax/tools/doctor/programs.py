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
from tlstax.tools.doctor.check import Check

OTHER_TUNNELS = {"ghostunnel": "ghostunnel", "WireGuard": "wg", "OpenVPN": "openvpn"}
"""Other ways to carry a connection, and the program by which each is known; there is no path of them."""

SONAMES = ("4", "3", "1.1")
"""Versions in the file names of libssl and libcrypto, the newest first."""


def openssl() -> Check:
    """Which libssl the client uses where a study names none."""
    name = "OpenSSL"
    for version in SONAMES:
        try:
            ctypes.CDLL(f"libssl.so.{version}")
            library = ctypes.CDLL(f"libcrypto.so.{version}")
        except OSError:
            continue
        library.OpenSSL_version.restype = ctypes.c_char_p
        version_text = library.OpenSSL_version(0).decode()
        meaning = "The client can use this machine's library."
        return Check(name=name, status="ok", found=f"{version_text} (libssl.so.{version})", meaning=meaning)
    return Check(
        name=name,
        status="missing",
        found="no libssl.so.3 and none of its neighbours",
        meaning="The client cannot encrypt, unless a study names a library.",
        remedy="apt-get install libssl3",
    )


def engine() -> Check:
    """Whether the load engine is there."""
    name = "load engine"
    try:
        (path, *_) = engine_command()
    except MachineFault as fault:
        meaning = "Nothing can be measured."
        return Check(name=name, status="missing", found=fault.message, meaning=meaning, remedy=fault.remedy)
    return Check(name=name, status="ok", found=path, meaning="Built from these sources, in release mode.")


def child_control() -> Check:
    """Whether the programs are there that tie children to us and to their CPUs."""
    missing = [program for program in ("setpriv", "taskset") if shutil.which(program) is None]
    return Check(
        name="child processes",
        status="missing" if missing else "ok",
        found=f"{' and '.join(missing)} not found" if missing else "setpriv and taskset",
        meaning="Servers and clients cannot be started." if missing else "Nothing is left running behind.",
        remedy="apt-get install util-linux" if missing else "",
    )


def server() -> Check:
    """Whether the default server, or what takes its place, is there already."""
    name = "server"
    for recipe in default_servers(codename()):
        root = shelf.present(recipe)
        if root is not None:
            meaning = "No network is needed."
            return Check(name=name, status="ok", found=f"{recipe.name} in {root.path}", meaning=meaning)
    return Check(
        name=name,
        status="limited",
        found="none fetched yet",
        meaning=f"The first run fetches {DEFAULT_SERVER.name}, which needs the network and some seconds.",
    )


def paths() -> Check:
    """Which programs between client and server are there already, and which others this machine has."""
    recipes = catalogue.PATHS
    there = [recipe.name for recipe in recipes if shelf.present(recipe) is not None]
    absent = [recipe.name for recipe in recipes if recipe.name not in there]
    others = [words for words, program in OTHER_TUNNELS.items() if shutil.which(program)]
    missing = [words for words in OTHER_TUNNELS if words not in others]
    found = f"{listed(there)} fetched" if there else "none fetched yet"
    also = f"; of this machine {listed(others)}" if others else ""
    without = f"; no {' and no '.join(missing)} on this machine" if missing else ""
    meaning = "Studies of paths need no network." if not absent else f"A study that needs {listed(absent)}"
    if absent:
        meaning += " fetches it from Debian, 8 to 25 MB each."
    unmeasured = " Tunnels of this machine are not measured." if others else ""
    return Check(
        name="paths",
        status="limited" if absent else "ok",
        found=found + also + without,
        meaning=meaning + unmeasured,
    )


def fetching() -> Check:
    """Whether a server could be fetched, as far as that can be known without the network."""
    name = "fetching servers"
    try:
        mirror = configured_mirror()
    except MachineFault as fault:
        meaning = "No server can be fetched; one that is installed here can be measured."
        return Check(name=name, status="missing", found=fault.message, meaning=meaning, remedy=fault.remedy)
    found = f"apt, dpkg-deb, a Debian archive and {mirror.keyrings[0].name}"
    return Check(
        name=name, status="ok", found=found, meaning="Servers can be fetched and their signatures checked."
    )


def drivers() -> Check:
    """Which drivers are built already, and which cannot be built because a program is missing."""
    built = [name for name in DRIVERS if shelf.present(RECIPES[name]) is not None]
    programs = dict.fromkeys(program for driver in DRIVERS.values() for program in driver.needs)
    missing = [program for program in programs if shutil.which(program) is None]
    without = [
        name
        for name, driver in DRIVERS.items()
        if name not in built and any(program in missing for program in driver.needs)
    ]
    there = [program for program in programs if program not in missing]
    absent = f"; no {listed(missing)}" if missing else ""
    if without:
        meaning = f"{listed(without)} cannot be measured; all others are built when they are needed."
    else:
        meaning = "Every driver can be built when it is needed, by its own package manager."
    return Check(
        name="drivers",
        status="limited" if without else "ok",
        found=f"{len(built)} of {len(DRIVERS)} built; {listed(there)}{absent}",
        meaning=meaning,
        remedy=f"install {listed([PACKAGES.get(program, program) for program in missing])}"
        if without
        else "",
    )
