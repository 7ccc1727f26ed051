"""ARFF, as far as multi-label data sets use it: numbers and 0/1 choices, dense or sparse rows.

SciPy's reader knows no sparse rows.  In a sparse row an absent value is 0; Weka reads an absent
choice as the *first* one declared, so a sparse file whose choices do not start with 0 is refused
rather than misread.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.readers.files import read_text
from benchmarks.readers.numbers import read_table
from likewise.errors import DatasetError

_ATTRIBUTE = re.compile(
    r"""@attribute \s+
        (?: '((?:[^'\\]|\\.)*)' | "((?:[^"\\]|\\.)*)" | (\S+) ) \s*
        (\{.*\}|\w+) \s*$""",
    re.IGNORECASE | re.VERBOSE,
)
_NUMERIC = frozenset(("numeric", "real", "integer"))


@dataclass(frozen=True, eq=False)
class Arff:
    """Attribute names and one row of numbers a sample: float32, dense array or CSR matrix."""

    names: list[str]
    values: Any


def read_arff(path: Path) -> Arff:
    """Read one ARFF file of numeric and numeric-choice attributes."""
    text = read_text(path)
    lines = text.split("\n")
    names: list[str] = []
    choices: dict[int, frozenset[float]] = {}
    firsts: dict[int, float] = {}
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        word = line.split(None, 1)[0].lower() if line else ""
        if not line or line.startswith("%") or word == "@relation":
            continue
        if word == "@data":
            break
        if word != "@attribute":
            raise DatasetError(
                f"{path}, line {number}: {line[:60]!r} where @attribute was expected"
            )
        name, options = _attribute(line, f"{path}, line {number}")
        if options:
            choices[len(names)] = frozenset(options)
            firsts[len(names)] = options[0]
        names.append(name)
    else:
        raise DatasetError(f"{path}: no @data line; not an ARFF file, or cut short")
    if not names:
        raise DatasetError(f"{path}: no @attribute before @data")
    if len(set(names)) != len(names):
        twice = next(n for i, n in enumerate(names) if n in names[:i])
        raise DatasetError(f"{path}: attribute {twice!r} is declared twice")

    first_row = next((s for s in map(str.strip, lines[number:]) if s and s[0] != "%"), "")
    if not first_row:
        raise DatasetError(f"{path}: no rows after @data")
    if first_row.startswith("{"):
        odd = next((i for i, first in firsts.items() if first != 0), None)
        if odd is not None:
            raise DatasetError(
                f"{path}: attribute {names[odd]!r} does not list 0 first, so its absence in a "
                "sparse row would not mean 0; write {0,1}"
            )
        values = _sparse_rows(path, lines, number, len(names))
    else:
        values = read_table(path, delimiter=",", skip_lines=number, comment="%", columns=len(names))
    _check_choices(path, names, choices, values)
    return Arff(names, values)


def _attribute(line: str, where: str) -> tuple[str, list[float]]:
    """The name and, for a choice between numbers, the numbers."""
    match = _ATTRIBUTE.match(line)
    if match is None:
        raise DatasetError(f"{where}: {line[:60]!r} is not '@attribute NAME TYPE'")
    single, double, bare, kind = match.groups()
    quoted = single if single is not None else double
    name = bare if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
    if kind.lower() in _NUMERIC:
        return name, []
    try:
        return name, [float(v.strip().strip("'\"")) for v in kind.strip("{}").split(",")]
    except ValueError:
        raise DatasetError(
            f"{where}: attribute {name!r} is {kind[:40]}; only numeric and choices of numbers "
            "such as {0,1} are read"
        ) from None


def _sparse_rows(path: Path, lines: list[str], start: int, width: int) -> Any:
    columns: list[str] = []
    numbers: list[str] = []
    ends = [0]
    where: list[int] = []
    for number, raw in enumerate(lines[start:], start + 1):
        line = raw.strip()
        if not line or line[0] == "%":
            continue
        fields = line[1:-1].replace(",", " ").split()
        if line[0] != "{" or line[-1] != "}" or len(fields) % 2:
            raise DatasetError(
                f"{path}, line {number}: {line[:60]!r} where '{{index value, …}}' was expected"
            )
        columns += fields[::2]
        numbers += fields[1::2]
        ends.append(len(columns))
        where.append(number)
    try:
        index = np.array(columns, dtype=np.str_).astype(np.int64)
        value = np.array(numbers, dtype=np.str_).astype(np.float32)
    except (ValueError, OverflowError):
        raise _bad_entry(path, columns, numbers, ends, where) from None
    bad = (index < 0) | (index >= width) | ~np.isfinite(value)
    # Within a row the indices must grow; a step down is fine only where a new row begins.
    repeated = np.zeros(len(index), dtype=bool)
    repeated[1:] = np.diff(index) <= 0
    repeated[[e for e in ends if e < len(index)]] = False
    wrong = np.flatnonzero(bad | repeated)
    if len(wrong):
        at = int(wrong[0])
        row = int(np.searchsorted(ends, at, side="right")) - 1
        raise DatasetError(
            f"{path}, line {where[row]}: entry '{columns[at]} {numbers[at]}'; indices must grow "
            f"and lie in 0 to {width - 1}, values must be finite"
        )
    matrix = sparse.csr_matrix((value, index, ends), shape=(len(where), width), dtype=np.float32)
    matrix.eliminate_zeros()
    return matrix


def _bad_entry(
    path: Path, columns: list[str], numbers: list[str], ends: list[int], where: list[int]
) -> DatasetError:
    for row, number in enumerate(where):
        for at in range(ends[row], ends[row + 1]):
            try:
                int(columns[at])
                float(numbers[at])
            except ValueError:
                return DatasetError(
                    f"{path}, line {number}: entry '{columns[at][:30]} {numbers[at][:30]}' is not "
                    "an index and a number"
                )
    return DatasetError(f"{path}: an index or a value is too large")


def _check_choices(
    path: Path, names: list[str], choices: dict[int, frozenset[float]], values: Any
) -> None:
    is_sparse = sparse.issparse(values)
    by_column = sparse.csc_matrix(values) if is_sparse else values
    for column, allowed in choices.items():
        here: Any = by_column[:, [column]]
        seen = np.unique(here.data if is_sparse else here)
        # The table is float32, so a choice such as 0.1 has to be rounded the same way.
        strange = [v for v in seen.tolist() if v not in {float(np.float32(a)) for a in allowed}]
        if strange:
            raise DatasetError(
                f"{path}: attribute {names[column]!r} holds {strange[0]:g}, "
                f"which is not among its choices {sorted(allowed)}"
            )
