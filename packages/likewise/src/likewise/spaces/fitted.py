"""``look`` and ``fitted``: spaces fitted to the collection, over the rows of another space.

They learn without labels from the rows of their source (``metric/fitted.py``).  No picture is read
again, so a new generation takes seconds.  ``look`` is fitted to all activations of the network and
is the default ranking; ``fitted`` is the same over any dense space that learns nothing itself, such
as a network or vectors of the user.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.catalog.store import SpaceRow
from likewise.errors import CollectionError, DamagedCollection, InvalidInput
from likewise.spaces.base import LearnedGeneration, Pixels, Recipe, Space, Survey
from likewise.spaces.registry import open_space
from likewise_methods.blas_threads import one_blas_thread
from likewise_methods.neighbours import DamagedFile
from likewise_methods.spaces import GROWTH, NEW, FittedSpace

FIRST = 300
"""Pictures with a row in the source from which on the space is learned."""
COMPONENTS = 128
LONG_ADD = 4
"""Times as many pictures at which an add that still goes on stops to learn again."""
NEWEST = 1_000
"""New pictures that are asked whether the space still fits."""
_SUFFIX = ".lwf"


class FittedKind(Space):
    """Rows of a source space, reduced and rescaled for the collection."""

    feature = "fitted"
    defaults = {"source": None, "components": COMPONENTS, "first": FIRST}
    least = {"components": 1, "first": 3}
    must_learn = True
    learns_pairs = True
    stage = "placing pictures"

    @classmethod
    def check_recipe(cls, recipe: Recipe) -> None:
        if not isinstance(recipe["source"], str) or not recipe["source"]:
            raise InvalidInput(
                f"source is {recipe['source']!r}; the name of a dense space expected"
            )

    def bind(self, others: Mapping[str, Space]) -> dict[str, Any]:
        name = self.recipe["source"]
        source = others.get(name)
        if source is None:
            raise CollectionError(
                f"there is no space {name!r} to fit; there are {', '.join(others)}"
            )
        if source.row_format.is_sparse:
            raise CollectionError(f"space {name!r} is sparse; a dense space expected to fit")
        if source.must_learn:
            raise CollectionError(
                f"space {name!r} learns from the collection itself; a space expected that does not"
            )
        known = {"recipe": dict(source.recipe), "files": dict(source.files), "width": source.width}
        return {**self.recipe, "of": known}

    @cached_property
    def source(self) -> Space:
        """The source space, as it was when this one was added."""
        known = self.recipe["of"]
        record = SpaceRow(
            self.recipe["source"], "dense", known["recipe"], 1, known["width"], 0, known["files"]
        )
        return open_space(self.root, record)

    @property
    def describes_pictures(self) -> bool:  # type: ignore[override]
        """Whether the source describes pictures; else its rows come from the user.

        A class attribute of other kinds; here it depends on the source.
        """
        return self.source.describes_pictures

    @property
    def decode_side(self) -> int:  # type: ignore[override]
        """That of the source."""
        return self.source.decode_side

    @property
    def decode_slack(self) -> float:  # type: ignore[override]
        """That of the source."""
        return self.source.decode_slack

    @property
    def splits_rows(self) -> bool:  # type: ignore[override]
        """Whether the source does."""
        return self.source.splits_rows

    @property
    def takes_rows_of(self) -> str | None:
        return str(self.recipe["source"])

    def needed_files(self) -> tuple[str, ...]:
        return tuple(sorted({*super().needed_files(), *self.source.needed_files()}))

    def is_available(self) -> bool:
        return self.source.is_available()

    def how_to_get(self) -> str:
        return self.source.how_to_get()

    def load(self) -> None:
        if self.source.is_available():
            self.source.load()

    def can_learn(self) -> bool:
        # Learning needs only the rows of the source.
        return True

    def card(self) -> dict[str, Any] | None:
        return self.source.card()

    # -- learning ---------------------------------------------------------------------------

    def has_outgrown(self, n_pictures: int) -> bool:
        if not self.generation:
            return n_pictures >= int(self.recipe["first"])
        return n_pictures >= math.ceil(GROWTH * max(self.n_pictures, 1))

    def next_growth(self) -> int:
        # Few stops during a long add, since it learns again at its end.
        if not self.generation:
            return int(self.recipe["first"])
        return LONG_ADD * max(self.n_pictures, 1)

    def has_drifted(self, n_pictures: int, survey: Survey) -> bool:
        """Return whether new pictures differ in kind from the old, (8) of ``FittedSpace``."""
        if not self.generation or n_pictures < (1 + NEW) * self.n_pictures:
            return False
        found = np.zeros((0, 1), np.float32)
        since = survey.n_pictures - (n_pictures - self.n_pictures)
        for numbers, rows in survey.rows(self.recipe["source"]):
            new = np.asarray(rows[numbers >= since], np.float32)[-NEWEST:]
            if len(new):
                found = np.concatenate([found, new])[-NEWEST:] if len(found) else new
        return len(found) > 0 and self.fit.has_outgrown(n_pictures, found)

    def learn(self, survey: Survey) -> LearnedGeneration | None:
        source = self.recipe["source"]
        total = sum(len(numbers) for numbers, _ in survey.rows(source))
        if total < self.recipe["first"]:
            return None
        fit = FittedSpace(self.recipe["components"])
        try:
            # More threads would slow it down: the workers use the other cores.
            with one_blas_thread():
                # Only the fit holds the rows, so that it can free them.
                fit.fit(_drawn_rows(survey, source, total, fit.max_rows))
        except InvalidInput:
            # The pictures are too similar to learn from: keep the current generation.
            return None
        fit.n_rows_ = total
        file = survey.new_file(_SUFFIX)
        fit.save(self.root / file)
        width = fit.stretch_.shape[1]
        return LearnedGeneration(width, {"fit": file}, _place_rows(fit, survey, source))

    @property
    def fit(self) -> FittedSpace:
        """The learned transformation of the generation."""
        return _open_fit(str(self.root / self.files["fit"]))

    def pair_scale(self) -> float:
        return float(self.fit.scale_)

    # -- rows -------------------------------------------------------------------------------

    def describe(self, picture: Pixels, shared: dict[str, Any]) -> Any:
        return self.place(np.asarray(self.source.describe(picture, shared), np.float32)[None])[0]

    def split_row(self, picture: Pixels) -> NDArray[np.float64]:
        cells = self.source.split_row(picture)
        made = self.fit.split(cells.reshape(-1, cells.shape[-1]))
        return made.reshape(*cells.shape[:-1], -1)

    def place(self, rows: Any) -> NDArray[np.float32]:
        """Return rows of the source as rows of this space."""
        with one_blas_thread():
            return np.asarray(self.fit.transform(rows), np.float32)

    def translate_row(self, row: NDArray[np.float32], coming: Space) -> Any:
        """Return the row of a removed picture in the next generation, approximately.

        The scaling is undone, the row gets the average length of rows before normalisation, and
        what was outside of the kept directions is lost.
        """
        assert isinstance(coming, FittedKind)
        fit = self.fit
        p = np.linalg.solve(fit.stretch_.T, np.asarray(row, np.float64))
        p /= max(np.linalg.norm(p), np.finfo(float).tiny)
        spread = np.sqrt(max(1.0 - float(fit.mean_ @ fit.mean_), 0.0))
        r = fit.mean_ + spread * fit.directions_ @ p
        raw = np.maximum(r, 0.0) ** 2 if fit.rooted_ else r
        return coming.place(raw[None].astype(np.float32))[0]

    def verify(self) -> Iterable[str]:
        if "fit" not in self.files:
            yield f"what space {self.name!r} has learned is not named; run likewise models retrain"
            return
        FittedSpace.open(self.root / self.files["fit"])


class LookSpace(FittedKind):
    """All activations of the network, fitted to the collection."""

    feature = "look"
    defaults = {"source": "deep-dense", "components": COMPONENTS, "first": FIRST}
    default_rank = 0
    tag_rank = -1


def _drawn_rows(survey: Survey, source: str, total: int, most: int) -> NDArray[np.float32]:
    """Return at most so many of all rows, drawn at random, in order."""
    drawn = np.arange(total)
    if total > most:
        drawn = np.sort(np.random.default_rng(survey.seed).choice(total, most, replace=False))
    chosen, start = np.empty((len(drawn), 0), np.float32), 0
    for numbers, rows in survey.rows(source):
        if not chosen.size:
            chosen = np.empty((len(drawn), rows.shape[1]), np.float32)
        first, last = np.searchsorted(drawn, [start, start + len(numbers)])
        chosen[first:last] = rows[drawn[first:last] - start]
        start += len(numbers)
    return chosen


def _place_rows(
    fit: FittedSpace, survey: Survey, source: str
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    for numbers, rows in survey.rows(source):
        if len(numbers):
            with one_blas_thread():
                placed = fit.transform(rows)
            yield from zip(numbers.tolist(), placed, strict=True)


@lru_cache(maxsize=8)
def _open_fit(path: str) -> FittedSpace:
    """Open a fit and keep it: files of a generation are never overwritten."""
    try:
        return FittedSpace.open(path)
    except (OSError, DamagedFile) as error:
        raise DamagedCollection(f"{path}: {error}; run likewise models retrain") from error
