"""CPU milliseconds a picture for decoding and every feature, against a plain OpenCV loop.

The plain loop is what one would write with OpenCV's documentation open: one call a block, a
sub-band or a grid point.  Both sides get the same pixels in the same process, and how far their
numbers agree is computed from what they returned.  Run by ``make bench-features``.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from benchmarks.features import decoding
from benchmarks.readers.corel import read_corel1k
from benchmarks.readers.folders import read_folders
from benchmarks.readers.records import data_root
from likewise.images.decode import decode
from likewise.vision.holistic import Holistic, colour_moments, edge_histogram, wavelet_texture
from likewise.vision.local import SIFT, DenseSIFT
from likewise_lab.evaluation.planted import planted_views
from likewise_methods.evaluation.datasets import RetrievalQuery
from likewise_methods.evaluation.protocols import evaluate, leave_one_out

Pixels = NDArray[Any]


def main() -> None:
    options = harness.arguments(__doc__ or "")
    cv2.setNumThreads(1)
    count = 200 if options.full else 40
    report = harness.Report(
        "features",
        "Features: CPU milliseconds a picture",
        f"{count} pictures a set" + (" (FULL)" if options.full else ""),
        {"seed": options.seed},
    )
    sets = picture_sets(count, options.seed)
    for name, paths in sets.items():
        report.add(name, measure(paths))
    report.add(decoding.HEADING, decoding.rows(next(iter(sets.values()))))
    report.add(
        "What the holistic blocks find (leave one out, plain mAP by cosine)", quality(options)
    )
    report.write()


def picture_sets(count: int, seed: int) -> dict[str, list[Path]]:
    """Real pictures where there are some, and planted views written beside the cache."""
    sets: dict[str, list[Path]] = {}
    root = data_root()
    for name, pattern in {
        "oxford1k (longer side 576)": "oxford1k/images/*.jpg",
        "corel1k (384 x 256)": "corel1k/images/*.jpg",
        "caltech101 (about 300 x 250)": "caltech101/*/*.jpg",
    }.items():
        paths = sorted(root.glob(pattern)) if root else []
        if paths:
            chosen = np.random.default_rng(seed).choice(len(paths), count, replace=False)
            sets[name] = [paths[i] for i in sorted(chosen)]
    if not sets:
        folder = harness.cache_dir() / "planted"
        folder.mkdir(exist_ok=True)
        paths = []
        for view in planted_views(n_views=max(2, count // 23)):
            path = folder / f"{view.name}.jpg"
            cv2.imwrite(str(path), view.pixels[:, :, ::-1])
            paths.append(path)
        sets["planted views (no development data here)"] = paths[:count]
    return sets


def measure(paths: list[Path]) -> list[dict[str, object]]:
    rows = [row("decode", lambda p: decode(p).pixels, lambda p: _rgb(p), paths)]
    rows.append(
        row(
            "decode to 256",
            lambda p: decode(p, max_side=256).pixels,
            lambda p: cv2.resize(_rgb(p), (256, 256), interpolation=cv2.INTER_AREA),
            paths,
        )
    )
    pictures = [decode(path).pixels for path in paths]
    upright = SIFT(upright=True)
    for name, ours, plain in (
        ("RootSIFT, 2000 strongest", lambda p: SIFT().extract(p).descriptors, plain_sift),
        ("RootSIFT, upright", lambda p: upright.extract(p).descriptors, None),
        (
            "dense RootSIFT, 4 sizes, step 4",
            lambda p: DenseSIFT().extract(p).descriptors,
            plain_dense,
        ),
        ("colour moments 225-D", colour_moments, plain_moments),
        ("wavelet texture 128-D", wavelet_texture, plain_texture),
        ("edge histogram 75-D", edge_histogram, plain_edges),
        ("holistic 428-D", Holistic().extract, None),
    ):
        rows.append(row(name, ours, plain, pictures))
    return rows


def quality(options: Namespace) -> list[dict[str, object]]:
    """mAP of every block and of the whole, so that a faster recipe cannot be a worse one."""
    rows: list[dict[str, object]] = []
    for name, (pictures, labels) in labelled_pictures(options.full).items():
        whole = np.stack([Holistic().extract(p) for p in pictures])
        moments = np.stack([colour_moments(p) for p in pictures])
        result: dict[str, object] = {"data": name, "pictures": len(labels)}
        blocks: dict[str, Pixels] = {
            "raw moments": moments,
            "colour": whole[:, :225],
            "texture": whole[:, 225:353],
            "edges": whole[:, 353:],
            "holistic": whole,
        }
        for block, vectors in blocks.items():
            result[block] = mean_average_precision_by_cosine(vectors, labels)
        rows.append(result)
    return rows


def labelled_pictures(full: bool) -> dict[str, tuple[list[Pixels], list[Any]]]:
    views = list(planted_views(n_views=16))
    sets: dict[str, tuple[list[Pixels], list[Any]]] = {
        "planted views": ([view.pixels for view in views], [view.scene for view in views])
    }
    root = data_root()
    for name, reader in {"corel1k": read_corel1k, "caltech101": read_folders}.items():
        if root is None or not (root / name).is_dir():
            continue
        data = reader(root / name)
        each = 1 if full or name == "corel1k" else 3
        chosen = range(0, len(data), each)
        sets[name] = (
            [decode(data.paths[i]).pixels for i in chosen],
            [int(data.labels[i]) for i in chosen],
        )
    return sets


def mean_average_precision_by_cosine(vectors: Pixels, labels: list[Any]) -> float:
    names = [str(i) for i in range(len(labels))]
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.maximum(norms, 1e-12)
    order = np.argsort(-(unit @ unit.T), axis=1, kind="stable")

    def ranked(query: RetrievalQuery) -> list[str]:
        return [names[i] for i in order[int(query.query)]]

    return evaluate(leave_one_out(dict(zip(names, labels, strict=True))), ranked).mean


def row(
    name: str,
    ours: Callable[[Any], Any],
    plain: Callable[[Any], Any] | None,
    inputs: list[Any],
) -> dict[str, object]:
    mine = harness.cpu_times(ours, inputs)
    result: dict[str, object] = {
        "feature": name,
        "ms": 1000 * mine.median,
        "p99 ms": 1000 * mine.p99,
        "plain OpenCV ms": "",
        "ratio": "",
        "agreement": "",
    }
    if plain is not None:
        other = harness.cpu_times(plain, inputs)
        result["plain OpenCV ms"] = 1000 * other.median
        result["ratio"] = other.median / mine.median
        pairs = [(ours(item), plain(item)) for item in inputs[:10]]
        if name.startswith("RootSIFT"):
            pairs = [(a, matched(a, b)) for a, b in pairs]
        cosines = [cosine(a, b) for a, b in pairs if np.shape(a) == np.shape(b)]
        result["agreement"] = float(np.median(cosines)) if cosines else "other shape"
    return result


def matched(a: Any, b: Any) -> Any:
    """The rows of b in the order of a: keypoints that are equally strong change places."""
    return b[(a @ b.T).argmax(axis=1)]


def cosine(a: Any, b: Any) -> float:
    """Cosine of two results; of row-wise results the median over rows."""
    a, b = (np.asarray(x, np.float64) for x in (a, b))
    if a.ndim == 2 and len(a):
        norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
        return float(np.median((a * b).sum(axis=1) / np.maximum(norms, 1e-12)))
    return float((a * b).sum() / max(np.linalg.norm(a) * np.linalg.norm(b), 1e-12))


def _rgb(path: Path) -> Pixels:
    return np.asarray(cv2.cvtColor(np.asarray(cv2.imread(str(path))), cv2.COLOR_BGR2RGB))


def _root(descriptors: Pixels) -> Pixels:
    mass = np.maximum(descriptors.sum(axis=1, keepdims=True), 1e-12)
    return np.asarray(np.sqrt(descriptors / mass))


def plain_sift(pixels: Pixels) -> Pixels:
    detector = cv2.SIFT.create(nfeatures=2000, enable_precise_upscale=True)
    found, descriptors = detector.detectAndCompute(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY), None)
    order = sorted(range(len(found)), key=lambda i: -found[i].response)[:2000]
    return _root(descriptors[order])


def plain_dense(pixels: Pixels) -> Pixels:
    """OpenCV's descriptor at one keypoint a grid point (a bin of side b is a keypoint of 2b/3)."""
    image = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    height, width = image.shape
    keypoints = []
    for patch in (16, 24, 32, 40):
        cell = patch // 4
        for y in _grid(height, patch):
            keypoints += [
                cv2.KeyPoint(float(x), float(y), cell / 1.5, 0.0, 1.0, 0)
                for x in _grid(width, patch)
            ]
    return _root(np.asarray(cv2.SIFT.create().compute(image, keypoints)[1]))


def _grid(length: int, patch: int) -> list[float]:
    first = (length - patch) % 4 // 2 + (patch - 1) / 2
    return [first + 4 * i for i in range((length - patch) // 4 + 1)]


def plain_moments(pixels: Pixels) -> Pixels:
    height, width = pixels.shape[:2]
    scale = min(1.0, 512 / max(height, width))
    size = (round(width * scale), round(height * scale))
    pixels = np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA))
    image = cv2.cvtColor(pixels.astype(np.float32) / 255, cv2.COLOR_RGB2LAB)
    height, width = image.shape[:2]
    out = []
    for row_ in range(5):
        for column in range(5):
            block = image[
                row_ * height // 5 : (row_ + 1) * height // 5,
                column * width // 5 : (column + 1) * width // 5,
            ]
            mean, deviation = (np.asarray(v).ravel() for v in cv2.meanStdDev(block))
            skewness = np.cbrt(((block - mean) ** 3).mean(axis=(0, 1)))
            out.append(np.stack([mean, deviation, skewness], axis=1).ravel())
    return np.concatenate(out)


def plain_texture(pixels: Pixels) -> Pixels:
    image = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    height, width = image.shape
    scale = 256 / max(height, width)
    size = (8 * round(width * scale / 8), 8 * round(height * scale / 8))
    image = cv2.resize(image, size, interpolation=cv2.INTER_AREA).astype(np.float32) / 255
    level1 = _plain_haar(image)
    level2 = [band for parent in level1[:3] for band in _plain_haar(parent)]
    level3 = [
        band
        for group in range(3)
        for parent in level2[4 * group : 4 * group + 3]
        for band in _plain_haar(parent)
    ]
    bands = level1 + level2[:4] + level3[:4] + level1 + level2 + level3
    out = []
    for band in bands:
        mean, deviation = cv2.meanStdDev(np.abs(band))
        out += [float(mean[0, 0]), float(deviation[0, 0])]
    return np.array(out)


def _plain_haar(image: Pixels) -> list[Pixels]:
    low, high = np.array([0.5**0.5, 0.5**0.5]), np.array([0.5**0.5, -(0.5**0.5)])
    bands = []
    for along_x in (low, high):
        for along_y in (low, high):
            full = cv2.sepFilter2D(image, -1, along_x, along_y, anchor=(0, 0))
            bands.append(np.asarray(full)[::2, ::2])
    return bands


def plain_edges(pixels: Pixels) -> Pixels:
    image = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    scale = 256 / max(image.shape)
    if scale < 1:
        size = (round(image.shape[1] * scale), round(image.shape[0] * scale))
        image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    image = cv2.GaussianBlur(image.astype(np.float32), (0, 0), 1.0)
    dx = np.asarray(cv2.Sobel(image, cv2.CV_32F, 1, 0)) / 8
    dy = -np.asarray(cv2.Sobel(image, cv2.CV_32F, 0, 1)) / 8
    strength = np.hypot(dx, dy)
    angle = np.degrees(np.arctan2(dy, dx)) % 360
    counts = [
        float(((angle >= 5 * i) & (angle < 5 * i + 5) & (strength > 3.75)).sum()) for i in range(72)
    ]
    edges = max(sum(counts), 1.0)
    return np.array(
        [c / edges for c in counts]
        + [float((strength <= 3.75).mean()), strength.mean() / 32, strength.std() / 32]
    )
