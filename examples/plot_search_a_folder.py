"""
Search a folder
===============

Twelve pictures are drawn into a folder, taken into a collection, and one of them is asked for its
like. Nothing is labelled. The network is left out (``deep=False``) so that this runs anywhere;
colours and edges are enough for such pictures.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

import likewise as lw

# %%
# Four kinds of pictures, three of each: a sky with hills, stripes, dots, and a disc.

rng = np.random.default_rng(0)
rows, columns = np.mgrid[0:96, 0:96] / 96


def draw(kind: int) -> np.ndarray:
    """One picture of a kind, a little different every time."""
    shift = rng.random() * 6
    mask = [
        rows > 0.6 + 0.1 * np.sin(8 * columns + shift),
        np.sin(40 * columns + shift) > 0,
        (np.sin(30 * columns + shift) * np.sin(30 * rows)) > 0.4,
        (rows - 0.5) ** 2 + (columns - 0.4 - shift / 40) ** 2 < 0.08,
    ][kind]
    paper, ink = [
        ((120, 180, 230), (60, 130, 60)),
        ((230, 220, 200), (150, 40, 40)),
        ((250, 240, 200), (60, 60, 160)),
        ((30, 30, 60), (240, 200, 80)),
    ][kind]
    pixels = np.where(mask[..., None], ink, paper) + rng.integers(-15, 15, (96, 96, 3))
    return np.clip(pixels, 0, 255).astype(np.uint8)


folder = Path(tempfile.mkdtemp())
for number in range(12):
    Image.fromarray(draw(number % 4)).save(folder / f"{number:02}.png")

# %%
# A collection is a folder on disk; the pictures stay where they are.

with lw.Collection.create(folder / "photos.lw", deep=False) as col:
    print(col.add(folder))
    hits = list(col.search(folder / "00.png", k=5, by="holistic"))

# %%
# The query is on the left; the other two hills come first.

figure, axes = plt.subplots(1, 6, figsize=(9, 2))
for axis, path, title in zip(
    axes,
    [folder / "00.png", *(hit.path for hit in hits)],
    ["query", *(f"{hit.score:.2f}" for hit in hits)],
    strict=True,
):
    axis.imshow(Image.open(path))
    axis.set_title(title)
    axis.axis("off")
plt.show()
