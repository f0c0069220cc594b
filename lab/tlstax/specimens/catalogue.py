"""The specimens that can be fetched by name, and what each is made of."""

from __future__ import annotations

from tlstax.specimens.driver_recipes import DRIVER_RECIPES
from tlstax.specimens.fault_recipes import FAULTS
from tlstax.specimens.openssl_recipes import OPENSSL
from tlstax.specimens.path_recipes import PATHS
from tlstax.specimens.recipe import Recipe
from tlstax.specimens.server_recipes import MARIADB_10_11, MARIADB_11_8, MYSQL_9_7, MYSQL_OF_SID, SERVERS

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe for recipe in (*SERVERS, *OPENSSL, *PATHS, *FAULTS, *DRIVER_RECIPES)
}

DEFAULT_SERVER = MYSQL_9_7
MARIADB_OF_RELEASE = {"bookworm": MARIADB_10_11, "trixie": MARIADB_11_8}


def default_servers(codename: str) -> tuple[Recipe, ...]:
    """The embedded default server and what takes its place, in the order in which they are tried.

    `codename` is that of the machine's own Debian release; where it is another, the newest MariaDB is taken.
    """
    return (DEFAULT_SERVER, MYSQL_OF_SID, MARIADB_OF_RELEASE.get(codename, MARIADB_11_8))
