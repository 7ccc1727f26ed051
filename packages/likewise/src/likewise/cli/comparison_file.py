"""Comparisons as people and crowd tools keep them: CSV with an anchor, the nearer, the farther.

Three columns without a heading are just that.  With one, columns are found by their names: a, b, c
or anchor, nearer, farther; or head, winner, loser as the Salmon tool writes them (its columns with
file names are preferred to those with its own numbers).  Pictures are paths, ids, or names of
files where only one picture has the name.  Where lines have semicolons or tabs in place of commas,
as spreadsheets of many countries write them, these separate the columns.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from likewise.cli.options import picture
from likewise.cli.triplet_file import read_lines
from likewise.errors import InvalidInput, LikewiseError


class Row(NamedTuple):
    """One comparison of a file, by id, with who made it and how, where the file says so."""

    anchor: int
    nearer: int
    farther: int
    by: str | None = None
    source: str = "file"


_ROLES = {
    "anchor": ("anchor", "a", "head"),
    "nearer": ("nearer", "b", "winner"),
    "farther": ("farther", "c", "loser"),
}
_MADE_BY = ("by", "annotator", "puid", "participant")
_BETTER = ("_filename", "_object", "_html")
"""Endings of the columns in which Salmon says what its numbers stand for."""
_SHOWN = re.compile(r"""<[^>]*\bsrc\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)
_LISTED = 5
_COLUMNS = 3
_SOURCES = ("compare", "file", "folders", "tags")
"""What an export says about where a comparison came from; kept when it comes back."""


def read_comparisons(
    path: Path, id_of: Callable[[int | str], int], names: Callable[[], Mapping[str, list[int]]]
) -> list[Row]:
    """The comparisons of a file; every bad line is named, and then none is taken.

    ``id_of`` knows pictures by id and path, ``names`` gives the ids that have a file name.
    """
    lines = read_lines(path)
    if not lines:
        raise InvalidInput(f"{path} is empty; lines of anchor, nearer, farther expected")
    columns = _heading(lines[0][1], path)
    find = _Finder(id_of, names)
    found: list[Row] = []
    wrong: list[str] = []
    if columns is None:
        columns = {"anchor": 0, "nearer": 1, "farther": 2}
        body, width = lines, _COLUMNS
    else:
        body, width = lines[1:], len(lines[0][1])
    for number, cells in body:
        try:
            if len(cells) != width:
                seen = "1 column" if len(cells) == 1 else f"{len(cells)} columns"
                raise InvalidInput(f"{seen}; {width} expected")
            found.append(_row(cells, columns, find))
        except LikewiseError as error:
            wrong.append(f"line {number}: {error}")
    if wrong:
        more = f"; and {len(wrong) - _LISTED:,} more" if len(wrong) > _LISTED else ""
        raise InvalidInput(f"{path}: {'; '.join(wrong[:_LISTED])}{more}; nothing was imported")
    if not found:
        raise InvalidInput(f"{path} has a heading and no comparisons")
    return found


def _heading(cells: list[str], path: Path) -> dict[str, int] | None:
    """Which column holds what; None where the first line is a comparison already."""
    names = {cell.lower(): at for at, cell in reversed(list(enumerate(cells)))}
    found = {}
    for role, known in _ROLES.items():
        for name in known:
            ends = ("", *_BETTER)
            if any(f"{name}{end}" in names for end in ends):
                # What a number stands for is better than the number.
                better = next((e for e in _BETTER if f"{name}{e}" in names), "")
                found[role] = names[f"{name}{better}"]
                break
    if not found:
        return None
    missing = [f"{role} ({' or '.join(_ROLES[role])})" for role in _ROLES if role not in found]
    if missing:
        raise InvalidInput(f"{path}, line 1: the heading has no column for {', '.join(missing)}")
    by = next((names[name] for name in _MADE_BY if name in names), None)
    if by is not None:
        found["by"] = by
    if "source" in names:
        found["source"] = names["source"]
    return found


def _row(cells: list[str], columns: Mapping[str, int], find: _Finder) -> Row:
    anchor, nearer, farther = (find(cells[columns[role]], role) for role in _ROLES)
    if len({anchor, nearer, farther}) < 3:
        raise InvalidInput("the same picture twice; three different ones expected")
    by = cells[columns["by"]].strip() if "by" in columns else ""
    source = cells[columns["source"]] if "source" in columns else ""
    return Row(anchor, nearer, farther, by or None, source if source in _SOURCES else "file")


def without_known(rows: Iterable[Row], known: Iterable[tuple[object, ...]]) -> list[Row]:
    """Rows less those that are there: (anchor, nearer, farther, by) as often as ``known`` has it.

    Counted, since people may answer one question twice: a line that a file has twice and the log
    once comes in once.

    >>> twice = [Row(1, 2, 3, "ann"), Row(1, 2, 3, "ann"), Row(1, 2, 3, "bob")]
    >>> len(without_known(twice, [(1, 2, 3, "ann"), (1, 3, 2, "bob")]))
    2
    """
    there = Counter(known)
    fresh = []
    for row in rows:
        if there[row[:4]] > 0:
            there[row[:4]] -= 1
        else:
            fresh.append(row)
    return fresh


class _Finder:
    """Pictures as a file names them."""

    def __init__(
        self, id_of: Callable[[int | str], int], names: Callable[[], Mapping[str, list[int]]]
    ) -> None:
        self._id_of, self._names = id_of, names
        self._by_name: Mapping[str, list[int]] | None = None
        self._seen: dict[str, int] = {}

    def __call__(self, text: str, role: str) -> int:
        if not text:
            raise InvalidInput(f"no picture in the column of the {role}")
        if text not in self._seen:
            self._seen[text] = self._find(text)
        return self._seen[text]

    def _find(self, text: str) -> int:
        shown = _SHOWN.search(text)
        text = shown.group(1) if shown else text
        try:
            return self._id_of(picture(text))
        except LikewiseError as error:
            if isinstance(picture(text), int):
                raise
            if self._by_name is None:
                self._by_name = self._names()
            same = self._by_name.get(os.path.basename(text), [])
            if len(same) > 1:
                raise InvalidInput(
                    f"{text!r} is the name of {len(same)} pictures; say which by its path or id"
                ) from error
            if not same:
                raise InvalidInput(f"{text!r} is not a picture of the collection") from error
            return same[0]


def format_comparisons(rows: Iterable[tuple[str, str, str, str, str]], *, salmon: bool) -> str:
    """The text of a file of comparisons: (anchor, nearer, farther, by, source) each."""
    heads = ("head", "winner", "loser", "puid", "source")
    buffer = io.StringIO(newline="")
    table = csv.writer(buffer)
    table.writerow(heads if salmon else ("anchor", "nearer", "farther", "by", "source"))
    table.writerows(rows)
    return buffer.getvalue()
