"""Near-duplicates: groups of pictures that are nearly the same."""

from __future__ import annotations

import numpy as np

from likewise.catalog.store import Store
from likewise.search.rank import Hit
from likewise.search.views import Views


def with_copies(store: Store, groups: list[list[tuple[int, float]]]) -> list[list[Hit]]:
    """Turn groups of (id, score) into hits, one per file; files of equal content are duplicates."""
    copies = store.copies()
    met = {image for group in groups for image, _ in group}
    whole = [*groups, *([(image, 1.0)] for image in copies if image not in met)]
    paths = store.paths(image for group in whole for image, _ in group)
    made = [
        [Hit(i, path, score) for i, score in group for path in copies.get(i, [paths[i]])]
        for group in whole
    ]
    return sorted(made, key=lambda group: (-len(group), group[0].id))


def find_duplicates(views: Views, space: str, threshold: float) -> list[list[Hit]]:
    """Find groups of pictures linked by a score of at least ``threshold``, largest first.

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
    for image in views.store.copies():
        best[image] = max(best.get(image, -np.inf), 1.0)
    groups: dict[int, list[int]] = {}
    for image in best:
        groups.setdefault(find(image), []).append(image)
    made = [
        [(i, best[i]) for i in sorted(group, key=lambda i: (-best[i], i))]
        for group in groups.values()
    ]
    return with_copies(views.store, made)
