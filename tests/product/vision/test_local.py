"""SIFT at keypoints and on a grid: against a plain reference, OpenCV, and planted geometry."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.errors import InvalidInput
from likewise.images.decode import decode
from likewise.vision.local import SIFT, DenseSIFT, LocalFeatures, root_sift
from likewise_lab.evaluation.planted import planted_views, scenes
from tests.product.corpus import noisy, saved


@pytest.fixture(scope="module")
def photo() -> np.ndarray:
    return dict(scenes())["china"]


def reference_descriptor(image: np.ndarray, x0: float, y0: float, cell: int) -> np.ndarray:
    """One dense descriptor pixel by pixel: gradients, trilinear votes, window, 0.2 cap.

    (x0, y0) is the centre of the first of 4 x 4 bins of side ``cell``.
    """
    # Pixel by pixel, in the plainest way there is.
    padded = np.pad(image.astype(float), 1, mode="edge")
    histogram = np.zeros((4, 4, 8))
    height, width = image.shape
    for y in range(height):
        for x in range(width):
            dx = (padded[y + 1, x + 2] - padded[y + 1, x]) / 2
            dy = (padded[y, x + 1] - padded[y + 2, x + 1]) / 2
            turn = (np.arctan2(dy, dx) / (2 * np.pi) * 8) % 8
            for i in range(4):
                for j in range(4):
                    wy = max(0, 1 - abs(y - y0 - i * cell) / cell)
                    wx = max(0, 1 - abs(x - x0 - j * cell) / cell)
                    if wx * wy == 0:
                        continue
                    for o in range(8):
                        away = abs((turn - o + 4) % 8 - 4)
                        histogram[i, j, o] += np.hypot(dx, dy) * wx * wy * max(0, 1 - away)
    for i in range(4):
        for j in range(4):
            histogram[i, j] *= np.exp(-((i - 1.5) ** 2 + (j - 1.5) ** 2) / 8)
    vector = histogram.ravel() / np.linalg.norm(histogram)
    vector = np.minimum(vector, 0.2)
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize(("cell", "n_frames"), [(3, 2 * 3), (2, 3 * 4)])
def test_dense_is_the_reference(cell: int, n_frames: int) -> None:
    # Cells of 2 and 3 pixels are not smoothed, so the reference needs no blur.
    image = np.random.default_rng(0).integers(0, 256, (17, 20), dtype=np.uint8)
    found = DenseSIFT(patch_sizes=(4 * cell,), step=4, root=False).extract(image)
    # With cell 3: room of 5 and 8 pixels, step 4, hence two rows and three columns of frames.
    assert len(found) == n_frames
    for row, (x, y) in zip(found.descriptors, found.positions, strict=True):
        expected = reference_descriptor(image, x - 1.5 * cell, y - 1.5 * cell, cell)
        # OpenCV's arctangent is good to a hundredth of a degree.
        assert np.abs(row - expected).max() < 1e-4


def test_dense_agrees_with_opencv(photo: np.ndarray) -> None:
    """Not equal (OpenCV's window is exact, its octave pre-blurred), but the same descriptor."""
    found = DenseSIFT(patch_sizes=(24,), step=16, root=False).extract(photo)
    keypoints = [cv2.KeyPoint(float(x), float(y), 4.0, 0.0, 1.0, 0) for x, y in found.positions]
    _, theirs = cv2.SIFT_create().compute(cv2.cvtColor(photo, cv2.COLOR_RGB2GRAY), keypoints)
    theirs = theirs / np.linalg.norm(theirs, axis=1, keepdims=True)
    cosines = (theirs * found.descriptors).sum(axis=1)
    assert np.median(cosines) > 0.93
    # Turning the orientations, the rows or the columns around is noticed.
    for wrong in (slice(None, None, -1),):
        shape = found.descriptors.reshape(-1, 4, 4, 8)
        for flipped in (shape[:, wrong], shape[:, :, wrong], shape[:, :, :, wrong]):
            assert np.median((theirs * flipped.reshape(-1, 128)).sum(axis=1)) < 0.85


def test_dense_grid_lies_inside_with_equal_margins() -> None:
    image = noisy_array(61, 83)
    for size, step in ((16, 5), (24, 4), (20, 7)):
        found = DenseSIFT(patch_sizes=(size,), step=step).extract(image)
        x, y = found.positions.T
        assert len(np.unique(x)) == (83 - size) // step + 1
        assert len(np.unique(y)) == (61 - size) // step + 1
        for centre, side in ((x, 83), (y, 61)):
            # Edges of the picture are at -0.5 and side - 0.5.
            before, after = centre.min() - size / 2 + 0.5, side - 0.5 - centre.max() - size / 2
            assert before >= 0
            assert after >= 0
            assert 0 <= after - before <= 1
        assert (found.scales == size).all()


def test_dense_flat_patches_are_left_out() -> None:
    image = np.full((64, 64), 90, np.uint8)
    assert len(DenseSIFT().extract(image)) == 0
    image[20:, :] = 200
    faint = DenseSIFT(min_contrast=0.0).extract(image)
    strong = DenseSIFT(min_contrast=float(np.median(faint.responses))).extract(image)
    assert 0 < len(strong) < len(faint)


def noisy_array(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.mark.parametrize("recipe", [SIFT(), SIFT(upright=True), SIFT(root=False), DenseSIFT()])
def test_descriptors_are_unit_and_aligned(recipe: SIFT | DenseSIFT, photo: np.ndarray) -> None:
    found = recipe.extract(photo)
    assert len(found) > 300
    assert found.descriptors.dtype == np.float32
    assert np.allclose(np.linalg.norm(found.descriptors, axis=1), 1, atol=1e-5)
    assert (found.descriptors >= 0).all()
    for name in ("positions", "scales", "angles", "responses"):
        column = getattr(found, name)
        assert len(column) == len(found)
        assert column.dtype == np.float32
    height, width = photo.shape[:2]
    assert (found.positions >= -0.5).all()
    assert (found.positions <= [width, height]).all()
    again = recipe.extract(photo)
    assert all(
        (a == b).all() for a, b in zip(vars(found).values(), vars(again).values(), strict=True)
    )


def test_sift_is_opencvs(photo: np.ndarray) -> None:
    image = cv2.cvtColor(photo, cv2.COLOR_RGB2GRAY)
    detector = cv2.SIFT_create(enable_precise_upscale=True)
    keypoints, descriptors = detector.detectAndCompute(image, None)
    order = sorted(range(len(keypoints)), key=lambda i: -keypoints[i].response)[:500]
    found = SIFT(max_features=500, root=False).extract(photo)
    strengths = np.array([keypoints[i].response for i in order])
    # One keypoint more or less moves the others by a place.
    assert np.abs(found.responses - strengths).max() < 1e-3
    assert np.median(np.abs(found.responses - strengths)) < 1e-5
    places = np.array([(*keypoints[i].pt, keypoints[i].angle) for i in order])
    matched = 0
    for row, (x, y), angle in zip(found.descriptors, found.positions, found.angles, strict=True):
        near = np.flatnonzero((np.abs(places - (x, y, angle)) < (0.01, 0.01, 0.1)).all(axis=1))
        if len(near):
            matched += 1
            other = descriptors[order[near[0]]]
            # Entries of OpenCV's are whole numbers, 512 the length: now and then one more or less.
            assert np.allclose(row, other / np.linalg.norm(other), atol=2.5 / 512)
    assert matched > 490


def test_root_sift_is_the_hellinger_kernel() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 5, 128)).astype(np.float32)
    pa, pb = a / a.sum(1, keepdims=True), b / b.sum(1, keepdims=True)
    assert np.allclose((root_sift(a) * root_sift(b)).sum(1), np.sqrt(pa * pb).sum(1), atol=1e-5)
    assert (root_sift(np.zeros((2, 128), np.float32)) == 0).all()


def test_the_strongest_are_kept_in_order(photo: np.ndarray) -> None:
    for upright in (False, True):
        everything = SIFT(max_features=10**6, upright=upright).extract(photo)
        few = SIFT(max_features=50, upright=upright).extract(photo)
        assert len(few) == 50
        assert (np.diff(few.responses) <= 0).all()
        assert few.responses[-1] == everything.responses[49]


def test_upright_has_one_descriptor_a_place(photo: np.ndarray) -> None:
    turned, upright = SIFT().extract(photo), SIFT(upright=True).extract(photo)
    places = np.column_stack([upright.positions, upright.scales])
    assert len(np.unique(places, axis=0)) == len(upright)
    assert len(np.unique(np.column_stack([turned.positions, turned.scales]), axis=0)) < len(turned)
    assert (upright.angles == 0).all()


def test_positions_are_in_the_callers_pixels(photo: np.ndarray) -> None:
    """The same places, whether the picture was shrunk inside or before."""
    big = cv2.resize(photo, None, fx=2, fy=2, interpolation=cv2.INTER_CUBIC)
    limit = max(photo.shape)
    inside = SIFT(max_side=limit, max_features=200).extract(big)
    before = SIFT(max_features=200).extract(photo)
    halved = (inside.positions + 0.5) / 2 - 0.5
    nearest = np.linalg.norm(halved[:, None] - before.positions[None], axis=2).min(axis=1)
    assert np.median(nearest) < 0.5
    assert np.median(inside.scales) == pytest.approx(2 * np.median(before.scales), rel=0.2)


def blob(height: int, width: int, x: float, y: float, sigma: float) -> np.ndarray:
    """A bright spot with a known centre."""
    ys, xs = np.mgrid[:height, :width]
    spot = np.exp(-((xs - x) ** 2 + (ys - y) ** 2) / (2 * sigma**2))
    return np.rint(255 * spot).astype(np.uint8)


@pytest.mark.slow
@pytest.mark.parametrize("upright", [False, True])
@pytest.mark.parametrize(
    ("shape", "centre", "max_side"),
    [
        ((200, 240), (100.0, 80.0), None),
        # Shrunk to 1024 x 768: 767.74 was rounded, so x and y have factors of their own.
        ((2999, 4000), (700.0, 2850.0), 1024),
        ((1505, 3000), (2800.0, 1400.0), 256),
    ],
)
def test_positions_are_where_the_thing_is(
    shape: tuple[int, int], centre: tuple[float, float], max_side: int | None, upright: bool
) -> None:
    shrink = 1 if max_side is None else max(shape) / max_side
    image = blob(*shape, *centre, sigma=3 * shrink)
    found = SIFT(max_side=max_side, max_features=1, upright=upright).extract(image)
    assert len(found) == 1
    # A fiftieth of a pixel of the picture it was found in; a quarter or a half would show.
    assert np.abs(found.positions[0] - centre).max() < 0.02 * shrink


def test_dense_keeps_the_strongest_in_grid_order(photo: np.ndarray) -> None:
    everything = DenseSIFT(step=16).extract(photo)
    few = DenseSIFT(step=16, max_features=100).extract(photo)
    assert len(few) == 100
    assert few.responses.min() >= np.sort(everything.responses)[-100]
    places = np.column_stack([everything.scales, everything.positions]).tolist()
    kept = np.column_stack([few.scales, few.positions]).tolist()
    assert kept == [place for place in places if place in kept]


def agreement(a: LocalFeatures, b: LocalFeatures, homography: np.ndarray) -> float:
    """Share of mutual nearest descriptors whose places agree with the truth."""
    similar = a.descriptors @ b.descriptors.T
    forth, back = similar.argmax(1), similar.argmax(0)
    mutual = np.flatnonzero(back[forth] == np.arange(len(a)))
    points = np.c_[a.positions[mutual], np.ones(len(mutual))] @ homography.T
    gap = np.linalg.norm(points[:, :2] / points[:, 2:] - b.positions[forth[mutual]], axis=1)
    return float((gap < 4).mean())


@pytest.mark.slow
def test_matches_follow_planted_geometry() -> None:
    views = [v for v in planted_views(9) if v.name.startswith(("china", "motorcycle"))]
    for view in views:
        if view.kind in ("crop", "perspective", "scale", "light"):
            scene = next(v for v in views if v.scene == view.scene)
            a, b = SIFT().extract(scene.pixels), SIFT().extract(view.pixels)
            assert agreement(a, b, view.homography) > 0.5, view.name


@pytest.mark.parametrize("recipe", [SIFT(), SIFT(upright=True), DenseSIFT()])
@pytest.mark.parametrize("shape", [(1, 1), (1, 500), (500, 1), (3, 3), (16, 16), (31, 200)])
def test_small_and_flat_pictures(recipe: SIFT | DenseSIFT, shape: tuple[int, int]) -> None:
    for image in (np.zeros(shape, np.uint8), noisy_array(*shape)):
        found = recipe.extract(image)
        assert found.descriptors.shape[1] == 128
        assert found.positions.shape == (len(found), 2)
        assert np.isfinite(found.descriptors).all()


def test_pictures_and_grey_arrays_are_taken(photo: np.ndarray) -> None:
    picture = decode(saved(noisy(), "PNG"))
    assert len(SIFT().extract(picture)) == len(SIFT().extract(picture.pixels))
    grey = cv2.cvtColor(photo, cv2.COLOR_RGB2GRAY)
    assert (SIFT().extract(grey).descriptors == SIFT().extract(photo).descriptors).all()


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 9))
def test_any_size_and_step(height: int, width: int, step: int) -> None:
    found = DenseSIFT(patch_sizes=(8, 20), step=step).extract(noisy_array(height, width))
    for size in (8, 20):
        rows = max(0, (height - size) // step + 1) if height >= size else 0
        columns = max(0, (width - size) // step + 1) if width >= size else 0
        assert (found.scales == size).sum() == rows * columns


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SIFT(max_features=0), "max_features is 0"),
        (lambda: SIFT(max_side=0), "max_side is 0"),
        (lambda: DenseSIFT(step=0), "step is 0"),
        (lambda: DenseSIFT(patch_sizes=()), r"patch_sizes is \(\)"),
        (lambda: DenseSIFT(patch_sizes=(10,)), "multiple of 4"),
        (lambda: DenseSIFT(patch_sizes=16), "a tuple of sizes"),  # type: ignore[arg-type]
        (lambda: DenseSIFT(min_contrast=-1.0), "min_contrast is -1.0"),
        (lambda: DenseSIFT(min_contrast=float("nan")), "min_contrast is nan"),
        (lambda: SIFT(max_features=2.5), "max_features is 2.5"),  # type: ignore[arg-type]
        (lambda: SIFT(edge_threshold=float("nan")), "edge_threshold is nan"),
        (lambda: SIFT(contrast_threshold=-1.0), "contrast_threshold is -1.0"),
        (lambda: SIFT().extract(np.zeros((4, 4))), "float64; uint8 expected"),
        (lambda: SIFT().extract(np.zeros((4, 4, 4), np.uint8)), r"shape \(4, 4, 4\)"),
        (lambda: SIFT().extract(np.zeros((0, 4), np.uint8)), "at least one pixel"),
    ],
)
def test_bad_input_is_explained(call, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        call()
