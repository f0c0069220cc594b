"""Which statements a driver sends of its own accord, and when: read from the server's log."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tlstax.contract import Frozen
from tlstax.records.capture import Logged
from tlstax.tools.probes.drivers.probed import INSERT, Asked

CONNECTED, LEFT = "Connect", "Quit"
"""The log's words for a login and for a goodbye; neither is a statement."""

_SAYS_IT = frozenset({"Query", "Execute"})
_WITH_TEXT = frozenset({"Query", "Prepare", "Init DB"})

_COMMANDS = {
    "Query": "COM_QUERY",
    "Init DB": "COM_INIT_DB",
    "Field List": "COM_FIELD_LIST",
    "Statistics": "COM_STATISTICS",
    "Change user": "COM_CHANGE_USER",
    "Prepare": "COM_STMT_PREPARE",
    "Execute": "COM_STMT_EXECUTE",
    "Long Data": "COM_STMT_SEND_LONG_DATA",
    "Close stmt": "COM_STMT_CLOSE",
    "Reset stmt": "COM_STMT_RESET",
    "Set option": "COM_SET_OPTION",
    "Fetch": "COM_STMT_FETCH",
    "Reset Connection": "COM_RESET_CONNECTION",
}
"""The log's words for a command and its name in the protocol (MySQL source, sql/sql_parse.cc)."""

_UNLOGGED = frozenset({"COM_PING", "COM_QUIT"})
"""What the log does not have (a ping), or has when the job is over (a goodbye)."""


class Sent(Frozen):
    """What a driver says beside what it was asked to say.

    What stands between two statements is said `before_each` or `after_each` of them, as the first and the
    last statement of a connection show. `commits` is whether the work ended with a COMMIT, which only a
    driver that turns autocommit off has to be given. `alike` is whether all connections were like the
    last one.
    """

    on_connect: tuple[str, ...]
    before_each: tuple[str, ...]
    after_each: tuple[str, ...]
    on_close: tuple[str, ...]
    commits: bool
    alike: bool


def sent(asked: Asked) -> Sent | None:
    """What was sent on the job's own connections; None where the log does not have them or all statements.

    The job asks at least two statements on each of its connections.
    """
    connections = [_read(lines, asked.statements) for lines in _own_connections(asked)]
    complete = [seen for seen in connections if seen is not None]
    if len(complete) < asked.operations or not complete:
        return None
    return complete[-1].model_copy(update={"alike": all(seen == complete[-1] for seen in complete)})


def disagreement(asked: Asked) -> str:
    """Where the log and what a tap read in the clear differ, in words; empty where they are the same."""
    if asked.capture is None:
        return "there was no tap"
    talks = asked.capture.conversations[-asked.operations :]
    logged = _own_connections(asked)
    if len(talks) != len(logged):
        return f"the tap saw {len(talks)} connections, the log has {len(logged)}"
    for talk, lines in zip(talks, logged, strict=True):
        wire = [(one.command, _plain(one.text)) for one in talk.statements if one.command not in _UNLOGGED]
        log = [(_protocol(one), _plain(one.text) if _has_text(one) else "") for one in _commands(lines)]
        wire = [(command, text if _carries(command) else "") for command, text in wire]
        for one, other in zip(wire, log, strict=False):
            if one != other:
                return f"the tap read {_words(one)} where the log has {_words(other)}"
        if len(wire) != len(log):
            return f"the tap read {len(wire)} commands on a connection, the log has {len(log)}"
    return ""


def pings(asked: Asked) -> int:
    """How many pings crossed the wire in the clear on the job's last connection; the log has none of them."""
    talks = asked.capture.conversations if asked.capture is not None else ()
    return sum(statement.command == "COM_PING" for talk in talks[-1:] for statement in talk.statements)


def encrypted_by_log(asked: Asked) -> bool | None:
    """Whether the log calls all of the job's own connections encrypted; None where it does not say."""
    logins = [line.text for lines in _own_connections(asked) for line in lines if line.command == CONNECTED]
    if not logins or not all(" using " in text for text in logins):
        return None
    encrypted = {"SSL/TLS" in text for text in logins}
    return encrypted.pop() if len(encrypted) == 1 else None


def _own_connections(asked: Asked) -> list[list[Logged]]:
    """The lines of each connection that the job made for its work: the last ones that were let in."""
    threads: dict[int, list[Logged]] = {}
    for line in asked.log:
        threads.setdefault(line.thread, []).append(line)
    let_in = [lines for lines in threads.values() if any(line.command != CONNECTED for line in lines)]
    return let_in[-asked.operations :]


def _read(lines: Sequence[Logged], statements: int) -> Sent | None:
    """What was said around the statements of one connection; None where they are not all there."""
    said = _commands(lines)
    places = [place for place, line in enumerate(said) if line.command in _SAYS_IT and _is_ours(line)]
    if len(places) != statements or statements < 2:
        return None
    gaps = [_own(said[a + 1 : b]) for a, b in pairwise(places)]
    first, last = _own(said[: places[0]]), _own(said[places[-1] + 1 :])
    between = gaps[-1]
    alike = all(gap == between for gap in gaps)
    before = between if between and first[-len(between) :] == between else ()
    after = between if between and not before and last[: len(between)] == between else ()
    if between and not before and not after:
        before, alike = between, False
    elif before:
        first = first[: -len(between)]
    closing = last[len(after) :]
    commits = bool(closing) and closing[0].lower() == "commit"
    return Sent(
        on_connect=first,
        before_each=before,
        after_each=after,
        on_close=closing[1:] if commits else closing,
        commits=commits,
        alike=alike,
    )


def _commands(lines: Sequence[Logged]) -> list[Logged]:
    return [line for line in lines if line.command not in {CONNECTED, LEFT}]


def _own(lines: Sequence[Logged]) -> tuple[str, ...]:
    """The driver's own among them, in words: a statement by its text, another command by its name too."""
    return tuple(_as_words(line) for line in lines if not (line.command == "Prepare" and _is_ours(line)))


def _as_words(line: Logged) -> str:
    if line.command == "Query":
        return _plain(line.text)
    return f"({line.command}) {_plain(line.text)}".rstrip()


def _is_ours(line: Logged) -> bool:
    return INSERT.split("(")[0].strip().lower() in _plain(line.text).lower()


def _plain(text: str) -> str:
    """A statement with blanks for all white space and without what ends it, which the log leaves out."""
    return " ".join(text.split()).rstrip("; \0")


def _protocol(line: Logged) -> str:
    return _COMMANDS.get(line.command, line.command)


def _has_text(line: Logged) -> bool:
    return line.command in _WITH_TEXT


def _carries(command: str) -> bool:
    """Whether a tap can read the text of that command as the log has it."""
    return command in {_COMMANDS[word] for word in _WITH_TEXT}


def _words(command: tuple[str, str]) -> str:
    name, text = command
    return f"{name} {text[:60]!r}" if text else name
