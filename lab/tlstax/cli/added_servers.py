"""What servers that the user added can do goes into a study of them: they were asked when they were added."""

from __future__ import annotations

from tlstax.probes import specimen, specimen_list
from tlstax.specimens import added
from tlstax.study import Study
from tlstax.study.faults import rebuilt
from tlstax.study.level_names import AUTH_PLUGINS, COMPRESSIONS
from tlstax.study.server_abilities import ServerAbilities


def knowing_added(study: Study) -> Study:
    """The study with the abilities of its servers that were added; UserMistake where nothing is left of it.

    A server that could not be asked, or was added by an earlier version, is taken to do everything.
    """
    wanted = {str(level) for level in study.levels_of().get("server", ())}
    if not wanted:
        return study
    known = {entry.name: _abilities(entry.name) for entry in added.entries() if entry.name in wanted}
    servers = {name: abilities for name, abilities in known.items() if abilities is not None}
    return rebuilt(study, "server", servers=servers) if servers else study


def _abilities(name: str) -> ServerAbilities | None:
    facts = specimen.read(specimen_list.added_facts(name))
    if facts is None or facts.unasked or facts.account_plugins is None:
        return None
    plugins = tuple(plugin for plugin in AUTH_PLUGINS if plugin in facts.account_plugins)
    return ServerAbilities(
        tls_versions=facts.tls_versions,
        account_plugins=plugins,
        compressions=COMPRESSIONS if facts.compressions is None else facts.compressions,
    )
