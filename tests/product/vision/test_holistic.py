"""The 428-D vector against plain loops, known pictures, and its own documentation."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.errors import InvalidInput
from likewise.vision.holistic import (
    Holistic,
    bin_names,
    colour_moments,
    edge_histogram,
    wavelet_texture,
)


def noise(height: int, width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def reference_moments(pixels: np.ndarray) -> np.ndarray:
    lab = cv2.cvtColor(pixels, cv2.COLOR_RGB2LAB).astype(float)
    lab = (lab - [0, 128, 128]) * [100 / 255, 1, 1]
    height, width = lab.shape[:2]
    out = []
    for row in range(5):
        for column in range(5):
            ys = [y for y in range(height) if y * 5 // height == row]
            xs = [x for x in range(width) if x * 5 // width == column]
            block = lab[np.ix_(ys, xs)].reshape(-1, 3)
            for channel in range(3):
                values = block[:, channel]
                mean = values.mean()
                third = ((values - mean) ** 3).mean()
                out += [mean, values.std(), np.sign(third) * abs(third) ** (1 / 3)]
    return np.array(out)


@settings(max_examples=20, deadline=None)
@given(st.integers(5, 60), st.integers(5, 60), st.integers(0, 1000))
def test_colour_moments_are_the_reference(height: int, width: int, seed: int) -> None:
    pixels = noise(height, width, seed)
    ours, theirs = colour_moments(pixels), reference_moments(pixels)
    # A cube root near zero magnifies rounding, so skewness is compared as the third moment.
    ours[2::3] **= 3
    theirs[2::3] **= 3
    assert np.allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_colour_moments_of_known_colours() -> None:
    white = colour_moments(np.full((50, 50, 3), 255, np.uint8)).reshape(25, 3, 3)
    assert np.allclose(white[:, :, 0], [100, 0, 0], atol=1e-9)
    assert np.allclose(white[:, :, 1:], 0, atol=1e-9)
    red = np.zeros((50, 50, 3), np.uint8)
    red[:10, 40:, 0] = 255  # the block of row 0, column 4
    moments = colour_moments(red).reshape(5, 5, 3, 3)
    # CIE L*a*b* of sRGB red is (53.2, 80.1, 67.2).
    assert np.allclose(moments[0, 4, :, 0], [53.2, 80.1, 67.2], atol=0.6)
    assert np.allclose(np.delete(moments.reshape(25, 3, 3), 4, axis=0)[:, 0, 0], 0, atol=1e-9)


def reference_haar(image: np.ndarray) -> list[np.ndarray]:
    """LL, LH, HL, HH by the orthonormal Haar matrix on either side."""
    height, width = image.shape

    def matrix(n: int) -> tuple[np.ndarray, np.ndarray]:
        low, high = np.zeros((n // 2, n)), np.zeros((n // 2, n))
        for i in range(n // 2):
            low[i, 2 * i : 2 * i + 2] = 1 / np.sqrt(2)
            high[i, 2 * i : 2 * i + 2] = 1 / np.sqrt(2), -1 / np.sqrt(2)
        return low, high

    low_y, high_y = matrix(height)
    low_x, high_x = matrix(width)
    return [y @ image @ x.T for x in (low_x, high_x) for y in (low_y, high_y)]


def test_wavelet_texture_is_the_reference() -> None:
    grey = np.random.default_rng(0).integers(0, 256, (192, 256), dtype=np.uint8)
    image = grey / 255.0
    level1 = reference_haar(image)
    level2 = [reference_haar(band) for band in level1[:3]]
    level3 = [reference_haar(band) for group in level2 for band in group[:3]]
    tree = level1 + [b for group in level2 for b in group] + [b for group in level3 for b in group]
    pyramid = level1 + level2[0] + level3[0]
    assert len(pyramid) == 12
    assert len(tree) == 52
    expected = [f(np.abs(band)) for band in pyramid + tree for f in (np.mean, np.std)]
    assert np.allclose(wavelet_texture(grey), expected, atol=1e-12)


def test_wavelet_texture_tells_directions_apart() -> None:
    stripes = np.tile(np.array([0, 255], np.uint8), (256, 128))
    names = [name for name in bin_names() if name.startswith(("pyramid", "tree"))]
    upright = dict(zip(names, wavelet_texture(stripes), strict=True))
    lying = dict(zip(names, wavelet_texture(np.ascontiguousarray(stripes.T)), strict=True))
    # Columns that alternate are high frequency along x: first letter H.
    assert upright["pyramid HL mean"] == pytest.approx(1.0)
    assert upright["pyramid LH mean"] == pytest.approx(0.0)
    assert lying["pyramid LH mean"] == pytest.approx(1.0)
    assert lying["pyramid HL mean"] == pytest.approx(0.0)


def reference_edges(grey: np.ndarray) -> np.ndarray:
    smooth = cv2.GaussianBlur(grey.astype(np.float32), (0, 0), 1.0).astype(float)
    padded = np.pad(smooth, 1, mode="reflect")
    histogram, n_edges, strengths = np.zeros(72), 0, []
    for y in range(grey.shape[0]):
        for x in range(grey.shape[1]):
            window = padded[y : y + 3, x : x + 3]
            dx = ([1, 2, 1] @ (window[:, 2] - window[:, 0])) / 8
            dy = ([1, 2, 1] @ (window[0] - window[2])) / 8
            strengths.append(np.hypot(dx, dy))
            if strengths[-1] > 3.75:
                n_edges += 1
                histogram[int(np.degrees(np.arctan2(dy, dx)) % 360 // 5) % 72] += 1
    return np.array(
        [
            *histogram / max(n_edges, 1),
            1 - n_edges / grey.size,
            np.mean(strengths) / 32,
            np.std(strengths) / 32,
        ]
    )


def test_edge_histogram_is_the_reference() -> None:
    grey = cv2.GaussianBlur(noise(60, 80)[:, :, 0], (0, 0), 2)
    ours, theirs = edge_histogram(grey), reference_edges(grey)
    # A gradient on the border between two bins may fall either way in float32.
    assert np.abs(ours[:72] - theirs[:72]).sum() < 0.01
    assert np.allclose(ours[72:], theirs[72:], atol=1e-4)


def test_edge_directions() -> None:
    for direction, bin_ in (("right", 0), ("up", 18), ("left", 36), ("down", 54)):
        image = np.zeros((64, 64), np.uint8)
        half = {
            "right": np.s_[:, 32:],
            "left": np.s_[:, :32],
            "up": np.s_[:32],
            "down": np.s_[32:],
        }[direction]
        image[half] = 255
        histogram = edge_histogram(image)
        near = histogram[[(bin_ - 1) % 72, bin_]].sum()
        assert near == pytest.approx(1.0), direction
        assert 0.8 < histogram[72] < 1
    flat = edge_histogram(np.full((64, 64), 7, np.uint8))
    assert flat[72] == 1
    assert flat.sum() == 1


def test_blocks_are_normalised_then_the_whole() -> None:
    vector = Holistic().extract(noise(100, 140))
    for part in (vector[:225], vector[225:353], vector[353:]):
        assert np.linalg.norm(part) == pytest.approx(3**-0.5, abs=1e-6)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)


def test_every_bin_has_its_own_name() -> None:
    names = bin_names()
    assert len(names) == len(set(names)) == 428
    assert names[(3 * 5 + 2) * 9 + 4] == "colour row 3 column 2 a deviation"
    assert names[225 + 24] == "tree LL mean"
    assert names[225 + 24 + 2 * (4 + 12 + 5) + 1] == "tree LL.LH.LH deviation"
    assert names[353 + 18] == "edge 90 to 95 degrees"


@pytest.mark.parametrize("shape", [(1, 1), (1, 100_000), (4, 4), (32, 32), (5, 700), (1200, 900)])
def test_any_shape_gives_finite_numbers(shape: tuple[int, int]) -> None:
    for pixels in (noise(*shape), np.zeros((*shape, 3), np.uint8), noise(*shape)[:, :, 0]):
        vector = Holistic().extract(pixels)
        assert vector.shape == (428,)
        assert vector.dtype == np.float32
        assert np.isfinite(vector).all()


def test_alike_pictures_are_near() -> None:
    rng = np.random.default_rng(0)
    photo = cv2.GaussianBlur(noise(200, 300), (0, 0), 8)
    photo = cv2.normalize(photo, None, 0, 255, cv2.NORM_MINMAX)
    slightly = np.clip(photo + rng.normal(0, 2, photo.shape), 0, 255).astype(np.uint8)
    other = cv2.normalize(
        cv2.GaussianBlur(noise(200, 300, 9), (0, 0), 3), None, 0, 255, cv2.NORM_MINMAX
    )
    a, b, c = (Holistic().extract(p) for p in (photo, slightly, other))
    assert a @ b > 0.97
    assert a @ b > a @ c + 0.1


def test_bad_input() -> None:
    with pytest.raises(InvalidInput, match="uint8 expected"):
        Holistic().extract(np.zeros((4, 4), np.float32))  # type: ignore[arg-type]
