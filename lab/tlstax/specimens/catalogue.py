"""The specimens that can be fetched by name, and what each is made of."""

from __future__ import annotations

from tlstax.specimens.driver_recipes import DRIVER_RECIPES
from tlstax.specimens.fault_recipes import FAULTS
from tlstax.specimens.openssl_recipes import OPENSSL
from tlstax.specimens.path_recipes import PATHS
from tlstax.specimens.recipe import Recipe
from tlstax.specimens.server_recipes import MARIADB_11_8, MYSQL_9_7, SERVERS

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe for recipe in (*SERVERS, *OPENSSL, *PATHS, *FAULTS, *DRIVER_RECIPES)
}

DEFAULT_SERVERS = (MYSQL_9_7.name, MARIADB_11_8.name)
"""The embedded default server and what takes its place, in the order in which they are tried."""
