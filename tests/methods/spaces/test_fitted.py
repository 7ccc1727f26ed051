"""FittedSpace: its formulas (1) to (8) against plain numpy, bursts, few rows, files, bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from likewise_methods.errors import InvalidInput
from likewise_methods.neighbours.container import DamagedFile, open_arrays, save_arrays
from likewise_methods.spaces import fitted
from likewise_methods.spaces.fitted import FittedSpace

_WORDING = "refused with InvalidInput, a ValueError, in other words than scikit-learn's"
DEVIATIONS = {
    "check_n_features_in_after_fitting": _WORDING,
    "check_dtype_object": "activations are numbers; arrays of objects are refused",
    "check_estimators_empty_data_messages": _WORDING,
    "check_transformer_preserve_dtypes": "rows are float32, what indexes store",
}
# float32 rows of unit length: one rounding, and the float64 sums before it.
ROUNDING = 1e-6


def drawn(
    n: int = 360, width: int = 60, classes: int = 6, seed: int = 0, clear: float = 3.0
) -> tuple[Any, Any]:
    """Activations of classes: numbers >= 0, a third of them 0, classes by few of the columns."""
    rng = np.random.default_rng(seed)
    centres = rng.random((classes, width)) * (rng.random((classes, width)) < 0.3) * clear
    labels = np.arange(n) % classes
    loud = rng.gamma(2.0, 0.4, (n, width)) * (rng.random((n, width)) < 0.7)
    return (centres[labels] + loud).astype(np.float32), labels


def reference(X: Any, components: int, k: int = 10, t: float = 1.0) -> Any:
    """(1) to (7) with loops and dense matrices; None of the rows may be a copy."""
    a = X.astype(float)
    r = np.sqrt(a) if (a >= 0).all() else a
    r = r / np.linalg.norm(r, axis=1, keepdims=True)
    centred = r - r.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    p = centred @ directions[: min(components, len(X) - 1)].T
    p = p / np.linalg.norm(p, axis=1, keepdims=True)
    n, K = p.shape
    distance = ((p[:, None] - p[None]) ** 2).sum(axis=2)
    np.fill_diagonal(distance, np.inf)
    near = [set(np.argsort(row)[: min(k, -(-n // 30))].tolist()) for row in distance]
    pairs = [(i, j) for i in range(n) for j in range(i) if j in near[i] and i in near[j]]
    C = np.zeros((K, K))
    for i, j in pairs:
        C += np.outer(p[i] - p[j], p[i] - p[j]) / 2
    m, m_0 = len(pairs), K * k / 2
    C = (C + m_0 * np.trace(C) / m / K * np.eye(K)) / (m + m_0)
    T = np.cov(p.T, bias=True)
    ridge = 1e-6 * np.trace(T) / K * np.eye(K)
    values, vectors = np.linalg.eigh(np.linalg.inv(C + ridge) - t * np.linalg.inv(T + ridge))
    values = np.maximum(values, 1e-3 * values.max())
    z = p @ vectors * np.sqrt(values)
    return z / np.linalg.norm(z, axis=1, keepdims=True), m


def mean_average_precision(Z: Any, labels: Any) -> float:
    scores = Z @ Z.T
    np.fill_diagonal(scores, -np.inf)
    right = labels[np.argsort(-scores, axis=1)[:, :-1]] == labels[:, None]
    precision = np.cumsum(right, axis=1) / np.arange(1, right.shape[1] + 1)
    return float(((precision * right).sum(axis=1) / right.sum(axis=1)).mean())


@pytest.mark.parametrize("n", [40, 130, 360])
@pytest.mark.parametrize("t", [0.0, 1.0])
@pytest.mark.parametrize("signed", [False, True])
def test_the_formulas(n: int, t: float, signed: bool) -> None:
    X, _ = drawn(n)
    if signed:
        X = X - 0.5
    model = FittedSpace(20, t=t)
    Z = model.fit_transform(X)
    expected, m = reference(X, 20, t=t)
    assert model.rooted_ is not signed
    assert (model.n_rows_, model.n_voters_, model.n_pairs_) == (n, n, m)
    # Signs and rotations of columns are free: what is compared is the products of rows.
    np.testing.assert_allclose(Z @ Z.T, expected @ expected.T, atol=1e-4)
    pairs = fitted.mutual_neighbours(_placed(model, X), min(10, -(-n // 30)))
    half = ((Z[pairs[:, 0]] - Z[pairs[:, 1]]) ** 2).mean() / 2
    assert model.scale_ == pytest.approx(half, rel=1e-4)


def _placed(model: FittedSpace, X: Any) -> Any:
    """(3)."""
    R = fitted.prepare(np.asarray(X, np.float32), model.rooted_) - model.mean_
    return fitted.unit(R @ model.directions_)


def test_it_finds_classes_that_the_rows_hide() -> None:
    X, labels = drawn(600, 200, 12, clear=0.8)
    plain = fitted.prepare(X, True)
    model = FittedSpace(32).fit(X)
    ours = mean_average_precision(model.transform(X), labels)
    assert ours > mean_average_precision(_placed(model, X), labels) + 0.02
    assert ours > mean_average_precision(plain, labels) + 0.02


@pytest.mark.parametrize("n", [36, 60, 120])
def test_few_rows_are_no_worse_than_pca(n: int) -> None:
    """Ten neighbours of 36 rows are strangers: (4) and (5) keep them from deciding."""
    ours, plain = [], []
    for seed in range(5):
        X, labels = drawn(n, 200, 12, seed, clear=0.8)
        model = FittedSpace().fit(X)
        ours.append(mean_average_precision(model.transform(X), labels))
        plain.append(mean_average_precision(_placed(model, X), labels))
    assert np.mean(ours) > np.mean(plain) - 0.01


def test_rows_are_of_unit_length_and_new_ones_need_no_fit() -> None:
    X, _ = drawn(400)
    model = FittedSpace(24)
    Z = model.fit_transform(X)
    assert Z.dtype == np.float32
    assert Z.shape == (400, 24)
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1, atol=ROUNDING)
    np.testing.assert_allclose(model.transform(X[7:9]), Z[7:9], atol=ROUNDING)
    new, _ = drawn(50, seed=0)
    before = model.stretch_.copy()
    np.testing.assert_allclose(np.linalg.norm(model.transform(new), axis=1), 1, atol=ROUNDING)
    np.testing.assert_array_equal(model.stretch_, before)
    # Roots of what is negative are none, where fit saw no negative entry.
    assert np.isfinite(model.transform(-X[:3])).all()


def test_transform_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = drawn(100)
    model = FittedSpace(10).fit(X)
    Z = model.transform(X)
    monkeypatch.setattr(fitted, "_BLOCK", 7)
    np.testing.assert_allclose(model.transform(X), Z, atol=ROUNDING)
    assert model.transform(X[:0]).shape == (0, 10)


def test_the_same_bits_again_and_any_order_of_rows() -> None:
    X, _ = drawn(300)
    kept = X.copy()
    model = FittedSpace(16)
    Z = model.fit_transform(X)
    np.testing.assert_array_equal(clone(model).fit_transform(X), Z)
    np.testing.assert_array_equal(X, kept)
    order = np.random.default_rng(1).permutation(len(X))
    again = clone(model).fit(X[order]).transform(X)
    np.testing.assert_allclose(again @ again.T, Z @ Z.T, atol=1e-4)


def test_rows_that_fit_looks_at_are_drawn() -> None:
    X, labels = drawn(600)
    some = FittedSpace(16, max_rows=300)
    Z = some.fit_transform(X)
    assert (some.n_rows_, some.n_voters_) == (600, 300)
    np.testing.assert_array_equal(clone(some).fit_transform(X), Z)
    other = clone(some).set_params(random_state=1).fit_transform(X)
    assert np.abs(other - Z).max() > 1e-3
    whole = mean_average_precision(FittedSpace(16).fit_transform(X), labels)
    assert mean_average_precision(Z, labels) > whole - 0.05


# -- (2): one vote a burst ------------------------------------------------------------------------


def copies_of(X: Any, n_copies: int, seed: int = 0) -> Any:
    """Rows in bursts: each first, then its copies, a few per cent louder or softer by column."""
    rng = np.random.default_rng(seed)
    made = np.repeat(X, n_copies + 1, axis=0)
    jitter = 1 + 0.05 * rng.standard_normal(made.shape)
    jitter[:: n_copies + 1] = 1
    return (made * jitter).astype(np.float32)


def test_a_burst_has_one_vote() -> None:
    X, labels = drawn(240)
    plain = FittedSpace(16).fit(X)
    burst = FittedSpace(16).fit(copies_of(X, 12))
    assert (burst.n_rows_, burst.n_voters_) == (240 * 13, 240)
    # The first of each burst is the row itself: the same space, but for the block's rounding.
    np.testing.assert_allclose(burst.mean_, plain.mean_, atol=1e-12)
    Z = plain.transform(X)
    again = burst.transform(X)
    np.testing.assert_allclose(again @ again.T, Z @ Z.T, atol=1e-4)
    # And copies are still what is nearest to a picture.
    made = burst.transform(copies_of(X, 2))
    scores = made @ made.T
    np.fill_diagonal(scores, -np.inf)
    nearest = np.argsort(-scores, axis=1)[:, :2] // 3
    assert (nearest == np.arange(len(made))[:, None] // 3).mean() > 0.99
    assert mean_average_precision(again, labels) == pytest.approx(
        mean_average_precision(Z, labels), abs=1e-3
    )


def test_votes_are_counted_over_blocks_as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    R = fitted.prepare(copies_of(drawn(50)[0], 4)[np.random.default_rng(0).permutation(250)], True)
    whole = fitted.voters(R)
    assert len(whole) == 50
    monkeypatch.setattr(fitted, "_COPIES_BLOCK", 16)
    np.testing.assert_array_equal(fitted.voters(R), whole)
    # Plainly: each row that no earlier voter is near to.
    s = 2 * R[whole].var(axis=0).sum() * 50 / 49
    taken: list[int] = []
    for i in range(len(R)):
        if all(((R[i] - R[j]) ** 2).sum() > fitted.NEAR * s for j in taken):
            taken.append(i)
    assert taken == whole.tolist()


def test_one_scene_that_fills_the_collection_has_one_vote() -> None:
    """Its rows make the mean difference small; the second look is without those found."""
    X, _ = drawn(100)
    camera = copies_of(X[:1], 900)
    R = fitted.prepare(np.concatenate([X, camera]), True)
    assert len(fitted.voters(R)) <= 102


def test_where_all_is_copies_all_vote() -> None:
    X = copies_of(drawn(10)[0], 19)
    model = FittedSpace(8).fit(X)
    assert model.n_voters_ == 200
    assert np.isfinite(model.transform(X)).all()


# -- (8): renewal --------------------------------------------------------------------------------


def test_when_it_is_outgrown() -> None:
    X, _ = drawn(1500, 200, 12)
    model = FittedSpace(32).fit(X[:1000])
    assert not model.has_outgrown(1000)
    assert not model.has_outgrown(1499)
    assert model.has_outgrown(1500)
    same, other = X[1000:], drawn(500, 200, 12, seed=5)[0][:, ::-1]
    assert model.lost_ == pytest.approx(model.lost(X[:1000]), rel=1e-6)
    assert model.lost_ < model.lost(same) < model.lost(other)
    assert not model.has_outgrown(1100, same)


def test_other_content_is_seen_before_the_collection_has_grown_by_half() -> None:
    rng = np.random.default_rng(0)
    # Rows of 20 directions, then rows of 20 others.
    first, second = (rng.normal(size=(20, 120)) for _ in range(2))
    noise = 0.05 * rng.normal(size=(1200, 120))
    X = noise[:1000] + rng.normal(size=(1000, 20)) @ first
    other = noise[1000:] + rng.normal(size=(200, 20)) @ second
    model = FittedSpace(32).fit(X)
    assert model.lost(other) > fitted.MISSED * model.lost_
    assert model.has_outgrown(1100, other)
    assert not model.has_outgrown(1099, other)  # too few to say
    assert not model.has_outgrown(1100, X[:100])


# -- few, equal, empty, wrong -------------------------------------------------------------------


def test_rows_that_say_little() -> None:
    X, _ = drawn(60, 12)
    cases = {
        "three rows": X[:3],
        "two directions": np.tile(np.eye(2, 12, dtype=np.float32), (30, 1)),
        "identical pairs": np.repeat(X[:20], 2, axis=0),
        "zeros among them": np.concatenate([X, np.zeros((40, 12), np.float32)]),
        "constant columns": np.where(np.arange(12) < 6, 1.0, X),
        "columns of zeros": np.where(np.arange(12) < 6, 0.0, X),
        "two columns": X[:, :2] + 0.1,
        "far from 0": X + 1e4,
        "tiny": X * np.float32(1e-30),
        "huge": X * np.float32(1e30),
    }
    for name, rows in cases.items():
        model = FittedSpace().fit(rows)
        Z = model.transform(rows)
        norms = np.linalg.norm(Z, axis=1)
        assert np.isfinite(Z).all(), name
        # A row at the mean has no direction; every other has.
        assert (np.isclose(norms, 1, atol=ROUNDING) | (norms == 0)).all(), name
        assert np.isfinite(model.stretch_).all(), name
        assert model.scale_ > 0, name


def test_zeros_and_copies_are_placed_alike() -> None:
    X, _ = drawn(60, 12)
    Z = FittedSpace(6).fit(X).transform(np.concatenate([X[:1], X[:1], np.zeros((2, 12))]))
    np.testing.assert_array_equal(Z[0], Z[1])
    np.testing.assert_array_equal(Z[2], Z[3])


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (np.ones((2, 5)), "n_samples = 2 rows.* at least 3 rows"),
        (np.ones((50, 5)), "not all the same"),
        (np.outer(np.arange(1, 9), np.ones(5)), "not all the same"),
        (np.zeros((50, 5)), "not all the same"),
        (np.arange(9.0).reshape(-1, 1), "1 column"),
        (np.where(np.eye(6) > 0, np.nan, 1.0), "NaN"),
        (np.ones(5), "X"),
    ],
)
def test_refused_and_left_as_it_was(X: Any, said: str) -> None:
    good, _ = drawn(60)
    model = FittedSpace(8).fit(good)
    Z = model.transform(good)
    with pytest.raises(InvalidInput, match=said):
        model.fit(X)
    np.testing.assert_array_equal(model.transform(good), Z)


@pytest.mark.parametrize(
    "wrong",
    [{"n_components": 0}, {"n_neighbors": 0}, {"t": -1}, {"max_rows": 2}, {"t": float("nan")}],
)
def test_parameters_that_mean_nothing(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        FittedSpace(**wrong).fit(drawn(50)[0])


def test_rows_of_another_width_and_before_fit() -> None:
    X, _ = drawn(60)
    for ask in ("transform", "lost"):
        with pytest.raises(NotFittedError):
            getattr(FittedSpace(), ask)(X)
        with pytest.raises(InvalidInput, match="59 columns; 60 expected"):
            getattr(FittedSpace().fit(X), ask)(X[:, :59])
    with pytest.raises(NotFittedError):
        FittedSpace().has_outgrown(10)
    with pytest.raises(NotFittedError):
        FittedSpace().save("nowhere")


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_own_checks() -> None:
    results = check_estimator(
        FittedSpace(), on_fail="raise", on_skip=None, expected_failed_checks=DEVIATIONS
    )
    deviating = {result["check_name"] for result in results if result["status"] == "xfail"}
    assert deviating == set(DEVIATIONS)


# -- files ----------------------------------------------------------------------------------------


def test_saved_and_opened(tmp_path: Path) -> None:
    X, _ = drawn(200)
    model = FittedSpace(12, n_neighbors=7, t=0.5, max_rows=150, random_state=3).fit(X)
    model.save(tmp_path / "space")
    again = FittedSpace.open(tmp_path / "space")
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    for name in ("rooted_", "n_rows_", "n_voters_", "n_pairs_", "scale_", "lost_"):
        assert getattr(again, name) == getattr(model, name)
    assert again.n_features_in_ == 60
    assert again.has_outgrown(300)
    assert not again.has_outgrown(299)


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "space"
    FittedSpace(12).fit(drawn(100)[0]).save(path)
    whole = path.read_bytes()
    for damaged in (b"", whole[:-9], whole[: len(whole) // 2], whole[:-1] + bytes([whole[-1] ^ 1])):
        path.write_bytes(damaged)
        with pytest.raises(DamagedFile):
            FittedSpace.open(path)
    path.write_bytes(whole)
    meta, arrays = open_arrays(path, FittedSpace.kind)
    stretch = arrays["stretch"]
    plain = {key: meta[key] for key in (*FittedSpace().get_params(), *fitted._KEPT)}
    for wrong in (stretch[:3], stretch[:, 0]):
        save_arrays(path, FittedSpace.kind, plain, {**arrays, "stretch": wrong})
        with pytest.raises(DamagedFile, match="do not fit together"):
            FittedSpace.open(path)
    save_arrays(path, FittedSpace.kind, {**plain, "scale": "wide"}, dict(arrays))
    with pytest.raises(DamagedFile, match="not a whole fitted space"):
        FittedSpace.open(path)
    del plain["lost"]
    save_arrays(path, FittedSpace.kind, plain, dict(arrays))
    with pytest.raises(DamagedFile, match="lost"):
        FittedSpace.open(path)
