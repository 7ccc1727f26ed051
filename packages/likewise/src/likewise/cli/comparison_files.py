"""CSV files of triplets and comparisons: an anchor, the nearer picture, the farther one.

Three columns without a heading are just that.  In files of comparisons a heading names the
columns: a, b, c or anchor, nearer, farther; or head, winner, loser as the Salmon tool writes them
(its columns with file names are preferred to those with its own numbers).  Pictures are paths,
ids, or file names that only one picture has.  Semicolons or tabs may separate the columns, as
spreadsheets of many countries write them.
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
from likewise.errors import InvalidInput, LikewiseError

Triplet = tuple[int, int, int]

_COLUMNS = "anchor, nearer, farther"
_THREE = 3
_LISTED = 5
_HEADING = re.compile(r"[^\W\d][\w -]*")
"""What a heading looks like: a word or two, no path and no number."""


def read_triplets(path: Path, id_of: Callable[[int | str], int]) -> list[Triplet]:
    """Read the triplets of a CSV file as ids; raise one error that names every bad line.

    ``id_of`` returns the id of a picture and raises a :class:`LikewiseError` if it is unknown.
    """
    found: list[Triplet] = []
    wrong: list[str] = []
    for number, cells in read_lines(path):
        if not found and not wrong and _is_heading(cells, id_of):
            continue
        try:
            found.append(_triplet(cells, id_of))
        except LikewiseError as error:
            wrong.append(f"line {number}: {error}")
    if wrong:
        more = f"; and {len(wrong) - _LISTED:,} more" if len(wrong) > _LISTED else ""
        raise InvalidInput(f"{path}: {'; '.join(wrong[:_LISTED])}{more}; nothing was learned")
    if not found:
        raise InvalidInput(f"{path} has no triplets; lines of three expected: {_COLUMNS}")
    return found


def read_lines(path: Path) -> list[tuple[int, list[str]]]:
    """Yield each line that is not empty as its number and its columns.

    A path may have a comma in it: semicolons and tabs, as spreadsheets of many countries write
    them, are tried only where commas make too few columns of the first line.
    """
    try:
        # Spreadsheets may write a byte-order mark.
        with path.expanduser().open(encoding="utf-8-sig", newline="") as file:
            text = file.read()
        # A line "sep=;" that some spreadsheets write.
        text = re.sub(r"\Asep=[^\r\n]*", "", text)
        commas = _split_rows(text, ",")
        if commas and len(commas[0][1]) >= _THREE:
            return commas
        others = [_split_rows(text, separator) for separator in ";\t"]
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8 text") from error
    except csv.Error as error:
        raise InvalidInput(f"{path} is not a CSV file: {error}") from error
    enough = [lines for lines in others if lines and len(lines[0][1]) >= _THREE]
    return enough[0] if enough else commas


def _split_rows(text: str, separator: str) -> list[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
    rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    return [(number, cells) for number, cells in rows if any(cells)]


def _is_heading(cells: list[str], id_of: Callable[[int | str], int]) -> bool:
    if len(cells) != _THREE or not all(_HEADING.fullmatch(cell) for cell in cells):
        return False
    for cell in cells:
        try:
            id_of(picture(cell))
        except LikewiseError:
            continue
        return False
    return True


def _triplet(cells: list[str], id_of: Callable[[int | str], int]) -> Triplet:
    if len(cells) != _THREE:
        columns = "1 column" if len(cells) == 1 else f"{len(cells)} columns"
        raise InvalidInput(f"{columns}; 3 expected ({_COLUMNS})")
    anchor, nearer, farther = (id_of(picture(cell)) for cell in cells)
    if len({anchor, nearer, farther}) < 3:
        raise InvalidInput("the same picture twice; three different ones expected")
    return anchor, nearer, farther


class Row(NamedTuple):
    """One comparison of a file by ids, with its author and source if the file has them."""

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
_SOURCES = ("compare", "file", "folders", "tags")
"""What an export says about where a comparison came from; kept when it comes back."""


def read_comparisons(
    path: Path, id_of: Callable[[int | str], int], names: Callable[[], Mapping[str, list[int]]]
) -> list[Row]:
    """Read the comparisons of a file; raise one error that names every bad line.

    ``id_of`` finds a picture by id or path, ``names`` the ids that have a file name.
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
        body, width = lines, _THREE
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
    """Return the column of each field; None if the first line is not a heading."""
    names = {cell.lower(): at for at, cell in reversed(list(enumerate(cells)))}
    found = {}
    for role, known in _ROLES.items():
        for name in known:
            ends = ("", *_BETTER)
            if any(f"{name}{end}" in names for end in ends):
                # Prefer a column of paths or names to one of ids.
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
    """Return the rows that are not in ``known`` as (anchor, nearer, farther, by).

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
    """Finds pictures by the names that a file uses."""

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
    """Return (anchor, nearer, farther, by, source) rows as the text of a CSV file."""
    heads = ("head", "winner", "loser", "puid", "source")
    buffer = io.StringIO(newline="")
    table = csv.writer(buffer)
    table.writerow(heads if salmon else ("anchor", "nearer", "farther", "by", "source"))
    table.writerows(rows)
    return buffer.getvalue()
