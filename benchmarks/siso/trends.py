"""Which trends of the SISO paper hold here, stated from the figures of this run.

The trends are those the specification lists (``siso``, section 7): directions, not numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks.siso.results import SCORINGS, Results

Row = dict[str, Any]
# Gaps of MAP (or flat cost) below this are called ties: less than test sets of this size tell.
TIE = 0.005
RIVALS = ("KNN", "LNP", "EGSSC", "ridge (RRML)", "LSMP-like")


def line(trend: str, verdict: str, evidence: str) -> Row:
    return {"trend": trend, "here": verdict, "figures": evidence}


def verdict(better: int, ties: int, n: int) -> str:
    """What a count of comparisons amounts to."""
    if n == 0:
        return "not measured"
    if better == n:
        return "holds"
    tied = f", a tie on {ties}" if ties else ""
    return (f"holds on {better} of {n}" if better else f"does not hold on any of {n}") + tied


def counted(gaps: Iterable[float]) -> tuple[str, Any]:
    """The verdict over gaps that should be positive, and the gaps."""
    found = np.array(list(gaps))
    return verdict(int((found > TIE).sum()), int((np.abs(found) <= TIE).sum()), len(found)), found


def trends(results: Results) -> list[Row]:
    """One row a trend."""
    return [
        rising(results),
        exact(results),
        hash_loss(results),
        *(ahead(results, rival) for rival in RIVALS),
        early_lead(results),
        *machines(results),
        faster(results),
        *(growing(results, method) for method in ("SISO", "hash-SISO")),
        costs(results),
        *(signs(results, other) for other in list(SCORINGS)[1:]),
    ]


def rising(results: Results) -> Row:
    good, falls, n = 0, [], 0
    for task in results.tasks:
        for method in results.methods(task):
            maps = [results.mean(task, method, share) for share in results.shares]
            n += 1
            if maps[-1] - maps[0] > TIE and np.diff(maps).min() >= -TIE:
                good += 1
            else:
                falls.append(f"{method} on {task} {100 * maps[0]:.1f} to {100 * maps[-1]:.1f}")
    return line(
        "MAP rises with the number of training pictures, for all methods",
        verdict(good, 0, n),
        "all pairs of method and data" if not falls else "not: " + "; ".join(falls),
    )


def exact(results: Results) -> Row:
    gap = max(row["gap"] for row in results.rows if row["method"] == "SISO")
    return line(
        "LASSO = SISO",
        "holds" if gap <= 1e-4 else "does not hold",
        f"largest relative duality gap of all SISO codes {gap:.1e}",
    )


def hash_loss(results: Results) -> Row:
    gaps = _gaps(results, "SISO", "hash-SISO")
    small = int(sum(gap < 0.01 for _, gap in gaps))
    ahead = int(sum(gap > TIE for _, gap in gaps))
    return line(
        "SISO is ahead of hash-SISO, by less than a point",
        f"less than a point on {small} of {len(gaps)}, ahead by more than a tie on {ahead}",
        _by_task(results, "SISO", "hash-SISO"),
    )


def ahead(results: Results, rival: str) -> Row:
    said, _ = counted(gap for _, gap in _gaps(results, "hash-SISO", rival))
    return line(f"hash-SISO beats {rival}", said, _by_task(results, "hash-SISO", rival))


def early_lead(results: Results) -> Row:
    """The lead over the five, below and above 60 % of the training pictures."""
    parts, good, n = [], 0, 0
    for task in results.tasks:
        leads: dict[bool, list[float]] = {True: [], False: []}
        for rival in RIVALS:
            for share in results.shares if results.has(task, rival, "hash-SISO") else ():
                gap = results.mean(task, "hash-SISO", share) - results.mean(task, rival, share)
                leads[share < 0.6].append(gap)
        if leads[True] and leads[False]:
            early, late = float(np.mean(leads[True])), float(np.mean(leads[False]))
            n += 1
            good += early > late
            parts.append(f"{task} {100 * early:+.1f} and {100 * late:+.1f}")
    return line(
        "That lead is largest below 60 % of the training pictures",
        verdict(good, 0, n),
        "mean lead below and above, points: " + "; ".join(parts),
    )


def machines(results: Results) -> list[Row]:
    """SVM against hash-SISO (it overtakes late) and SISO (it does not)."""
    last = results.shares[-1]
    tasks = [task for task in results.tasks if results.has(task, "SVM", "SISO", "hash-SISO")]

    def gap(task: str, method: str, share: float) -> float:
        return results.mean(task, method, share) - results.mean(task, "SVM", share)

    early = [s for s in results.shares if s <= 0.7]
    crossing = [
        max(-gap(t, "hash-SISO", s) for s in early) <= TIE and gap(t, "hash-SISO", last) < -TIE
        for t in tasks
    ]
    kept = sum(gap(t, "SISO", last) >= -TIE for t in tasks)
    return [
        line(
            "SVM overtakes hash-SISO only above 70 % of the training pictures",
            verdict(sum(crossing), 0, len(tasks)),
            _gap_line(results, tasks, "hash-SISO", "SVM"),
        ),
        line(
            "SVM does not overtake SISO (a tie is none), with all training pictures",
            verdict(kept, 0, len(tasks)),
            "; ".join(f"{t} {100 * gap(t, 'SISO', last):+.1f}" for t in tasks),
        ),
    ]


def faster(results: Results) -> Row:
    """Prediction time of SISO over that of hash-SISO (7 to 30 times in the paper)."""
    last = results.shares[-1]
    parts, good = [], 0
    tasks = [task for task in results.tasks if results.has(task, "SISO", "hash-SISO")]
    for task in tasks:
        times = [results.mean(task, m, last, "prediction ms") for m in ("SISO", "hash-SISO")]
        good += times[0] > times[1]
        parts.append(f"{task} {times[0]:.3g} and {times[1]:.3g} ms")
    return line(
        "hash-SISO is faster than SISO (7 to 30 times in the paper)",
        verdict(good, 0, len(tasks)),
        "prediction with all training pictures: " + "; ".join(parts),
    )


def growing(results: Results, method: str) -> Row:
    """The power of n with which the time of a prediction grows, between shares of one setting."""
    last = results.shares[-1]
    parts, good, n = [], 0, 0
    for task in results.tasks:
        if not results.has(task, method):
            continue
        settings = {s: results.some(task, method, s)[0]["settings"] for s in results.shares}
        alike = [s for s in results.shares if settings[s] == settings[last]]
        first = alike[0]
        if first == last:
            parts.append(f"{task} (no two shares alike)")
            continue
        n += 1
        times = [results.mean(task, method, s, "prediction ms") for s in (first, last)]
        rows = [results.mean(task, method, s, "rows") for s in (first, last)]
        power = np.log(times[1] / times[0]) / np.log(rows[1] / rows[0])
        good += power < 1
        parts.append(f"{task} n^{power:.2f} from {first:.0%} on")
    return line(
        f"Time of a prediction grows less than the number of pictures ({method})",
        verdict(good, 0, n),
        "same settings: " + "; ".join(parts),
    )


def costs(results: Results) -> Row:
    """Top-5 flat cost from the smallest share to all."""
    first, last = results.shares[0], results.shares[-1]
    parts, gaps = [], []
    for task in results.tasks:
        if "top-5 flat cost" not in results.some(task, "hash-SISO", last)[0]:
            continue
        both = [results.mean(task, "hash-SISO", s, "top-5 flat cost") for s in (first, last)]
        gaps.append(both[0] - both[1])
        parts.append(f"{task} {both[0]:.3f} to {both[1]:.3f}")
    said, _ = counted(gaps)
    return line("Top-5 flat cost falls with more pictures (hash-SISO)", said, "; ".join(parts))


def signs(results: Results, other: str) -> Row:
    """Ours: signed scores against another reading of the same codes."""
    gaps: list[tuple[str, float]] = []
    for task in results.tasks:
        for share in results.shares:
            plain, changed = (
                results.mean(task, "SISO", share, what) for what in ("MAP", SCORINGS[other])
            )
            gaps.append((task, plain - changed))
    said, _ = counted(gap for _, gap in gaps)
    return line(f"Ours: signed scores beat {other} ones (SISO)", said, _means(results, gaps))


def _gaps(results: Results, one: str, other: str) -> list[tuple[str, float]]:
    return [
        (task, results.mean(task, one, share) - results.mean(task, other, share))
        for task in results.tasks
        if results.has(task, one, other)
        for share in results.shares
    ]


def _by_task(results: Results, one: str, other: str) -> str:
    return _means(results, _gaps(results, one, other))


def _means(results: Results, gaps: list[tuple[str, float]]) -> str:
    parts = []
    for task in results.tasks:
        own = [gap for name, gap in gaps if name == task]
        if own:
            low, high = (100 * f(own) for f in (min, max))
            parts.append(f"{task} {100 * np.mean(own):+.1f} ({low:+.1f} to {high:+.1f})")
    return "mean gap over the shares, points: " + "; ".join(parts)


def _gap_line(results: Results, tasks: list[str], one: str, other: str) -> str:
    parts = []
    for task in tasks:
        gaps = (results.mean(task, one, s) - results.mean(task, other, s) for s in results.shares)
        parts.append(f"{task} " + ", ".join(f"{100 * gap:+.1f}" for gap in gaps))
    at = ", ".join(f"{share:.0%}" for share in results.shares)
    return f"{one} minus {other} at {at}: " + "; ".join(parts)
