"""Where a fitted space has not been before: few pictures, one class, bursts, scans, other content.

What :class:`likewise_methods.spaces.FittedSpace` finds without a judgement, next to the product's
``deep``, all activations and their principal components, in collections that are difficult in one
way each; when it pays to fit again; what a fit costs.  Run by ``make bench-staying-territory``;
its tables are in docs/results/staying-territory.csv.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.deep.rows import space_rows, task_of
from benchmarks.siso.features import cifar_rows, why_not
from benchmarks.staying.pictures import KINDS, copy_of, page
from likewise.vision.deep.recipes import KEEP, DeepDense
from likewise_methods.neighbours.container import DamagedFile, open_arrays, save_arrays
from likewise_methods.spaces import fitted
from likewise_methods.spaces.fitted import FittedSpace, mutual_neighbours, prepare, unit

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Rows = NDArray[np.float32]
Row = dict[str, object]

TITLE = "The fitted space in difficult collections"
SETS = ("corel1k", "caltech101-full", "cifar10", "oxford1k", "planted")
SIZES = (30, 50, 100, 200, 300, 500, 1_000, 2_500, 5_000)
N_COPIES = 12
N_BURSTS = 60
PAGES_A_KIND = 30
_QUERIES = 200
_KIND = "bench.staying territory"


class Pictures(NamedTuple):
    """Activations (>= 0) and classes, -1 for pictures of none."""

    X: Rows
    labels: Ints

    def part(self, which: Ints) -> Pictures:
        return Pictures(self.X[which], self.labels[which])


def read(name: str) -> Pictures | None:
    """A set; None where it is not on this machine."""
    if name == "cifar10":
        if why_not("deep"):
            return None
        made = cifar_rows("deep", 5_000, 1_000)
        return Pictures(made.X, made.labels)
    found = space_rows(name, "deep-dense")
    if found is None:
        return None
    # Pictures that show a landmark badly are neither right nor wrong: they are left out.
    junk = set().union(*(query.junk for query in found.task.queries))
    kept = [
        i for i, (one, label) in enumerate(zip(found.names, found.labels, strict=True))
        if label >= 0 or one not in junk
    ]  # fmt: skip
    return Pictures(found.X, found.labels).part(np.array(kept))


# -- rows and how good they are -------------------------------------------------------------------


def deep(X: Rows) -> Floats:
    """The product's rows before: the strongest activations, rooted, of unit length."""
    kept = X.copy()
    weakest = np.argpartition(-X, KEEP, axis=1)[:, KEEP:]
    np.put_along_axis(kept, weakest, 0, axis=1)
    return prepare(kept, True)


def reduced(X: Rows, space: FittedSpace) -> Floats:
    """Formula (3): what the space stretches."""
    return unit((prepare(X, True) - space.mean_) @ space.directions_)


def unshrunk(X: Rows) -> Floats:
    """The space without (2), with ten neighbours at any size in (4), and m_0 = 0 in (5)."""
    R = prepare(X, True)
    R -= R.mean(axis=0)
    P = unit(R @ fitted._directions(R, min(128, len(R) - 1)))
    return unit(P @ fitted._stretch(P, mutual_neighbours(P, 10), 1.0, 0.0))


def precision(Z: Any, labels: Ints, asked: Ints | None = None) -> float:
    """mAP in % of pictures of a class as queries, leave one out; at most 200 of them, drawn."""
    asked = np.flatnonzero(labels >= 0) if asked is None else asked
    if len(asked) > _QUERIES:
        asked = np.random.default_rng(0).choice(asked, _QUERIES, replace=False)
    Z = np.asarray(Z, np.float32)
    scores = Z[asked] @ Z.T
    scores[np.arange(len(asked)), asked] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")[:, :-1]
    right = labels[order] == labels[asked][:, None]
    reached = np.cumsum(right, axis=1) / np.arange(1, right.shape[1] + 1)
    n_right = right.sum(axis=1)
    some = n_right > 0
    if not some.any():
        return float("nan")
    return float(100 * ((reached * right).sum(axis=1)[some] / n_right[some]).mean())


def compared(X: Rows) -> Iterator[tuple[str, Any]]:
    """The four rows of every table."""
    space = FittedSpace().fit(X)
    yield "deep", deep(X)
    yield "PCA", reduced(X, space)
    yield "unshrunk", unshrunk(X)
    yield "fitted", space.transform(X)


class Means:
    """Figures by name, averaged over draws."""

    def __init__(self) -> None:
        self._found: dict[str, list[float]] = {}

    def add(self, name: str, value: float) -> None:
        self._found.setdefault(name, []).append(value)

    def row(self) -> Row:
        return {name: float(np.nanmean(values)) for name, values in self._found.items()}


# -- the tables -----------------------------------------------------------------------------------


def sizes(sets: Mapping[str, Pictures]) -> list[Row]:
    made: list[Row] = []
    for name, whole in sets.items():
        for n in SIZES:
            if n > len(whole.X):
                continue
            draws = max(1, min(12, 1_200 // n)) if n < len(whole.X) else 1
            means = Means()
            for draw in range(draws):
                rng = np.random.default_rng([n, draw])
                some = whole.part(rng.permutation(len(whole.X))[:n])
                means.add("all activations", precision(prepare(some.X, False), some.labels))
                for kind, Z in compared(some.X):
                    means.add(kind, precision(Z, some.labels))
            made.append({"set": name, "pictures": n, "draws": draws, **means.row()})
    return made


def variants(sets: Mapping[str, Pictures]) -> list[Row]:
    """Other parameters, and neighbours looked for a second time in the fitted rows."""
    tried: dict[str, dict[str, Any]] = {
        "as it is": {}, "t = 0.8": {"t": 0.8}, "t = 1.2": {"t": 1.2},
        "5 neighbours": {"n_neighbors": 5}, "15 neighbours": {"n_neighbors": 15},
    }  # fmt: skip
    made: list[Row] = []
    for name, whole in sets.items():
        for n in (min(300, len(whole.X) - 1), len(whole.X)):
            means = Means()
            for draw in range(3 if n < len(whole.X) else 1):
                order = np.random.default_rng([n, draw]).permutation(len(whole.X))
                some = whole.part(order[:n])
                for kind, parameters in tried.items():
                    Z = FittedSpace(**parameters).fit_transform(some.X)
                    means.add(kind, precision(Z, some.labels))
                means.add("two rounds", precision(two_rounds(some.X), some.labels))
            made.append({"set": name, "pictures": n, **means.row()})
    return made


def two_rounds(X: Rows) -> Floats:
    """Neighbours in the fitted rows decide once more."""
    space = FittedSpace().fit(X)
    P, Z = reduced(X, space), space.transform(X).astype(np.float64)
    votes = fitted.voters(prepare(X, True))
    pairs = mutual_neighbours(Z[votes], min(10, -(-len(votes) // fitted.SHARE)))
    return unit(P @ fitted._stretch(P[votes], pairs, 1.0, P.shape[1] * 10 / 2))


def dominated(sets: Mapping[str, Pictures]) -> list[Row]:
    """One class is 80 or 90 % of the collection: its own queries, and those of the others."""
    made: list[Row] = []
    for name in ("corel1k", "cifar10"):
        if name not in sets:
            continue
        whole = sets[name]
        for share in (0.8, 0.9):
            means = Means()
            for draw in range(4):
                rng = np.random.default_rng(draw)
                own = rng.permutation(np.flatnonzero(whole.labels == draw))[:400]
                others = rng.permutation(np.flatnonzero(whole.labels != draw))
                others = others[: round(len(own) * (1 - share) / share)]
                some = whole.part(np.concatenate([own, others]))
                n = len(own)
                for kind, Z in compared(some.X):
                    means.add(f"{kind}: its own", precision(Z, some.labels, np.arange(n)))
                    rest = np.arange(n, len(some.X))
                    means.add(f"{kind}: others", precision(Z, some.labels, rest))
            made.append({"set": name, "share": share, "pictures": len(some.X), **means.row()})
    return made


def bursts(sets: Mapping[str, Pictures]) -> list[Row]:
    """Some pictures are there thirteen times: classes by the pictures once, copies by bursts."""
    made: list[Row] = []
    for name in ("corel1k", "caltech101-full"):
        task = task_of(name)
        if name not in sets or task is None:
            continue
        whole, paths = sets[name], list(task.paths.values())
        chosen = np.linspace(0, len(paths) - 1, N_BURSTS).astype(int)
        copies = _kept(
            f"copies-{name}-{N_BURSTS}-{N_COPIES}",
            (
                copy_of(paths[i], np.random.default_rng([i, c]))
                for i in chosen
                for c in range(N_COPIES)
            ),
        )
        for n_rows in (400, len(whole.X)):
            # With 400 pictures, copies are most of the collection.
            others = np.setdiff1d(np.arange(len(whole.X)), chosen)
            every = max(1, len(others) // (n_rows - N_BURSTS))
            once = whole.part(np.concatenate([chosen, others[::every]]))
            X = np.concatenate([once.X, copies])
            of_burst = np.full(len(X), -1, np.int64)
            of_burst[:N_BURSTS] = np.arange(N_BURSTS)
            of_burst[len(once.X) :] = np.repeat(np.arange(N_BURSTS), N_COPIES)
            row: Row = {"set": name, "pictures": len(once.X), "copies": len(copies)}
            row["votes"] = FittedSpace().fit(X).n_voters_
            row["fitted, no copies"] = precision(
                FittedSpace().fit(once.X).transform(once.X), once.labels
            )
            for kind, Z in compared(X):
                row[kind] = precision(Z[: len(once.X)], once.labels)
                row[f"{kind}: copies"] = precision(Z, of_burst)
            made.append(row)
    return made


def scans(sets: Mapping[str, Pictures]) -> list[Row]:
    """Ten kinds of rendered pages and drawings, alone and among photographs."""
    drawn = (
        page(kind, np.random.default_rng([c, i]))
        for c, kind in enumerate(KINDS)
        for i in range(PAGES_A_KIND)
    )
    sheets = Pictures(
        _kept(f"pages-{len(KINDS)}-{PAGES_A_KIND}", drawn),
        np.repeat(np.arange(len(KINDS)), PAGES_A_KIND),
    )
    made: list[Row] = []
    for among in ("", "corel1k", "caltech101-full"):
        if among and among not in sets:
            continue
        mixed = sheets if not among else _joined(sheets, sets[among])
        n = len(sheets.X)
        row: Row = {"among": among or "nothing else", "pictures": len(mixed.X)}
        row["votes"] = FittedSpace().fit(mixed.X).n_voters_
        for kind, Z in compared(mixed.X):
            row[f"{kind}: pages"] = precision(Z, mixed.labels, np.arange(n))
            if among:
                rest = np.arange(n, len(mixed.X))
                row[f"{kind}: photographs"] = precision(Z, mixed.labels, rest)
        made.append(row)
    return made


def other_content(sets: Mapping[str, Pictures]) -> list[Row]:
    """A collection grows, with its own kind or with another: the old fit against a new one."""
    made: list[Row] = []
    for first, second in (
        ("caltech101-full", "caltech101-full"), ("cifar10", "cifar10"),
        ("corel1k", "caltech101-full"), ("caltech101-full", "corel1k"),
        ("corel1k", "cifar10"), ("cifar10", "corel1k"),
    ):  # fmt: skip
        if first not in sets or second not in sets:
            continue
        for n in (300, 1_000) if first == second else (1_000,):
            rng = np.random.default_rng(0)
            order = rng.permutation(len(sets[first].X))
            old = sets[first].part(order[:n])
            left = sets[first].part(order[n:]) if first == second else sets[second]
            left = left.part(rng.permutation(len(left.X)))
            before = FittedSpace().fit(old.X)
            for growth in (1.1, 1.5, 2.0):
                added = left.part(np.arange(min(round((growth - 1) * n), len(left.X))))
                both = old._replace(
                    X=np.concatenate([old.X, added.X]),
                    labels=np.concatenate([old.labels, added.labels]),
                ) if first == second else _joined(old, added)  # fmt: skip
                # At 1.5 growth alone decides; below it is told by what came.
                row: Row = {
                    "set": first, "added": second, "pictures": n, "growth": growth,
                    "lost, times": before.lost(added.X) / before.lost_,
                    "outgrown": str(before.has_outgrown(len(both.X), added.X)),
                }  # fmt: skip
                kept, renewed = before.transform(both.X), FittedSpace().fit_transform(both.X)
                for kind, Z in (("deep", deep(both.X)), ("kept", kept), ("renewed", renewed)):
                    row[f"{kind}: first"] = precision(Z, both.labels, np.arange(n))
                    row[f"{kind}: added"] = precision(Z, both.labels, np.arange(n, len(both.X)))
                row["neighbours kept"] = _overlap(kept[:n], renewed[:n])
                made.append(row)
    return made


def costs(sets: Mapping[str, Pictures]) -> list[Row]:
    """CPU of a fit, and what is lost when it looks at a part: over all sets in one collection."""
    whole = Pictures(np.empty((0, 1_280), np.float32), np.empty(0, np.int64))
    for one in sets.values():
        whole = _joined(whole, one)
    order = np.random.default_rng(0).permutation(len(whole.X))
    whole = whole.part(order)
    made: list[Row] = []
    for most in (1_000, 2_500, 5_000, len(whole.X)):
        start = time.process_time()
        space = FittedSpace(max_rows=most).fit(whole.X)
        fit_s = time.process_time() - start
        start = time.process_time()
        Z = space.transform(whole.X)
        place_s = time.process_time() - start
        made.append({
            "rows looked at": most, "of": len(whole.X), "fit, CPU s": fit_s,
            "placing 1,000 rows, CPU s": place_s * 1_000 / len(whole.X),
            "mAP": precision(Z, whole.labels),
        })  # fmt: skip
    start = time.process_time()
    space = FittedSpace(max_rows=20_000).fit(_more(whole.X, 20_000))
    made.append({"rows looked at": 20_000, "of": 20_000, "fit, CPU s": time.process_time() - start})
    return made


def _more(X: Rows, n: int) -> Rows:
    """Rows like these, for a clock: each a mix of two."""
    rng = np.random.default_rng(0)
    one, other = rng.integers(len(X), size=(2, n))
    share = rng.random((n, 1), np.float32)
    return np.asarray(share * X[one] + (1 - share) * X[other], np.float32)


def _joined(one: Pictures, other: Pictures) -> Pictures:
    """Both, the classes of the second numbered after those of the first."""
    after = int(one.labels.max(initial=-1)) + 1
    labels = np.where(other.labels < 0, -1, other.labels + after)
    return Pictures(np.concatenate([one.X, other.X]), np.concatenate([one.labels, labels]))


def _overlap(Z: Rows, W: Rows, k: int = 10) -> float:
    """The share of each row's ten nearest that are the same in both."""
    found = []
    for rows in (Z, W):
        scores = rows @ rows.T
        np.fill_diagonal(scores, -np.inf)
        near = np.zeros(scores.shape, bool)
        np.put_along_axis(near, np.argpartition(-scores, k, axis=1)[:, :k], True, axis=1)
        found.append(near)
    return float((found[0] & found[1]).sum() / (k * len(Z)))


def _kept(stem: str, made: Iterator[Any]) -> Rows:
    """Activations of pictures that are made here, kept in the cache."""
    path = harness.cache_dir() / f"staying-{stem}.arrays"
    try:
        return np.array(open_arrays(path, _KIND)[1]["rows"])
    except (OSError, DamagedFile):
        recipe = DeepDense()
        rows = np.stack([recipe.extract(pixels) for pixels in made])
        save_arrays(path, _KIND, {}, {"rows": rows})
        return rows


# -- the page -------------------------------------------------------------------------------------


def write(tables: Mapping[str, list[Row]], missing: Sequence[str] = ()) -> Path:
    """Write the tables to their CSV file and update the page."""
    report = harness.Report("staying-territory", TITLE, "default size", page="staying")
    report.left_out += [f"{name}, not on this machine" for name in missing]
    for name, rows in tables.items():
        report.add(name, rows)
    return report.write()


def main() -> None:
    harness.arguments(__doc__ or "")
    cv2.setNumThreads(1)
    found = {name: read(name) for name in SETS}
    sets = {name: one for name, one in found.items() if one is not None}
    missing = [name for name, one in found.items() if one is None]
    tables: dict[str, list[Row]] = {}
    for name, measure in (
        ("sizes", sizes), ("variants", variants), ("dominated", dominated), ("bursts", bursts),
        ("scans", scans), ("growth", other_content), ("costs", costs),
    ):  # fmt: skip
        start = time.perf_counter()
        tables[name] = measure(sets)
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    write(tables, missing)


if __name__ == "__main__":
    main()
