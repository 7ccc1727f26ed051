"""Near-duplicates: groups of pictures that are nearly the same."""

from __future__ import annotations

import numpy as np

from likewise.collection.search.rank import Hit
from likewise.collection.search.views import Views


def find_duplicates(views: Views, space: str, threshold: float) -> list[list[Hit]]:
    """Groups of pictures linked by a score of at least ``threshold``, largest group first.

    The score of a hit is its best link inside the group.
    """
    view = views.view(space)
    parent: dict[int, int] = {}
    best: dict[int, float] = {}

    def find(i: int) -> int:
        while parent.setdefault(i, i) != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for picture in views.store.every_image():
        row = view.row_of(picture.id)
        if row is None:
            continue
        k = 8
        while True:
            ids, scores = view.search_row(row, k)
            if len(ids) < k or scores[-1] < threshold:
                break
            k *= 4
        for image, score in zip(ids.tolist(), scores.tolist(), strict=True):
            if image != picture.id and score >= threshold:
                parent[find(image)] = find(picture.id)
                for one in (image, picture.id):
                    best[one] = max(best.get(one, -np.inf), score)
    # Files with the same content are one picture; they are duplicates all the same.
    copies = views.store.copies()
    for image in copies:
        best[image] = max(best.get(image, -np.inf), 1.0)
    groups: dict[int, list[int]] = {}
    for image in best:
        groups.setdefault(find(image), []).append(image)
    rows = views.store.images(best)
    made = [
        [
            Hit(i, path, best[i])
            for i in sorted(group, key=lambda i: (-best[i], i))
            for path in copies.get(i, [rows[i].path])
        ]
        for group in groups.values()
    ]
    return sorted(made, key=lambda group: (-len(group), group[0].id))
