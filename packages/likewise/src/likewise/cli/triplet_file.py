"""Triplets as people keep them: three columns a line, anchor, nearer, farther; ids or paths."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

from likewise.cli.options import picture
from likewise.errors import InvalidInput, LikewiseError

Triplet = tuple[int, int, int]

_COLUMNS = "anchor, nearer, farther"
_THREE = 3
_LISTED = 5
_HEADING = re.compile(r"[^\W\d][\w -]*")
"""What a heading looks like: a word or two, no path and no number."""


def read_triplets(path: Path, id_of: Callable[[int | str], int]) -> list[Triplet]:
    """The triplets of a CSV file as ids; every bad line is named, and then none is taken.

    ``id_of`` knows the pictures and raises a :class:`LikewiseError` for a stranger.
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
    """Every line that is not empty, with its number, cut where the file separates its columns.

    A path may have a comma in it: semicolons and tabs, as spreadsheets of many countries write
    them, are tried only where commas make too few columns of the first line.
    """
    try:
        # Spreadsheets like to begin a file with a byte-order mark.
        with path.expanduser().open(encoding="utf-8-sig", newline="") as file:
            text = file.read()
        # A spreadsheet's note to itself about the separator.
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
