"""Planted views: pictures whose right answers are known, made from photographs in wheels.

Scikit-image and scikit-learn ship some twenty photographs.  Each is a scene, and views of a scene
are made by crops, perspective, scale, light, blur, noise and JPEG artefacts.  Each view has its
scene and the homography that made it.  The same seed gives the same pictures.
"""

from __future__ import annotations

import csv
import importlib.util
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from likewise.errors import DatasetError
from likewise.images.decode import decode
from likewise_methods.evaluation import RetrievalSet, leave_one_out
from likewise_methods.validation import whole

Pixels = NDArray[np.uint8]
Matrix = NDArray[np.float64]

# Left out of what the wheels hold: chessboards and phantoms (no two places differ), miniatures,
# and the second picture of a stereo pair.
_SHIPPED = {
    "skimage": (
        "data",
        "astronaut.png brick.png camera.png cell.png chelsea.png clock_motion.png coffee.png "
        "coins.png color.png grass.png gravel.png horse.png hubble_deep_field.jpg ihc.png "
        "logo.png moon.png motorcycle_left.png page.png retina.jpg rocket.jpg text.png",
    ),
    "sklearn": ("datasets/images", "china.jpg flower.jpg"),
}
_LONGER_SIDE = 480


@dataclass(frozen=True)
class PlantedView:
    """One picture, its scene, and how it was made from it.

    Attributes
    ----------
    name : str
        Of the file.
    scene : int
        Number of the scene.
    kind : str
        How the view was made.
    pixels : uint8 array of shape (height, width, 3)
        RGB.
    homography : array of shape (3, 3)
        Maps (x, y, 1) of the scene's own picture to this one's.

    See Also
    --------
    planted_views : make views.
    """

    name: str
    scene: int
    kind: str
    pixels: Pixels
    homography: Matrix


def scenes(folder: Path | None = None) -> list[tuple[str, Pixels]]:
    """Return name and pixels of each scene; ``folder`` replaces the photographs in wheels."""
    if folder is not None:
        files = sorted(path for path in folder.iterdir() if path.is_file())
        if not files:
            raise DatasetError(f"{folder} holds no files; a folder of pictures expected")
    else:
        files = [path for library in _SHIPPED for path in _packaged_photos(library)]
    return [(path.stem, decode(path, max_side=_LONGER_SIDE).pixels) for path in files]


def planted_views(
    n_views: int = 16, *, seed: int = 0, folder: Path | None = None
) -> Iterator[PlantedView]:
    """Yield ``n_views`` pictures of each scene: the scene itself, then each kind of view.

    The order of kinds is that of :data:`KINDS`, repeated; each round draws other parameters.

    Parameters
    ----------
    n_views : int, default=16
        Pictures of a scene.
    seed : int, default=0
        The same seed gives the same pictures.
    folder : Path, optional
        The folder of the photographs; by default those of scikit-image and scikit-learn.

    Yields
    ------
    PlantedView
        One picture after another.

    See Also
    --------
    write_planted : write them as files.
    """
    whole(n_views, "n_views")
    for number, (stem, pixels) in enumerate(scenes(folder)):
        yield PlantedView(f"{stem}-00-original", number, "original", pixels, np.eye(3))
        for view in range(1, n_views):
            kind = list(KINDS)[(view - 1) % len(KINDS)]
            # One generator a view: adding a scene or a view leaves all others as they were.
            rng = np.random.default_rng([seed, number, view])
            seen, homography = KINDS[kind](pixels, rng)
            yield PlantedView(f"{stem}-{view:02d}-{kind}", number, kind, seen, homography)


def write_planted(root: Path, n_views: int = 16, *, seed: int = 0) -> RetrievalSet:
    """Write views as JPEGs with ``truth.csv`` next to them; each view is a query.

    Parameters
    ----------
    root : Path
        The folder to write to.
    n_views : int, default=16
        Pictures of a scene.
    seed : int, default=0
        The same seed gives the same pictures.

    Returns
    -------
    RetrievalSet
        The pictures and the queries over them.

    See Also
    --------
    planted_views : make views without files.
    """
    root.mkdir(parents=True, exist_ok=True)
    paths: dict[str, Path] = {}
    labels: dict[str, str] = {}
    with (root / "truth.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["picture", "scene", "kind"])
        for view in planted_views(n_views, seed=seed):
            paths[view.name] = root / f"{view.name}.jpg"
            paths[view.name].write_bytes(_jpeg(view.pixels, 92))
            labels[view.name] = f"scene {view.scene}"
            table.writerow([paths[view.name].name, view.scene, view.kind])
    return RetrievalSet("planted views", paths, leave_one_out(labels))


def _packaged_photos(library: str) -> list[Path]:
    spec = importlib.util.find_spec(library)
    if spec is None or spec.origin is None:
        raise DatasetError(
            f"the planted views need the photographs of {library}, which is not installed; "
            "pip install likewise-lab"
        )
    folder, names = _SHIPPED[library]
    root = Path(spec.origin).parent / folder
    missing = [name for name in names.split() if not (root / name).is_file()]
    if missing:
        raise DatasetError(f"this version of {library} does not ship {', '.join(missing)}")
    return [root / name for name in names.split()]


View = Callable[[Pixels, np.random.Generator], tuple[Pixels, Matrix]]


def _crop(pixels: Pixels, rng: np.random.Generator) -> tuple[Pixels, Matrix]:
    height, width = pixels.shape[:2]
    part = rng.uniform(0.55, 0.85)
    h, w = round(height * part), round(width * part)
    y, x = int(rng.integers(0, height - h + 1)), int(rng.integers(0, width - w + 1))
    shift = np.array([[1, 0, -x], [0, 1, -y], [0, 0, 1]], np.float64)
    return np.ascontiguousarray(pixels[y : y + h, x : x + w]), shift


def _perspective(pixels: Pixels, rng: np.random.Generator) -> tuple[Pixels, Matrix]:
    height, width = pixels.shape[:2]
    corners = np.array([[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]])
    moved = corners + rng.uniform(-0.14, 0.14, (4, 2)) * [width, height]
    # Only what is filled on all sides is kept: a black rim would be a clue that photos lack.
    moved -= moved.min(axis=0)
    matrix = _matrix(cv2.getPerspectiveTransform(_f32(corners), _f32(moved)))
    left, right = max(moved[0, 0], moved[3, 0]), min(moved[1, 0], moved[2, 0])
    top, bottom = max(moved[0, 1], moved[1, 1]), min(moved[2, 1], moved[3, 1])
    matrix = np.array([[1, 0, -left], [0, 1, -top], [0, 0, 1]]) @ matrix
    return _warp(pixels, matrix, (int(right - left), int(bottom - top))), matrix


def _scale(pixels: Pixels, rng: np.random.Generator) -> tuple[Pixels, Matrix]:
    height, width = pixels.shape[:2]
    factor = rng.uniform(0.35, 0.75)
    size = (max(1, round(width * factor)), max(1, round(height * factor)))
    fx, fy = size[0] / width, size[1] / height
    # Pixel centres are whole numbers, so (x + .5) is what scales.
    matrix = np.array([[fx, 0, (fx - 1) / 2], [0, fy, (fy - 1) / 2], [0, 0, 1]])
    return _u8(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)), matrix


def _light(pixels: Pixels, rng: np.random.Generator) -> tuple[Pixels, Matrix]:
    gamma = np.exp(rng.uniform(-0.6, 0.6))
    gain = rng.uniform(0.6, 1.3) * (1 + rng.uniform(-0.12, 0.12, 3))
    lit = 255 * (pixels / 255.0) ** gamma * gain + rng.uniform(-20, 20)
    return _u8(lit), np.eye(3)


def _blur(pixels: Pixels, rng: np.random.Generator) -> tuple[Pixels, Matrix]:
    return _u8(cv2.GaussianBlur(pixels, (0, 0), rng.uniform(1.0, 3.0))), np.eye(3)


def _noise(pixels: Pixels, rng: np.random.Generator) -> tuple[Pixels, Matrix]:
    return _u8(pixels + rng.normal(0, rng.uniform(8, 25), pixels.shape)), np.eye(3)


def _jpeg_artefacts(pixels: Pixels, rng: np.random.Generator) -> tuple[Pixels, Matrix]:
    return decode(_jpeg(pixels, int(rng.integers(6, 25)))).pixels, np.eye(3)


def _everything(pixels: Pixels, rng: np.random.Generator) -> tuple[Pixels, Matrix]:
    """Apply a little of each, as two photographs of one thing differ."""
    seen, matrix = pixels, np.eye(3)
    for step in (_perspective, _crop, _scale, _light, _noise, _jpeg_artefacts):
        seen, moved = step(seen, rng)
        matrix = moved @ matrix
    return seen, matrix


KINDS: dict[str, View] = {
    "crop": _crop,
    "perspective": _perspective,
    "scale": _scale,
    "light": _light,
    "blur": _blur,
    "noise": _noise,
    "jpeg": _jpeg_artefacts,
    "everything": _everything,
}


def _warp(pixels: Pixels, matrix: Matrix, size: tuple[int, int]) -> Pixels:
    return _u8(cv2.warpPerspective(pixels, matrix, size, flags=cv2.INTER_LINEAR))


def _jpeg(pixels: Pixels, quality: int) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


def _u8(values: Any) -> Pixels:
    return np.asarray(np.clip(np.rint(values), 0, 255), np.uint8)


def _f32(values: Any) -> NDArray[np.float32]:
    return np.asarray(values, np.float32)


def _matrix(values: Any) -> Matrix:
    return np.asarray(values, np.float64)
