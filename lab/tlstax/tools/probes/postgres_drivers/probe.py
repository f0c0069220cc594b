"""The course of a probe: each driver of PostgreSQL by each of its words, at a real and a hostile server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, get_args

from tlstax.clients.choice import adapter_command
from tlstax.contract import Account, TcpEndpoint
from tlstax.network.tap.opening import open_tap
from tlstax.records.capture import Conversation
from tlstax.run.bench import Needs, PrivateBench, Wanted, open_private_bench
from tlstax.run.pipeline import Watcher
from tlstax.specimens.processes import NO_LOCALHOST
from tlstax.specimens.resolve import named_server
from tlstax.store import Store
from tlstax.study.driver_catalogue import DRIVERS
from tlstax.support.errors import Interrupted, MachineFault
from tlstax.tools.probes.drivers.probe import CostsRun, ProbeRequest, costs_after, in_words, progress_words
from tlstax.tools.probes.drivers.probe_costs import Measurable
from tlstax.tools.probes.drivers.probe_reading import TCP_CONNECT
from tlstax.tools.probes.exchanged_certificates import ADDRESSES
from tlstax.tools.probes.postgres_drivers.adapter import STATEMENT, Adapter, Answer, RefusedWord, Told
from tlstax.tools.probes.postgres_drivers.document import (
    OVERS,
    Attack,
    Met,
    Outcome,
    Over,
    OwnLogin,
    PostgresDriverRow,
    PostgresProbe,
    ServerState,
    Trick,
    WordRow,
)
from tlstax.tools.probes.postgres_drivers.hostile_server import PLANTED, HostileServer, Scene
from tlstax.tools.probes.postgres_drivers.server_states import ServerStates, server_states
from tlstax.tools.probes.postgres_drivers.words import Word, words_of

DEFAULT_SERVER = "postgresql-18"
STATES: tuple[ServerState, ...] = get_args(ServerState)
IN_THE_MIDDLE: tuple[Trick, ...] = ("offer taken away", "error", "bytes behind the answer")
AS_SERVER: tuple[Trick, ...] = ("clear password", "md5", "wrong proof", "no proof", "nothing asked")
PASSED_ON: Trick = "passed on"


@dataclass
class _SoFar:
    """What is known so far; kept when Ctrl-C ends the rest."""

    rows: dict[str, PostgresDriverRow] = field(default_factory=dict)
    costs: CostsRun = field(default_factory=CostsRun)
    server: str = ""
    server_version: str = ""


def probe_postgres(request: ProbeRequest, store: Callable[[], Store], watcher: Watcher) -> PostgresProbe:
    """Probe all drivers of the request, one after another, then measure their costs together.

    A driver that cannot be built or does not answer says so in its row, and the others go on. Ctrl-C keeps
    what was found until then, each word that was tried to its end, and says what it left out. MachineFault
    where the server is not to be had.
    """
    so_far = _SoFar()
    status: Literal["complete", "interrupted"] = "complete"
    try:
        _probe(replace(request, server=request.server or DEFAULT_SERVER), so_far, store, watcher)
    except Interrupted:
        status = "interrupted"
    finally:
        watcher.close()
    rows = (_with_costs(row, so_far.costs) for row in so_far.rows.values())
    return PostgresProbe(
        status="interrupted" if so_far.costs.was_interrupted else status,
        server=so_far.server,
        server_version=so_far.server_version,
        run=so_far.costs.run,
        stopped_because=so_far.costs.why,
        drivers=tuple(sorted(rows, key=lambda row: list(DRIVERS).index(row.name))),
        unprobed=tuple(name for name in request.names if name not in so_far.rows),
    )


def _probe(request: ProbeRequest, so_far: _SoFar, store: Callable[[], Store], watcher: Watcher) -> None:
    def refused(name: str, why: str) -> None:
        so_far.rows[name] = _row(name, request.options).model_copy(update={"failed": why})

    if commands := request.obtained(adapter_command, watcher, refused):
        so_far.costs = costs_after(
            request, lambda: _gather(request, commands, so_far, watcher), store, watcher
        )


def _with_costs(row: PostgresDriverRow, costs: CostsRun) -> PostgresDriverRow:
    """The row with what its driver costs, where that was measured."""
    own = costs.costs.get(row.name)
    if own is None:
        return row
    return row.model_copy(update={"plain": own.plain, "encrypted": own.encrypted})


def _gather(
    request: ProbeRequest, commands: Mapping[str, Sequence[str]], so_far: _SoFar, watcher: Watcher
) -> list[Measurable]:
    """All that they do; those that came to the end of it, whose costs can be measured."""
    needs = Needs(rows=1, connections=1, seed=1, duration_s=1.0)
    wanted = Wanted(build=named_server(request.server or DEFAULT_SERVER, watcher.step), addresses=ADDRESSES)
    with ExitStack() as stack:
        bench = stack.enter_context(open_private_bench(needs, watcher.step, wanted))
        so_far.server, so_far.server_version = bench.server.specimen.name, bench.server.version
        directory = Path(bench.server.ca_file).parent / "probe"
        states = stack.enter_context(server_states(bench.server, bench.admin, directory))
        place = _Place(bench, states)
        entry = stack.enter_context(place.wire.listening())
        began = time.monotonic()
        for number, (name, command) in enumerate(commands.items()):
            watcher.step(progress_words(name, number, len(commands), time.monotonic() - began))
            _Driver(name, command, request, place, entry).probe(so_far.rows)
    return [Measurable(name=row.name) for row in so_far.rows.values() if row.failed is None]


def _row(name: str, options: Mapping[str, str]) -> PostgresDriverRow:
    driver = DRIVERS[name]
    return PostgresDriverRow(
        name=name,
        product=driver.product,
        version=driver.version,
        language=driver.language,
        options=dict(options),
    )


class _Place:
    """Where drivers are probed: the server, its states, and who stands before it."""

    def __init__(self, bench: PrivateBench, states: ServerStates) -> None:
        endpoint = bench.terms.endpoint
        if not isinstance(endpoint, TcpEndpoint):
            raise MachineFault("a driver can be probed only at a server's TCP port")
        self.endpoint: TcpEndpoint = endpoint
        self.account: Account = bench.terms.account
        self.states = states
        self.wire = HostileServer(endpoint, self.account, states.nobody, states.right)


class _Driver:
    """One driver, by one word after the other."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        request: ProbeRequest,
        place: _Place,
        entry: TcpEndpoint,
    ) -> None:
        self._name, self._command, self._request = name, command, request
        self._place, self._entry = place, entry

    def probe(self, rows: dict[str, PostgresDriverRow]) -> None:
        """Put all that can be learned of it into its row; what breaks off ends in `failed`, in a sentence.

        Where it is interrupted, the row has the words that were tried; there is none where none was.
        """
        told, words = words_of(self._name), list[WordRow]()
        update: dict[str, object] = {}
        try:
            words.extend(self._by(word) for word in told)
            update = {**facts(words), "reads_authorities_anew": self._reads_anew()}
        except (MachineFault, OSError) as fault:
            update = {"failed": in_words(fault)}
        except Interrupted:
            update = {**facts(words), "untried": tuple(word.meaning for word in told[len(words) :])}
            raise
        finally:
            if words or update.get("failed"):
                known = _row(self._name, self._request.options)
                rows[self._name] = known.model_copy(update={**update, "words": tuple(words)})

    def _started(self, word: Word, ca_file: Path | None = None) -> Adapter:
        return Adapter(
            self._command,
            Told(
                name=self._name,
                endpoint=self._entry,
                account=self._place.account,
                word=word,
                ca_file=str(ca_file or self._place.states.ca_file),
                options=self._request.options,
            ),
        )

    def _by(self, word: Word) -> WordRow:
        """What it does when it is told this."""
        known = WordRow(meaning=word.meaning, written=word.written)
        try:
            with _Restarting(lambda: self._started(word)) as adapter:
                return self._tried(known, adapter)
        except RefusedWord as refusal:
            return known.model_copy(update={"refused_word": refusal.answer.words})

    def _tried(self, known: WordRow, adapter: _Restarting) -> WordRow:
        right = self._meet(adapter, "right", say=False)
        if right.outcome == "refused":
            return known.model_copy(update={"refused_word": right.words, "met": (right,)})
        saying = self._meet(adapter, "right", say=True)
        others = [self._meet(adapter, state, say=True) for state in STATES if state != "right"]
        self._place.states.be("right")
        logins = tuple(self._logins(adapter))
        found = [*self._attacks(adapter)] if self._request.attacks else []
        shown = [scene for scene, _ in found if scene.over == "TLS" and scene.began_tls]
        return known.model_copy(
            update={
                "met": (saying, *others),
                "statements_on_connect": _statements(right),
                **_round_trips(right, saying),
                "logins": logins,
                "attacks": tuple(attack for _, attack in found),
                "takes_any_certificate": any(scene.logins for scene in shown) if shown else None,
            }
        )

    def _meet(self, adapter: _Restarting, state: ServerState, *, say: bool) -> Met:
        """The real server in this state, with a tap before it."""
        self._place.states.be(state)
        with open_tap(self._place.endpoint, at=NO_LOCALHOST) as tap:
            self._place.wire.through = tap.entry
            _, answer = _connect(adapter, say=say)
            conversations = tap.capture().conversations
        last = conversations[-1].tls if answer.done and conversations else None
        version = last.version if last is not None and last.finished else None
        encrypted: Outcome = "encrypted" if last is not None and last.finished else "in the clear"
        return Met(
            server=state,
            outcome=encrypted if answer.done else "refused",
            tls_version=version,
            words=answer.words,
            conversations=_without_frames(conversations),
        )

    def _logins(self, adapter: _Restarting) -> Iterator[OwnLogin]:
        """How it proves itself to a server that keeps to the rules; not where it does not come to it."""
        for over in OVERS:
            with self._place.wire.playing(None, over) as scene:
                _, answer = _connect(adapter, say=True)
            if scene.logins:
                yield OwnLogin(
                    over=over,
                    mechanism=scene.mechanism,
                    words=answer.words,
                    messages=tuple(scene.messages),
                )

    def _attacks(self, adapter: _Restarting) -> Iterator[tuple[Scene, Attack]]:
        """Each trick that the driver lets come to."""
        goes_on = True
        for trick in IN_THE_MIDDLE:
            scene, attack = self._attack(adapter, trick, "clear")
            if trick == "offer taken away":
                goes_on = scene.logins > 0
            if scene.asked or (goes_on and trick == "offer taken away"):
                yield scene, attack
        for trick in AS_SERVER if goes_on else ():
            yield self._attack(adapter, trick, "clear")
        for trick in (*AS_SERVER, PASSED_ON):
            scene, attack = self._attack(adapter, trick, "TLS")
            if not scene.began_tls:
                break
            yield scene, attack
            if not scene.logins:
                break

    def _attack(self, adapter: _Restarting, trick: Trick, over: Over) -> tuple[Scene, Attack]:
        wire = self._place.wire
        with open_tap(self._place.endpoint, at=NO_LOCALHOST) as tap, wire.playing(trick, over) as scene:
            wire.server = tap.entry
            is_open, answer = _connect(adapter, say=True)
            passed_on = _without_frames(tap.capture().conversations)
        connected, ran = scene.connected or is_open, scene.ran
        if trick == "bytes behind the answer":
            # Who went on with the login in order was not deceived.
            connected = scene.connected and scene.mechanism is None
            ran = scene.ran and connected
        elif trick in {*IN_THE_MIDDLE, PASSED_ON}:
            ran = any(STATEMENT in own.text for talk in passed_on for own in talk.statements)
        return scene, Attack(
            trick=trick,
            over=over,
            gave=scene.gave,
            connected=connected,
            ran=ran,
            in_clear=scene.in_clear,
            repeats_error=PLANTED in answer.words,
            words=answer.words,
            messages=tuple(scene.messages),
            conversations=passed_on,
        )

    def _reads_anew(self) -> bool | None:
        """Whether a file of authorities that changes is in force for the next connection."""
        states = self._place.states
        strict = next((word for word in words_of(self._name) if word.meaning == "verify-full"), None)
        if strict is None:
            return None
        changing = states.ca_file.with_name("changing.pem")
        changing.write_bytes(states.ca_file.read_bytes())
        states.be("right")
        self._place.wire.through = self._place.endpoint
        try:
            with _Restarting(lambda: self._started(strict, changing)) as adapter:
                if not _connect(adapter, say=False)[0]:
                    return None
                changing.write_bytes(states.nobody.ca_file.read_bytes())
                return not _connect(adapter, say=False)[0]
        except RefusedWord:
            return None


class _Restarting:
    """An adapter that is started anew where it has ended, so that one hang costs one answer."""

    def __init__(self, start: Callable[[], Adapter]) -> None:
        self._start = start
        self._adapter = start()

    def usable(self) -> Adapter:
        """One that takes orders."""
        if not self._adapter.is_usable:
            self._adapter.end()
            self._adapter = self._start()
        return self._adapter

    def __enter__(self) -> _Restarting:
        return self

    def __exit__(self, *_: object) -> None:
        self._adapter.end()


def _connect(adapter: _Restarting, *, say: bool) -> tuple[bool, Answer]:
    """Open a connection, say the statement, close: whether it was opened, and the last answer before that."""
    usable = adapter.usable()
    opened = answer = usable.open()
    if opened.done and say:
        answer = usable.say()
    if opened.done and usable.is_usable:
        usable.close()
    return opened.done, answer


def _without_frames(conversations: Sequence[Conversation]) -> tuple[Conversation, ...]:
    """How each began and what was asked: their bytes are not needed."""
    return tuple(talk.model_copy(update={"frames": ()}) for talk in conversations)


def _round_trips(opening: Met, saying: Met) -> dict[str, int]:
    """Of connecting, and of the statement: from two meetings that differ in it."""
    if not opening.conversations or not saying.conversations:
        return {}
    fewer, more = (sum(talk.traffic.turns for talk in met.conversations) for met in (opening, saying))
    connects = TCP_CONNECT * len(opening.conversations)
    return {"round_trips_per_connect": connects + fewer, "round_trips_per_statement": more - fewer}


def facts(words: Sequence[WordRow]) -> dict[str, object]:
    """What is the same by all words: of the first handshake, and of the first login in the clear."""
    talks = [
        talk for word in words for met in word.met if met.server == "right" for talk in met.conversations
    ]
    begun = [talk.tls for talk in talks if talk.tls is not None]
    handshake = next((tls for tls in begun if tls.finished), None)
    own = next((word.statements_on_connect for word in words if word.statements_on_connect is not None), None)
    known: dict[str, object] = {"statements_on_connect": own}
    if handshake is not None:
        hello = handshake.hello
        known |= {
            "tls_version": handshake.version,
            "cipher": handshake.cipher,
            "group": handshake.group,
            "key_shares": hello.key_shares,
            "hello_retry": handshake.hello_retry,
            "server_name": hello.server_name,
            "application_protocols": hello.protocols,
            "offers_session": any(tls.hello.offers_session for tls in begun),
        }
    return known


def _statements(opening: Met) -> tuple[str, ...] | None:
    """What it says by itself on a connection that is opened and closed; None where that cannot be read."""
    if opening.outcome != "in the clear" or not opening.conversations:
        return None
    texts = (statement.text for talk in opening.conversations for statement in talk.statements)
    return tuple(" ".join(text.split()) for text in texts if text.strip())
