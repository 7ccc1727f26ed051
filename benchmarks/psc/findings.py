"""What the tables of ``bench-psc`` say, in sentences made from their numbers.

Each expectation comes from the paper (PSC spec, section 7); a sentence says whether it was met
here, did not reproduce, or is undecided: the difference is smaller than the spread of the draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, object]
Tables = Mapping[str, Sequence[Row]]

MAP_TIE = 0.02


def notes(tables: Tables) -> list[str]:
    """All findings that the tables there are allow."""
    found: list[str] = []
    if tables.get("all"):
        found += _recognition(tables["all"])
    if tables.get("few"):
        found += _beside_sparse(tables["few"])
    if tables.get("splits"):
        found.append(_splits(tables["splits"]))
    if tables.get("retrieval"):
        found += _retrieval(tables["retrieval"])
    if tables.get("both"):
        found.append(_both(tables["both"]))
    return found


def said(holds: bool | None, expectation: str, numbers: str) -> str:
    """One finding: what the paper says, what is seen here; None: the numbers do not tell."""
    mark = {True: "Reproduced", False: "Did not reproduce", None: "Undecided"}[holds]
    return f"**{mark}**: {expectation}. Here: {numbers}."


def _recognition(rows: Sequence[Row]) -> list[str]:
    small, large = _one(rows, "PSC", 4096), _one(rows, "PSC", 16384)
    a, b = _accuracy(small), _accuracy(large)
    found = [
        said(
            _above(large, small),
            "more words help PSC (paper: 76.7 at 4,096, 78.0 at 16,384, all classes)",
            f"{a:.1f} and {b:.1f} %, spread {_spread(small):.1f} and {_spread(large):.1f}",
        )
    ]  # fmt: skip
    expected = {
        "VQ, chi-squared": (
            _above(large, _top(rows, "VQ, chi-squared")),
            "PSC beats VQ (78.0, 74.4)",
        ),
        "LLC": (_above(large, _top(rows, "LLC")), "PSC is better than LLC (78.0, 76 to 77)"),
        "FV": (_above(large, _top(rows, "FV")) is None, "PSC and FV are about equal (78.0, 77.8)"),
    }
    for name, (holds, text) in expected.items():
        other = _top(rows, name)
        numbers = f"PSC {b:.1f} %, {name} {_accuracy(other):.1f} %"
        spreads = f"{_spread(large):.1f} and {_spread(other):.1f}"
        found.append(said(holds, text, f"{numbers}, spread {spreads}"))
    return found


def _beside_sparse(rows: Sequence[Row]) -> list[str]:
    full, small = _one(rows, "SC", 4096), _one(rows, "PSC", 4096)
    a, b = _accuracy(full), _accuracy(small)
    times = [float(str(row["encoding, CPU ms a picture"])) for row in (full, small)]
    ratio = times[0] / times[1]
    return [
        said(
            _above(full, small), "SC is a little better than PSC at the same words (77.9, 76.7)",
            f"{a:.1f} and {b:.1f} %, spread {_spread(full):.1f} and {_spread(small):.1f}",
        ),
        said(
            ratio > 10, "PSC encodes a picture over ten times faster than SC (0.45 s, 10.5 s)",
            f"{times[1]:.0f} and {times[0]:.0f} CPU ms, {ratio:.1f} times",
        ),
    ]  # fmt: skip


def _splits(rows: Sequence[Row]) -> str:
    by = {str(row["split"]): _accuracy(row) for row in rows}
    rows_of = {str(row["split"]): row for row in rows}
    above = [_above(rows_of[cut], rows_of["structural"]) for cut in ("horizontal", "vertical")]
    alike = _above(rows_of["horizontal"], rows_of["vertical"]) is None
    holds = None if None in above and False not in above else alike and all(above)
    return said(
        holds,
        "cutting the patch horizontally or vertically is alike, and better than by orientation",
        ", ".join(f"{name} {value:.1f} %" for name, value in by.items()),
    )


def _retrieval(rows: Sequence[Row]) -> list[str]:
    found = []
    for data in dict.fromkeys(str(row["data"]) for row in rows):
        here = [row for row in rows if row["data"] == data]
        vlad = max((row for row in here if row["coder"] == "VLAD"), key=_best)
        small, large = _one(here, "PSC", 4096), _one(here, "PSC", 16384)
        coded = [row for row in here if row["coder"] == "PSC"]
        few = min(coded, key=lambda row: float(str(row["descriptors coded"])))
        sparse = _one(here, "SC", None)
        found += [
            said(
                _best(large) > _best(vlad) - MAP_TIE,
                f"{data}: PSC is no worse than VLAD",
                f"PSC {_best(large):.3f}, VLAD {_best(vlad):.3f} (each at its best whitening)",
            ),
            said(
                _best(large) > _best(small),
                f"{data}: mAP of PSC grows with the words",
                f"{_best(small):.3f} at 4,096, {_best(large):.3f} at 16,384",
            ),
            said(
                _best(sparse) > _best(few) - MAP_TIE,
                f"{data}: SC is no worse than PSC on the same descriptors and words",
                f"SC {_best(sparse):.3f}, PSC {_best(few):.3f}",
            ),
            said(
                all(_number(row, "whitened") > _number(row, "raw") for row in here),
                f"{data}: whitening to 128 columns helps",
                "; ".join(
                    f"{row['coder']} {row['words']}: raw {_number(row, 'raw'):.3f}, whitened "
                    f"{_number(row, 'whitened'):.3f}, with a ridge of 1 "
                    f"{_number(row, 'whitened, ridge 1'):.3f}"
                    for row in here
                ),
            ),
        ]
    return found


def _both(rows: Sequence[Row]) -> str:
    spaces = [key.removeprefix("words + ") for key in rows[0] if key.startswith("words + ")]
    means = {
        space: sum(_number(row, f"words + {space}") for row in rows) / len(rows) for space in spaces
    }
    order = sorted(spaces, key=lambda space: -means[space])
    numbers = ", ".join(f"{space} {means[space]:.3f}" for space in order)
    agrees = "the order measured" if order == spaces else "not quite the order measured"
    return (
        f"`both` takes words and the first of {', '.join(spaces)} that a collection has, which is "
        f"{agrees} (mean mAP of the fusion over the sets): {numbers}."
    )


def _above(row: Row, other: Row) -> bool | None:
    """Whether one accuracy is higher than another; None within the spread of either."""
    gap = _accuracy(row) - _accuracy(other)
    return None if abs(gap) <= max(_spread(row), _spread(other)) else gap > 0


def _spread(row: Row) -> float:
    return _number(row, "spread")


def _one(rows: Sequence[Row], name: str, words: int | None) -> Row:
    return next(
        row for row in rows if row["coder"] == name and (words is None or row["words"] == words)
    )


def _accuracy(row: Row) -> float:
    return _number(row, "accuracy %")


def _top(rows: Sequence[Row], name: str) -> Row:
    """A coder at its best size."""
    return max((row for row in rows if row["coder"] == name), key=_accuracy)


def _best(row: Row) -> float:
    return max(_number(row, key) for key in row if key.startswith("whitened"))


def _number(row: Row, key: str) -> float:
    value: Any = row[key]
    return float(value)
