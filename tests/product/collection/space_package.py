"""A package that brings kinds of space, as a stranger would write it, installed into a folder.

The folder holds the module and the ``.dist-info`` that pip would have written; on ``PYTHONPATH`` it
is an installed package for this process and for the workers it starts.
"""

from __future__ import annotations

from pathlib import Path

# A colour histogram over levels that are learned from the collection: sparse, with places.
MODULE = '''\
"""Tones: how much of a picture is how bright, by thresholds learned from the collection."""

import json

import numpy as np

from likewise.spaces.base import LearnedGeneration, Places, Space


class ToneSpace(Space):
    feature = "tone"
    defaults = {"levels": 6, "cells": 8}
    least = {"levels": 2, "cells": 1}
    vector_type = "sparse"
    must_learn = True
    idf = "tf-idf"
    has_places = True

    def _cells(self, picture):
        grey = picture.mean(axis=2)
        n = self.recipe["cells"]
        height, width = grey.shape
        xs = (np.arange(n) + 0.5) * width / n
        ys = (np.arange(n) + 0.5) * height / n
        values = grey[np.ix_(ys.astype(int), xs.astype(int))].ravel()
        grid = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2).astype(np.float32)
        return values, grid, width / n

    def _columns(self, values):
        kept = json.loads((self.root / self.files["levels"]).read_text())
        return np.searchsorted(np.array(kept["cuts"]), values)

    def describe(self, picture, shared):
        values, _, _ = self._cells(picture)
        columns, counts = np.unique(self._columns(values), return_counts=True)
        return columns, counts.astype(np.float32)

    def sample(self, picture, number, **options):
        return self._cells(picture)[0]

    def learn(self, survey):
        found = survey.sample(self, survey.choose(100), "tones of some pictures")
        if not found:
            return None
        values = np.concatenate([part for _, part in found])
        levels = self.recipe["levels"]
        cuts = np.quantile(values, np.arange(1, levels) / levels)
        files = {"levels": survey.new_file(".json")}
        text = json.dumps({"cuts": cuts.tolist(), "pictures": survey.n_pictures})
        (self.root / files["levels"]).write_text(text)
        return LearnedGeneration(levels, files)

    def has_outgrown(self, n_pictures):
        return not self.generation or n_pictures >= 2 * max(self.n_pictures, 1)

    def match_columns(self, other):
        # Dark stays dark: the lowest level is the lowest of any other generation.
        return np.rint(np.linspace(0, other.width - 1, self.width)).astype(np.int64)

    def find_places(self, picture):
        values, grid, side = self._cells(picture)
        columns = self._columns(values)[:, None]
        ones = np.ones(len(values), np.float32)
        return Places(columns, ones[:, None], grid, ones * side, ones)

    def verify(self):
        kept = json.loads((self.root / self.files["levels"]).read_text())
        if len(kept["cuts"]) + 1 != self.width:
            yield "its levels are not as many as its columns"


class MeanSpace(Space):
    """The six lines of CONTRIBUTING: dense, nothing learned, nothing explained."""

    feature = "mean-colour"

    def fixed_width(self):
        return 3

    def describe(self, picture, shared):
        return picture.mean(axis=(0, 1))


class ClumsySpace(MeanSpace):
    """Fails on some pictures, and is wrong about others."""

    feature = "clumsy"

    def describe(self, picture, shared):
        if picture.shape[0] == 40:
            raise RuntimeError("cannot bear forty rows")
        return np.zeros(5 if picture.shape[0] == 50 else 3)
'''

ENTRY_POINTS = {
    "tone": "tone_spaces:ToneSpace",
    "mean-colour": "tone_spaces:MeanSpace",
    "clumsy": "tone_spaces:ClumsySpace",
}


def install(
    folder: Path,
    name: str = "tone-spaces",
    module: str = "tone_spaces",
    source: str = MODULE,
    entry_points: dict[str, str] | None = None,
    group: str = "likewise.spaces",
) -> Path:
    """Write a package and its metadata to a folder; gives the folder, to be put on the path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{module}.py").write_text(source)
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    points = ENTRY_POINTS if entry_points is None else entry_points
    lines = [f"{feature} = {value}" for feature, value in points.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines, ""]))
    return folder
