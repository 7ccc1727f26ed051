"""Small pictures for collection tests: real photographs, shrunk, so that a run takes seconds."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import cv2
import numpy as np

from likewise_lab.evaluation.planted import KINDS, scenes

SIDE = 220
SCENES = ("astronaut", "chelsea", "china", "coffee", "coins", "flower", "motorcycle_left", "rocket")


@cache
def small_scenes() -> dict[str, np.ndarray]:
    found = {}
    for name, pixels in scenes():
        if name in SCENES:
            scale = SIDE / max(pixels.shape[:2])
            found[name] = cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    return found


def write(path: Path, pixels: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    assert cv2.imwrite(str(path), pixels[:, :, ::-1])
    return path


def write_pictures(folder: Path, views: int = 3) -> list[Path]:
    """``views`` pictures of each of eight scenes: the scene, then crops, perspectives, light."""
    paths = []
    for name, pixels in small_scenes().items():
        paths.append(write(folder / f"{name}-0.jpg", pixels))
        for view in range(1, views):
            kind = ("crop", "perspective", "light", "scale")[(view - 1) % 4]
            seen, _ = KINDS[kind](pixels, np.random.default_rng([view, len(name)]))
            paths.append(write(folder / f"{name}-{view}.jpg", seen))
    return paths
