"""`tlstax completion`: the script by which a shell completes what is typed after `tlstax`."""

from __future__ import annotations

from tlstax.cli.command_tree import command_tree
from tlstax.cli.completion.scripts import SHELLS, script
from tlstax.cli.completion.tables import tables
from tlstax.cli.streams import show
from tlstax.support.errors import UserMistake


def completion_command(shell: str) -> int:
    """Print the script of a shell; UserMistake for one that is not known."""
    if shell not in SHELLS:
        raise UserMistake(f"there is no completion for {shell!r}", remedy=f"name one of {', '.join(SHELLS)}")
    show(script(shell, tables(command_tree())))
    return 0
