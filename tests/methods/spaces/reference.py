"""The local metric by its equations, one pair at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Lesson(NamedTuple):
    """Rows of one judgement."""

    number: int
    query: np.ndarray
    alike: list[np.ndarray]
    unlike: list[np.ndarray]
    weight: float
    session: int | None = None


def ask(lessons: list[Lesson], row: np.ndarray, scale: float, prior: float) -> np.ndarray:
    """Equations (1) to (5) of ``spaces/local_metric.py``, a pair at a time."""
    width = len(row)
    u = row.astype(np.float64) / np.linalg.norm(row)
    nears: dict[object, list[float]] = {}
    sums, counts = [np.zeros((width, width)), np.zeros((width, width))], [0.0, 0.0]
    cosines = []
    for lesson in lessons:
        middle = lesson.query + np.sum(lesson.alike, axis=0) if lesson.alike else lesson.query
        cosines.append(max(0.0, float(middle @ u) / np.linalg.norm(middle)))
    for lesson, cosine in zip(lessons, cosines, strict=True):
        if cosine <= 0.14:
            continue
        near = cosine * max(cosines) ** 3
        nears.setdefault(lesson.session or (lesson.number, "alone"), []).append(near)
        for side, (rows, weight) in enumerate(
            ((lesson.alike, 1.0), (lesson.unlike, lesson.weight))
        ):
            for other in rows:
                k = near * weight * min(1.0, 20.0 / len(rows))
                d = other.astype(np.float64) - lesson.query
                d *= min(1.0, np.sqrt(2 * scale * width) / max(np.linalg.norm(d), 1e-30))
                sums[side] += k * np.outer(d, d) / 2
                counts[side] += k
    (S, D), (n, m) = sums, counts
    strays = m / (2 * n) * S if n else np.zeros_like(S)
    A, B, C = (
        np.eye(width) + part / (scale * N)
        for part, N in ((S, 4 * prior + n), (D, prior + m), (strays, prior + m))
    )
    M = np.linalg.inv(A) + 3 * (np.linalg.inv(C) - np.linalg.inv(B))
    moved = M @ u - u
    most = max((max(one) for one in nears.values()), default=1.0)
    reach = min(1.0, 0.5 * sum(min(1.5, sum(one) / most) for one in nears.values()))
    return u + moved * min(1.0, reach / max(float(np.linalg.norm(moved)), 1e-30))
