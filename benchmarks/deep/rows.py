"""Every space's rows for the development sets, made as a collection makes them, and kept.

``space_rows("corel1k", "deep")`` gives the rows as the index (or a dense search) ranks them, the
labels, and the retrieval task with its queries.  Learned spaces learn from the set itself: the
same recipes, numbers of words and seeds as in :mod:`likewise.collection`.  Results are kept in the
benchmarks' cache; a set that is not on this machine gives None.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks import harness
from benchmarks.readers.corel import read_corel1k
from benchmarks.readers.records import data_root
from benchmarks.readers.tasks import read_task
from likewise.catalog.segments import SPARSE
from likewise.errors import InvalidInput
from likewise.images.decode import Picture, decode
from likewise.spaces.base import DECODE_SIDE, Space, decode_size
from likewise.spaces.deep_words import PROJECTION_PICTURES
from likewise.spaces.registry import find_kind, new_space
from likewise.spaces.visual_words import VisualWords, WordAssigner
from likewise.vision.deep.recipes import Projection
from likewise.vision.local import SIFT
from likewise_lab.evaluation.retrieval import Task
from likewise_methods.coding.bow import BagOfWords, Weighting
from likewise_methods.coding.vocabulary import Vocabulary
from likewise_methods.evaluation.protocols import leave_one_out
from likewise_methods.neighbours.container import DamagedFile, open_arrays, save_arrays

SPACES: dict[str, Mapping[str, Any]] = {
    name: find_kind(name).default_recipe()
    for name in ("words", "holistic", "deep", "deep-dense", "deep-words")
}


class Source(NamedTuple):
    """How a set is read, its folder below the data (None: written here), and every how many-th
    picture of it is taken."""

    layout: str
    folder: str | None
    every: int = 1


DATASETS = {
    "corel1k": Source("corel1k", "corel1k"),
    "caltech101": Source("folders", "caltech101", 2),
    "oxford1k": Source("oxford", "oxford1k"),
    "planted": Source("planted", None),
    "caltech101-full": Source("folders", "caltech101"),
}
PLANTED_VIEWS = 12
_KIND = "space rows"
_ROUNDS = 12
# Part of the cache's name; grows when the rows would be others.
_VERSION = 1


class SpaceRows(NamedTuple):
    """Rows of unit length (CSR or dense float32), one a picture, in the order of ``names``.

    ``labels`` are class numbers; of Oxford the landmark a picture shows, -1 for none.
    """

    X: Any
    names: list[str]
    labels: NDArray[np.int64]
    task: Task


def task_of(dataset: str) -> Task | None:
    """Pictures, queries and protocol of a set; None where it is not on this machine."""
    if dataset not in DATASETS:
        raise InvalidInput(f"there is no set {dataset!r}; there are {', '.join(DATASETS)}")
    source = DATASETS[dataset]
    if source.folder is None:
        folder = harness.cache_dir() / f"planted-views-{PLANTED_VIEWS}"
        return read_task(source.layout, folder, n_views=PLANTED_VIEWS)
    root = data_root()
    if root is None or not (root / source.folder).is_dir():
        return None
    if source.layout == "corel1k":
        return _corel(root / source.folder)
    return thinned(read_task(source.layout, root / source.folder), source.every)


def _corel(folder: Path) -> Task:
    """All thousand pictures, each asked for in turn: the set's own split has only 100 queries."""
    data = read_corel1k(folder)
    names = [path.relative_to(folder).as_posix() for path in data.paths]
    labels = dict(zip(names, (data.classes[i] for i in data.labels.tolist()), strict=True))
    paths = dict(zip(names, data.paths, strict=True))
    return Task(data.name, "every picture in turn, leave one out", paths, leave_one_out(labels))


def thinned(task: Task, every: int) -> Task:
    """The task on every so many-th picture."""
    if every == 1:
        return task
    paths = dict(list(task.paths.items())[::every])
    queries = [
        replace(query, positives=query.positives & paths.keys())
        for query in task.queries
        if query.query in paths
    ]
    return replace(task, paths=paths, queries=queries)


def space_rows(dataset: str, space: str, *, n_words: int | None = None) -> SpaceRows | None:
    """The rows of a set in a space; ``n_words`` asks for another number of words than chosen."""
    if space not in SPACES:
        raise InvalidInput(f"there is no space {space!r}; there are {', '.join(SPACES)}")
    task = task_of(dataset)
    if task is None:
        return None
    which = space if n_words is None else f"{space}-{n_words}"
    kept = harness.cache_dir() / f"rows-{dataset}-{which}-{_VERSION}.arrays"
    X = _kept(kept, len(task.paths))
    if X is None:
        X = _made(dataset, list(task.paths.values()), space, n_words)
        _keep(kept, X)
    return SpaceRows(X, list(task.paths), labels_of(task), task)


def labels_of(task: Task) -> NDArray[np.int64]:
    """Class numbers from the queries: pictures that answer a group's queries belong to it."""
    groups: dict[str, int] = {}
    of: dict[str, int] = {}
    for query in task.queries:
        number = groups.setdefault(query.group, len(groups))
        for name in (query.query, *query.positives):
            of.setdefault(name, number)
    return np.array([of.get(name, -1) for name in task.paths], np.int64)


def pictures(paths: list[Path], *spaces: Space) -> Iterator[Picture]:
    """Decoded as a collection decodes them for these spaces."""
    side, slack = decode_size(spaces) if spaces else (DECODE_SIDE, 1.0)
    return (decode(path, max_side=side, slack=slack) for path in paths)


def _made(dataset: str, paths: list[Path], space: str, words: int | None) -> Any:
    recipe = SPACES[space]
    if space in ("words", "deep-words"):
        raw, coder = learned(_local(dataset, space), recipe, words)
        if words is None:
            _keep_words(dataset, space, coder)
        return weighted(raw, coder)
    made = fixed_space(space)
    X = made.row_format.unpack([made.packed_row(one) for one in pictures(paths, made)], made.width)
    if made.row_format is SPARSE:
        return X
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)


def fixed_space(name: str) -> Space:
    """A space that learns nothing, outside of any collection."""
    made = new_space(Path(), name, SPACES[name])
    return replace(made, width=made.fixed_width() or 0)


def words_space(recipe: Mapping[str, Any]) -> VisualWords:
    """A space of visual words that has learned nothing yet, outside of any collection."""
    made = new_space(Path(), recipe["feature"], recipe)
    assert isinstance(made, VisualWords)
    return made


class Local(NamedTuple):
    """Descriptors of each picture (half precision, as a collection samples them), projected."""

    found: list[NDArray[np.float16]]
    projection: Projection | None


@lru_cache(maxsize=1)
def _local(dataset: str, space: str) -> Local:
    """Kept for a while: the same cells are made into several numbers of words."""
    task = task_of(dataset)
    assert task is not None
    paths = list(task.paths.values())
    if space == "words" and (kept := _kept_sift(DATASETS[dataset], task)) is not None:
        return Local(kept, None)
    return described(paths, SPACES[space])


def _kept_sift(source: Source, task: Task) -> list[NDArray[np.float16]] | None:
    """RootSIFT that another benchmark kept, if it is that of these pictures: some are tried."""
    path = harness.cache_dir() / f"{source.folder}-rootsift.arrays"
    try:
        _, arrays = open_arrays(path, f"descriptors of {source.folder}, {SIFT()}")
    except (OSError, DamagedFile):
        return None
    cuts = np.split(arrays["X"], arrays["starts"][1:-1])[:: source.every]
    if len(cuts) != len(task.paths):
        return None
    each = max(1, len(task.paths) // 6)
    tried = list(pictures(list(task.paths.values())[::each]))
    # The reader's order, or the names': whichever it was, it is tried on some pictures.
    for order in (list(task.paths), sorted(task.paths)):
        by_name = dict(zip(order, cuts, strict=True))
        # They are the 2,000 strongest, strongest first; the recipe takes fewer of them.
        found = [by_name[name][: SPACES["words"]["max_features"]] for name in task.paths]
        ours = [
            words_space(SPACES["words"]).extract(picture.pixels).descriptors for picture in tried
        ]
        if all(a.shape == b.shape and np.allclose(a, b, atol=1e-3) for a, b in
               zip(ours, found[::each], strict=True)):  # fmt: skip
            return [rows.astype(np.float16) for rows in found]
    return None


def _keep_words(dataset: str, space: str, coder: WordAssigner) -> None:
    stem = str(harness.cache_dir() / f"words-{dataset}-{space}-{_VERSION}")
    coder.vocabulary.save(f"{stem}.lwv")
    if coder.projection is not None:
        coder.projection.save(f"{stem}.lwp")


def words_files(dataset: str, space: str) -> dict[str, str]:
    """The words of a set's learned space, as files that a step of ``add`` takes."""
    if space_rows(dataset, space) is None:
        return {}
    stem = harness.cache_dir() / f"words-{dataset}-{space}-{_VERSION}"
    files = {"vocabulary": f"{stem}.lwv", "projection": f"{stem}.lwp"}
    return {key: file for key, file in files.items() if Path(file).exists()}


def described(paths: list[Path], recipe: Mapping[str, Any]) -> Local:
    """What the words of some pictures are learned from."""
    projection, space = None, words_space(recipe)
    if "components" in recipe:
        every = -(-len(paths) // PROJECTION_PICTURES)
        some = (space.extract(p.pixels).descriptors for p in pictures(paths[::every]))
        projection = Projection.fit(some, recipe["components"])
    found = []
    for picture in pictures(paths):
        rows = space.extract(picture.pixels).descriptors
        if projection is not None:
            rows = projection(rows)
        found.append(rows.astype(np.float16))
    return Local(found, projection)


def learned(
    local: Local, recipe: Mapping[str, Any], words: int | None = None
) -> tuple[Any, WordAssigner]:
    """Raw counts of pictures over words learned from them, and what made them."""
    found = local.found
    total = sum(map(len, found))
    count = words_space(recipe).n_words(len(found), total) if words is None else words
    vocabulary = Vocabulary(count, n_iter=_ROUNDS, random_state=0)
    vocabulary.fit(rows.astype(np.float32) for rows in found if len(rows))
    coder = WordAssigner(vocabulary, None, recipe.get("soft", 1))
    counted = (coder.count_words(rows.astype(np.float32)) for rows in found)
    raw = SPARSE.unpack([SPARSE.pack(row) for row in counted], count)
    return raw, coder._replace(projection=local.projection)


def weighted(raw: Any, coder: WordAssigner) -> Any:
    """Counts as they are ranked: soft ones by their root, both by idf."""
    weighting: Weighting = "sqrt-tf-idf" if coder.soft > 1 else "tf-idf"
    return BagOfWords(weighting).fit(raw).transform(raw)


def _keep(path: Path, X: Any) -> None:
    if isinstance(X, np.ndarray):
        save_arrays(path, _KIND, {"sparse": False}, {"rows": X.astype(np.float32)})
        return
    arrays: dict[str, NDArray[Any]] = {
        "starts": X.indptr.astype(np.int64),
        "indices": X.indices.astype(np.int32),
        "values": X.data.astype(np.float32),
    }
    save_arrays(path, _KIND, {"sparse": True, "width": int(X.shape[1])}, arrays)


def _kept(path: Path, n_pictures: int) -> Any:
    try:
        meta, arrays = open_arrays(path, _KIND)
    except (OSError, DamagedFile):
        return None
    if not meta["sparse"]:
        rows = arrays["rows"]
        return rows if len(rows) == n_pictures else None
    parts = (arrays["values"], arrays["indices"], arrays["starts"])
    if len(parts[2]) != n_pictures + 1:
        return None
    return sparse.csr_array(parts, shape=(n_pictures, meta["width"]))
