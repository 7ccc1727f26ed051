"""The planted views are what the truth says, the same every time, and hard in the right way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from likewise.errors import DatasetError, InvalidInput
from likewise.images.decode import decode
from likewise_lab.evaluation import planted
from likewise_lab.evaluation.planted import KINDS, PlantedView, planted_views, write_planted


@pytest.fixture(scope="module")
def views() -> list[PlantedView]:
    return list(planted_views(n_views=9))


def test_several_hundred_by_default() -> None:
    assert len(planted.scenes()) == 23
    assert len(planted.scenes()) * 16 > 300


def test_names_scenes_and_kinds(views: list[PlantedView]) -> None:
    assert len(views) == 23 * 9
    assert len({view.name for view in views}) == len(views)
    assert [view.kind for view in views[:9]] == ["original", *KINDS]
    assert {view.scene for view in views} == set(range(23))
    for view in views:
        assert view.pixels.dtype == np.uint8
        assert view.pixels.shape[2] == 3
        assert max(view.pixels.shape) <= 640


def test_deterministic_and_independent_of_how_many(views: list[PlantedView]) -> None:
    for again, view in zip(planted_views(n_views=3), views[:3] + views[9:12], strict=False):
        if again.scene > 1:
            break
        assert again.name == view.name
        assert (again.pixels == view.pixels).all()
    other = list(zip(range(2), planted_views(n_views=3, seed=1), strict=False))[1][1]
    assert other.pixels.shape != views[1].pixels.shape or (other.pixels != views[1].pixels).any()


def test_the_homography_is_the_truth(views: list[PlantedView]) -> None:
    """Warping the scene by it gives the view again, and by a little more does not."""
    checked = 0
    for view in views:
        if view.kind not in ("crop", "perspective", "scale") or view.scene % 5:
            continue
        scene = next(v for v in views if v.scene == view.scene)
        height, width = view.pixels.shape[:2]
        inside = (slice(height // 8, -height // 8), slice(width // 8, -width // 8))
        smooth = cv2.GaussianBlur(scene.pixels, (0, 0), 1.5)
        seen = cv2.GaussianBlur(view.pixels, (0, 0), 1.0)[inside].astype(float).ravel()

        def likeness(shift: float, smooth=smooth, seen=seen, view=view, inside=inside) -> float:
            move = np.array([[1, 0, shift], [0, 1, shift], [0, 0, 1.0]])
            size = view.pixels.shape[1::-1]
            warped = cv2.warpPerspective(smooth, move @ view.homography, size)
            return float(np.corrcoef(seen, warped[inside].astype(float).ravel())[0, 1])

        assert likeness(0) > 0.85, view.name
        assert likeness(0) > max(likeness(-3), likeness(3)), view.name
        checked += 1
    assert checked == 15


@pytest.mark.parametrize("kind", ["crop", "perspective", "scale"])
def test_the_homography_is_exact(kind: str) -> None:
    """The centre of a bright spot goes where the homography says, to a few hundredths."""
    ys, xs = np.mgrid[:300, :400]
    for seed in range(5):
        spot = 250 * np.exp(-((xs - 190.0) ** 2 + (ys - 160.0) ** 2) / (2 * 5.0**2))
        scene = np.repeat(np.rint(spot).astype(np.uint8)[..., None], 3, axis=2)
        seen, homography = KINDS[kind](scene, np.random.default_rng(seed))
        x, y, w = homography @ (190.0, 160.0, 1.0)
        mass = seen[:, :, 0].astype(float)
        rows, columns = np.indices(mass.shape)
        centre = (mass * columns).sum() / mass.sum(), (mass * rows).sum() / mass.sum()
        # Perspective bends the spot itself a little; a wrong half pixel would be 0.15 or more.
        limit = 0.12 if kind == "perspective" else 0.04
        assert np.hypot(centre[0] - x / w, centre[1] - y / w) < limit, seed


@pytest.mark.slow
def test_two_processes_make_the_same_pictures() -> None:
    script = (
        "import hashlib; from likewise_lab.evaluation.planted import planted_views\n"
        "d = hashlib.sha256()\n"
        "for view in planted_views(9):\n"
        "    d.update(view.name.encode() + view.pixels.tobytes() + view.homography.tobytes())\n"
        "print(d.hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
            env={**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": threads},
        ).stdout
        for seed, threads in (("1", "1"), ("2", "2"))
    }
    assert len(digests) == 1


def test_written_pictures_and_truth(tmp_path: Path) -> None:
    data = write_planted(tmp_path / "views", n_views=2)
    assert len(data) == 46
    assert len(data.queries) == 46
    assert all(len(query.positives) == 1 for query in data.queries)
    lines = (tmp_path / "views" / "truth.csv").read_text().splitlines()
    assert lines[0] == "picture,scene,kind"
    assert len(lines) == 47
    for path in data.paths.values():
        assert decode(path).info.format == "JPEG"


def test_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(planted._SHIPPED, "no_such_library", ("data", "a.png"))
    with pytest.raises(DatasetError, match=r"no_such_library.*likewise-lab"):
        planted.scenes()


def test_missing_photograph_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(planted._SHIPPED, "sklearn", ("datasets/images", "china.jpg nobody.jpg"))
    with pytest.raises(DatasetError, match=r"does not ship nobody\.jpg"):
        planted.scenes()


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="n_views is 0"):
        list(planted_views(0))
    with pytest.raises(DatasetError, match="holds no files"):
        planted.scenes(tmp_path)
