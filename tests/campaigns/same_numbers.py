"""same_numbers.py: whether other code shows the same numbers of recorded runs, whatever form they have now.

    tests/campaigns/same_numbers.py render RUNS FOLDER [--tree TREE] [--only NAME[,NAME…]]
    tests/campaigns/same_numbers.py compare OLD NEW [--differences FOLDER]
    tests/campaigns/same_numbers.py places FOLDER

`render` opens each pack RUNS/NAME.tlstax with the code of TREE (default: the tree of this file) in a store of
its own, and writes into FOLDER/NAME what that code shows of it, in every format: reports at several widths,
the tables of `runs export`, the store's views, explanations, and it beside the next run of its study.
Each RUNS/documents/NAME.json, as a bench or a probe printed it, is shown as text. No server is started.

`compare` holds two such folders against each other:

- Every number and every name of an old JSON document must be in the new one, to the last digit and at the
  same place, unless a rule in `moved_numbers.py` says where it is now, or why it is gone. What rows have now
  is looked for by topic, outcome, field, case and what it is beside: no two values can change places.
- Every row of an old CSV, of an SQL view and of rows as JSON must be there, with the same cells; options of
  a driver in any order.
- Sentences may change. Texts get a unified diff each, in a folder to be read (default: NEW-differences).
  Every number of an old text must still be there as often, unless that is excused.

The status is 1 where something is gone that no line excuses. `places` prints each place of numbers in
reports' JSON, how many there are and in which runs: what needs a line if it moves. Run it with the tests'
Python.
"""

from __future__ import annotations

import argparse
import csv
import difflib
import json
import re
import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fnmatch import fnmatch
from functools import cache, partial
from html.parser import HTMLParser
from pathlib import Path
from string import Formatter
from typing import Any, TypeVar

from moved_numbers import (
    CELLS,
    FILES,
    ORDINALS,
    PROSE,
    RULES,
    SETS,
    TEXTS,
    Cells,
    Dropped,
    Moved,
    Renamed,
    Rule,
)
from rendered_runs import render, say

# JSON documents.

Steps = tuple[str | int, ...]


@dataclass(frozen=True)
class Fact:
    """A value in a document, written the same for the same value: where it is, and what is around it."""

    path: Steps
    value: str
    around: Mapping[str, Any]

    @property
    def is_prose(self) -> bool:
        """Whether it is words, by the field's name."""
        names = [step for step in self.path if isinstance(step, str)]
        return self.value.startswith('"') and bool(names) and names[-1] in PROSE


@dataclass(frozen=True)
class Gone:
    """Something of an old file that the new one does not have."""

    place: str
    what: str


def read_json(text: str) -> Any:
    """A document whose numbers have all their digits."""
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


def facts(
    found: Any, path: Steps = (), around: Mapping[str, Any] | None = None, *, whole: bool = False
) -> Iterator[Fact]:
    """All values of a document in its order; if `whole`, an interval is one value."""
    around = around or {}
    if isinstance(found, dict):
        if whole and _is_interval(found):
            ends = ", ".join(f"{name} {written(found.get(name))}" for name in INTERVAL)
            yield Fact(path, f"interval: {ends}", around)
            return
        around = {**around, **{name: value for name, value in found.items() if _is_flat(value)}}
        for name, value in found.items():
            yield from facts(value, (*path, name), around, whole=whole)
    elif isinstance(found, list):
        for number, value in enumerate(found):
            yield from facts(value, (*path, number), around, whole=whole)
    else:
        yield Fact(path, written(found), around)


INTERVAL = ("point", "low", "high", "confidence", "blocks")


def _is_interval(found: Mapping[str, Any]) -> bool:
    return {"point", "low", "high"} <= found.keys()


def _is_flat(value: Any) -> bool:
    if isinstance(value, dict):
        return not any(isinstance(one, dict | list) for one in value.values())
    return not isinstance(value, list)


def written(value: Any) -> str:
    """A value in the one way in which it is compared: 1.50 and 1.5 are the same number, "1.5" is none."""
    if isinstance(value, Decimal):
        return str(value.normalize())
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class Claim:
    """A value that rows should have, how far it is below the rule's place, and the key at `{}`."""

    fact: Fact
    rest: Steps
    key: str


def compare_json(old: Any, new: Any, rules: Sequence[Rule]) -> Iterator[Gone]:
    """What of the old document is not in the new one, where the rules say that it is."""
    new_values = {fact.path: fact.value for fact in facts(new)}
    claims: dict[Moved, list[Claim]] = defaultdict(list)
    for whole in (False, True):
        for fact in facts(old, whole=whole):
            rule = rule_of(_pattern(fact.path), tuple(rules))
            if fact.is_prose or isinstance(rule, Dropped) or _is_whole(rule) != whole:
                continue
            if isinstance(rule, Moved):
                if fact.value != "null" and not _identifies(fact.path, rules):
                    claims[rule].append(_claim(fact, rule))
                continue
            path = _at(rule, fact.path)
            value = new_values.get(path, "null" if fact.value == "null" else None)
            if value != fact.value and not _identifies(fact.path, rules):
                now = "is not there" if value is None else f"is {value}"
                yield Gone(spelt(_pattern(fact.path)), f"{spelt(fact.path)} = {fact.value} {now}")
    values: dict[str, list[RowValue]] = defaultdict(list)
    for row in _rows_of(new) if isinstance(new, dict) else ():
        values[row["topic"]] += _row_values(row)
    for rule, own in claims.items():
        yield from _gone_from_rows(rule, own, values[rule.topic])


def _rows_of(new: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """All rows of a document, each with its topic; empty where the document is of one alone."""
    for row in new.get("rows", ()):
        if isinstance(row, dict):
            yield {"topic": "", "baseline": row.get("beside", {}), **row}
    for name, told in new.get("topics", {}).items():
        for row in told["rows"]:
            yield {**row, "topic": name}


def _is_whole(rule: Rule | None) -> bool:
    return isinstance(rule, Moved) and "*" in {rule.field, rule.outcome}


@cache
def rule_of(path: Steps, rules: tuple[Rule, ...]) -> Rule | None:
    """The longest rule for what is there; None where it is at its place still."""
    fitting = [rule for rule in rules if _fits(_steps(rule.old), path)]
    return max(fitting, key=lambda rule: len(_steps(rule.old)), default=None)


@cache
def _steps(place: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[^.\[\]{}]+|\[\]|\{\}", place))


def _fits(steps: Sequence[str], path: Steps) -> bool:
    """Whether the path begins so; elements have no numbers in it."""
    return len(steps) <= len(path) and all(
        step == own or (step == "{}" and own != "[]") for step, own in zip(steps, path, strict=False)
    )


def _identifies(path: Steps, rules: Sequence[Rule]) -> bool:
    """Whether it is by this that a rule finds its row: then it is compared with every value of the row."""
    own = _pattern(path)
    return any(
        isinstance(rule, Moved)
        and step in {rule.case, rule.beside, *rule.by, *_named_in(rule.outcome)}
        and _fits(_steps(rule.old)[:place], own)
        for rule in rules
        for place, step in enumerate(own)
        if place <= len(_steps(rule.old))
    )


@cache
def _named_in(outcome: str) -> tuple[str, ...]:
    return tuple(name for _, name, _, _ in Formatter().parse(outcome) if name)


def _claim(fact: Fact, rule: Moved) -> Claim:
    steps = _steps(rule.old)
    keys = [str(own) for step, own in zip(steps, fact.path, strict=False) if step == "{}"]
    return Claim(fact, fact.path[len(steps) :], keys[-1] if keys else "")


def _at(rule: Renamed | None, path: Steps) -> Steps:
    """Where a value is now: the numbers of elements stay, in their order."""
    if rule is None:
        return path
    begin = len(_steps(rule.old))
    numbers = iter([step for step in path[:begin] if isinstance(step, int)])
    return (*(next(numbers, -1) if step == "[]" else step for step in _steps(rule.new)), *path[begin:])


def _pattern(path: Steps) -> Steps:
    """The path without the numbers of elements."""
    return tuple("[]" if isinstance(step, int) else step for step in path)


def spelt(path: Steps) -> str:
    """The path in one word."""
    text = "".join(
        f"[{step}]" if isinstance(step, int) else step if step == "[]" else f".{step}" for step in path
    )
    return text.removeprefix(".")


@dataclass(frozen=True)
class RowValue:
    """One value of a row: in which field, as part of an interval or whole."""

    row: Mapping[str, Any]
    field: str
    value: str


def _row_values(row: Mapping[str, Any]) -> Iterator[RowValue]:
    """Each value alone, and each interval as one."""
    for whole in (False, True):
        for fact in facts(row, whole=whole):
            if whole and not fact.value.startswith("interval: "):
                continue
            yield RowValue(row, spelt(fact.path), _named(fact))


def _named(fact: Fact) -> str:
    """Yes and no are nothing without the name of what they answer."""
    return f"{fact.path[-1]} {fact.value}" if fact.value in ("true", "false") else fact.value


def _gone_from_rows(rule: Moved, claims: Sequence[Claim], values: Sequence[RowValue]) -> Iterator[Gone]:
    """What one rule claims of rows and they do not have; each value of a row stands for one alone."""
    both = ((rule.case, "case"), (rule.beside, "baseline"))
    sides = [(name, theirs) for name, theirs in both if any(name in own.fact.around for own in claims)]
    there = Counter(
        (
            "*" if rule.outcome == "*" else str(own.row.get("outcome", "")),
            "*" if rule.field == "*" else own.field,
            tuple(_levels(own.row.get(theirs), rule.without) for _, theirs in sides),
            tuple(written(_beside(own.row, name)) for name in rule.by),
            own.value,
        )
        for own in values
    )
    for own in claims:
        around = own.fact.around
        names = {name: _plain(around.get(name, "")) for name in _named_in(rule.outcome)} | {"key": own.key}
        claimed = (
            rule.outcome.format_map(names),
            "*" if rule.field == "*" else spelt((*_steps(rule.field), *own.rest)),
            tuple(_levels(around.get(name), rule.without) for name, _ in sides),
            tuple(written(around.get(name)) for name in rule.by),
            _named(own.fact),
        )
        if there[claimed] > 0:
            there[claimed] -= 1
            continue
        outcome, where, levels, by, value = claimed
        case = " beside ".join(" ".join(f"{n}={v}" for n, v in side) for side in levels)
        looked = "; ".join((f"topic {rule.topic}, outcome {outcome}, field {where}", case, *by))
        place = own.fact.path
        yield Gone(spelt(_pattern(place)), f"{spelt(place)} = {value} is in no row ({looked})")


def _levels(case: Any, without: Sequence[str]) -> tuple[tuple[str, str], ...]:
    found = case if isinstance(case, dict) else {}
    return tuple(sorted((name, written(level)) for name, level in found.items() if name not in without))


def _beside(row: Mapping[str, Any], name: str) -> Any:
    more = row.get("more")
    return more[name] if isinstance(more, dict) and name in more else row.get(name)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else written(value)


# Tables.

Row = Mapping[str, str]


def read_rows(path: Path) -> list[Row]:
    """The rows of a table, each cell as it is compared; what is empty is left out."""
    with path.open(newline="") as file:
        if path.suffix == ".json":
            found: Iterable[Mapping[str, Any]] = read_json(file.read())
            return [{n: _cell(n, _plain(v)) for n, v in row.items() if v not in (None, "")} for row in found]
        return [{n: _cell(n, v) for n, v in row.items() if v} for row in csv.DictReader(file)]


NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def _cell(name: str, text: str) -> str:
    if name in SETS:
        return "; ".join(sorted(text.split("; ")))
    return str(Decimal(text).normalize()) if NUMBER.fullmatch(text) else text


def compare_rows(old: Sequence[Row], new: Sequence[Row], lines: Sequence[Cells]) -> Iterator[Gone]:
    """Which old rows no new row has all cells of; each new row stands for one old row of a role alone."""
    by_role: dict[str, list[Row]] = defaultdict(list)
    for row in old:
        by_role[row.get("role", "")].append(row)
    for role, rows in by_role.items():
        line = next((one for one in lines if one.old_role in (role, "*")), Cells(role))
        yield from _gone_rows(role, [moved_row(row, line) for row in rows], new)


def moved_row(row: Row, line: Cells) -> Row:
    """The cells that a new row has in place of this one; words and mere counters are not among them."""
    moved = {}
    for name, value in row.items():
        if name in PROSE or name in ORDINALS:
            continue
        column = _column(name, line.columns)
        told = {"role": line.role, "outcome": line.outcome}.get(name)
        if column:
            moved[column] = value if told is None else told
    return moved


def _column(name: str, columns: Mapping[str, str]) -> str:
    if name in columns:
        return columns[name]
    for old, new in columns.items():
        if old.endswith("_*") and name.startswith(old[:-1]):
            return new[:-1] + name[len(old) - 1 :]
    return name


def _gone_rows(role: str, rows: Sequence[Row], new: Sequence[Row]) -> Iterator[Gone]:
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, row in enumerate(new):
        for cell in row.items():
            places[cell].append(number)
    left: list[Row] = []
    taken: set[int] = set()
    for row in sorted(rows, key=len, reverse=True):
        fewest = min((places.get(cell, []) for cell in row.items()), key=len, default=[])
        same = (n for n in fewest if n not in taken and _cells_alike(row, new[n]) == len(row))
        place = next(same, None)
        if place is None:
            left.append(row)
        else:
            taken.add(place)
    others = [row for number, row in enumerate(new) if number not in taken]
    for count, row in enumerate(left):
        named = f"{role or 'row'}: {row.get('outcome', row.get('label', ''))}"
        nearest = max(others, key=partial(_cells_alike, row), default={}) if count < EXPLAINED else {}
        off = (f"{n} {v} is {nearest.get(n, 'empty')}" for n, v in row.items() if nearest.get(n) != v)
        what = f"the nearest row differs: {'; '.join(off)}" if nearest else "it is not there"
        yield Gone(f"row of role {role}" if role else "row", f"{named}: {what}")


EXPLAINED = 5
"""Of how many rows that are gone the nearest is searched."""


def _cells_alike(row: Row, other: Row) -> int:
    return sum(other.get(name) == value for name, value in row.items())


# Texts.


class _Words(HTMLParser):
    """What a page says, each piece of text on a line, pictures' with the rest."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Frames are pages of their own."""
        if tag in ("style", "script"):
            self._inside.append(tag)
        self.lines += [
            line for name, value in attrs if name == "srcdoc" for line in words_of_page(value or "")
        ]

    def handle_endtag(self, tag: str) -> None:
        """What stands between these tags is no text."""
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        """A piece of text, without what only lays it out."""
        text = " ".join(data.split())
        if text and not self._inside:
            self.lines.append(text)


def words_of_page(page: str) -> list[str]:
    """The text of a page in lines."""
    parser = _Words()
    parser.feed(page)
    parser.close()
    return parser.lines


def lines_of(path: Path) -> list[str]:
    """A text, or the words of a page or of a document, in lines."""
    text = path.read_text()
    if path.suffix == ".html":
        return words_of_page(text)
    if path.suffix == ".json":
        return [json.loads(fact.value) for fact in facts(read_json(text)) if fact.is_prose]
    if path.suffix == ".csv":
        return [
            f"{n}: {v}"
            for row in csv.DictReader(text.splitlines())
            for n, v in row.items()
            if n in PROSE and v
        ]
    return text.splitlines()


IN_TEXT = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


def numbers_gone(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """The numbers of a text that the other has less often."""
    before, now = (Counter(IN_TEXT.findall("\n".join(lines))) for lines in (old, new))
    return sorted((before - now).elements())


# All of it.


@dataclass
class Comparison:
    """What was compared, what is gone, by the place where it was, and where the differences of texts are."""

    differences: Path
    gone: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))
    files: int = 0
    alike: int = 0
    numbers: int = 0
    rows: int = 0
    texts: list[tuple[str, int]] = field(default_factory=list)

    def add(self, file: str, found: Iterable[Gone]) -> None:
        """Count what is gone from a file, under its name without the run's."""
        short = file.partition("/")[2] or file
        for one in found:
            self.gone[f"{short}: {one.place}"].append((file, one.what))


def compare(old: Path, new: Path, differences: Path) -> Comparison:
    """Compare two rendered folders, and write the differences of texts into a third, which is made anew."""
    shutil.rmtree(differences, ignore_errors=True)
    found = Comparison(differences)
    for path in sorted(path for path in old.rglob("*") if path.is_file()):
        file = str(path.relative_to(old))
        name, _, rest = file.partition("/")
        other = new / name / FILES.get(rest, rest)
        found.files += 1
        if _is_table(path):
            found.rows += len(read_rows(path))
        elif path.suffix == ".json":
            values = facts(read_json(path.read_text()))
            found.numbers += sum(NUMBER.fullmatch(fact.value) is not None for fact in values)
        if not other.exists():
            found.add(file, [Gone("the whole file", f"{file} is not there")])
        elif path.read_bytes() == other.read_bytes():
            found.alike += 1
        else:
            _compare_files(file, path, other, found)
    return found


def _is_table(path: Path) -> bool:
    return path.suffix == ".csv" or (path.suffix == ".json" and path.parent.name == "rows")


def _compare_files(file: str, path: Path, other: Path, found: Comparison) -> None:
    rest = file.partition("/")[2]
    if _is_table(path):
        found.add(file, compare_rows(read_rows(path), read_rows(other), _of_file(CELLS, rest)))
    elif path.suffix == ".json":
        old, new = (read_json(one.read_text()) for one in (path, other))
        found.add(file, compare_json(old, new, _of_file(RULES, rest)))
    before, now = lines_of(path), lines_of(other)
    differing = list(difflib.unified_diff(before, now, f"old/{file}", f"new/{file}", lineterm=""))
    if differing:
        place = found.differences / f"{file}.diff"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("\n".join(differing) + "\n")
        found.texts.append((file, sum(line[:1] in {"+", "-"} for line in differing[2:])))
    is_text = path.suffix not in {".json", ".csv"} and not any(fnmatch(rest, one) for one in TEXTS)
    missing = numbers_gone(before, now) if is_text else []
    if missing:
        found.add(file, [Gone("numbers in a text", f"{len(missing)}: {', '.join(missing[:12])}")])


Line = TypeVar("Line")


def _of_file(table: Mapping[str, tuple[Line, ...]], file: str) -> list[Line]:
    return [line for one, lines in table.items() if fnmatch(file, one) for line in lines]


def told(found: Comparison) -> str:
    """What came out, as text."""
    total = sum(map(len, found.gone.values()))
    lines = [
        f"{total} gone; {found.files} files, of which {found.alike} are the same byte for byte, with "
        f"{found.numbers:,} numbers in JSON and {found.rows:,} rows of tables"
    ]
    for place, ones in sorted(found.gone.items(), key=lambda item: -len(item[1])):
        (file, what), runs = ones[0], {file.partition("/")[0] for file, _ in ones}
        lines.append(f"  {len(ones)} in {len(runs)} runs: {place}\n      {file.partition('/')[0]}: {what}")
    if found.texts:
        differing = sum(number for _, number in found.texts)
        lines.append(f"{len(found.texts)} texts differ, {differing} lines; see {found.differences}")
        lines += [
            f"  {number} lines: {file}" for file, number in sorted(found.texts, key=lambda one: -one[1])
        ]
    return "\n".join(lines)


def places(folder: Path) -> str:
    """Each place of numbers in the reports' JSON of a folder: how many there are, in which runs."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted(folder.glob("*/report.json")):
        for fact in facts(read_json(path.read_text())):
            if NUMBER.fullmatch(fact.value):
                counts[spelt(_pattern(fact.path))][path.parent.name] += 1
    lines = []
    for place, own in counts.items():
        runs = ", ".join(own) if len(own) <= 4 else f"{len(own)} runs"
        lines.append(f"{own.total():7,}  {place}: {runs}")
    return "\n".join(lines)


def main() -> int:
    """The command line; the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    rendering = commands.add_parser("render")
    rendering.add_argument("runs", type=Path)
    rendering.add_argument("folder", type=Path)
    rendering.add_argument("--tree", type=Path, default=Path(__file__).resolve().parents[2])
    rendering.add_argument("--only", type=lambda text: text.split(","), default=())
    comparing = commands.add_parser("compare")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    comparing.add_argument("--differences", type=Path)
    commands.add_parser("places").add_argument("folder", type=Path)
    given = parser.parse_args()
    if given.command == "render":
        return render(given.runs, given.folder.resolve(), given.tree, given.only)
    if given.command == "places":
        say(places(given.folder))
        return 0
    differences = given.differences or given.new.with_name(f"{given.new.name}-differences")
    found = compare(given.old, given.new, differences)
    say(told(found))
    return 1 if found.gone else 0


if __name__ == "__main__":
    sys.exit(main())
