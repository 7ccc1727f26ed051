"""SIFT's kernels against plain ones, OpenCV, and the same pictures on other processors."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from likewise.vision import _sift_kernels as kernels
from likewise.vision import scale_space
from likewise.vision.local import SIFT
from likewise_lab.evaluation.planted import scenes


@pytest.fixture(scope="module")
def image() -> np.ndarray:
    return cv2.cvtColor(dict(scenes())["china"], cv2.COLOR_RGB2GRAY)[:200, :301]


def found(image: np.ndarray, n: int = 2000, *, upright: bool = False) -> scale_space.Keypoints:
    return scale_space.keypoints(
        image, n, contrast_threshold=0.04, edge_threshold=10.0, upright=upright, cap=0.2
    )


@pytest.mark.parametrize("shape", [(11, 40), (40, 11), (30, 31)])
@pytest.mark.parametrize("sigma", [1.2, 3.09])
def test_blur_is_the_plain_sum(shape: tuple[int, int], sigma: float) -> None:
    # The wide kernel reaches over more than the narrow pictures: they are mirrored twice.
    source = np.random.default_rng(0).random(shape, np.float32) * 255
    weights = scale_space._weights(sigma)
    assert len(weights) % 2 == 1
    assert weights[0] + 2 * weights[1:].sum() == pytest.approx(1, abs=1e-6)
    reach = len(weights) - 1
    kernel = np.concatenate([weights[:0:-1], weights])
    padded = np.pad(source.astype(float), reach, mode="reflect")
    plain = sum(
        kernel[i] * kernel[j] * padded[i : i + shape[0], j : j + shape[1]]
        for i in range(2 * reach + 1)
        for j in range(2 * reach + 1)
    )
    out = np.empty_like(source)
    kernels.blur(source, out, weights)
    assert np.abs(out - plain).max() < 1e-3
    assert np.abs(out - cv2.GaussianBlur(source, (0, 0), sigma)).max() < 1e-3


def test_double_puts_means_between() -> None:
    out = np.empty((4, 6), np.float32)
    kernels.double(np.array([[0, 10, 20], [40, 50, 60]], np.uint8), out)
    assert out.tolist() == [
        [0, 5, 10, 15, 20, 20],
        [20, 25, 30, 35, 40, 40],
        [40, 45, 50, 55, 60, 60],
        [40, 45, 50, 55, 60, 60],
    ]


def test_extrema_are_those_of_the_26_neighbours() -> None:
    levels = np.random.default_rng(1).normal(0, 9, (6, 23, 37)).astype(np.float32)
    # Equal neighbours do not take the rank of an extremum away.
    levels[:, 9, 20] = levels[:, 9, 21]
    d = np.diff(levels, axis=0)
    b, expected = kernels.BORDER, []
    for k in range(1, 4):
        for y in range(b, 23 - b):
            for x in range(b, 37 - b):
                around = d[k - 1 : k + 2, y - 1 : y + 2, x - 1 : x + 2]
                v = d[k, y, x]
                if (v > 2 and v == around.max()) or (v < -2 and v == around.min()):
                    expected.append((k, y, x))
    seen = scale_space._extrema(levels, np.float32(2))
    assert sorted(map(tuple, seen.tolist())) == sorted(expected)
    assert len(expected) > 20


def test_more_extrema_than_room(image: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = found(image)
    monkeypatch.setattr(scale_space, "_N_EXTREMA", 3)
    again = found(image)
    assert (again.table == usual.table).all()
    assert (again.descriptors == usual.descriptors).all()


def test_room_of_another_picture_leaves_no_trace(image: np.ndarray) -> None:
    scale_space._spare.clear()
    alone = found(image[:90, :120])
    found(255 - image)
    after = found(image[:90, :120])
    assert len(scale_space._spare) == 1
    assert (after.descriptors == alone.descriptors).all()
    assert (after.table == alone.table).all()


@pytest.mark.parametrize("upright", [False, True])
def test_keypoints_and_descriptors_are_opencvs(image: np.ndarray, upright: bool) -> None:
    detector = cv2.SIFT_create(enable_precise_upscale=True)
    keypoints = list(detector.detect(image, None))
    if upright:
        distinct = {(*k.pt, k.size): k for k in keypoints}
        keypoints = list(distinct.values())
        for keypoint in keypoints:
            keypoint.angle = 0.0
    theirs, descriptors = detector.compute(image, keypoints)
    ours = found(image, 10**6, upright=upright)
    assert len(ours.table) == pytest.approx(len(theirs), rel=0.005)
    table = np.array([(*k.pt, k.size, k.angle % 360, k.response) for k in theirs])
    # Pixels, a tenth of a pixel of size, degrees, and thousandths of a grey level's range.
    tolerance = np.array([0.01, 0.01, 0.01, 0.2, 1e-5])
    gap = np.abs(ours.table[:, None] % [1e9, 1e9, 1e9, 360, 1e9] - table[None])
    gap[:, :, 3] = np.minimum(gap[:, :, 3], 360 - gap[:, :, 3])
    same = (gap < tolerance).all(axis=2)
    matched = same.any(axis=1)
    assert matched.mean() > 0.99
    other = descriptors[same.argmax(axis=1)]
    entries = ours.descriptors == other
    assert entries[matched].mean() > 0.98
    assert np.abs(ours.descriptors - other)[matched].mean() < 0.05


_PRINT_BITS = """
import hashlib, sys
import numpy as np
from likewise.vision.local import SIFT
found = SIFT().extract(np.load(sys.argv[1]))
print(hashlib.sha256(found.descriptors.tobytes() + found.positions.tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_the_same_bits_without_wide_vectors(image: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "image.npy", image[:120, :160])
    here = SIFT().extract(image[:120, :160])
    bits = hashlib.sha256(here.descriptors.tobytes() + here.positions.tobytes()).hexdigest()
    other = {"NUMBA_CPU_NAME": "generic", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", _PRINT_BITS, str(tmp_path / "image.npy")],
        env={**os.environ, **other},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == bits
