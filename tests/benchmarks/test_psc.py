"""The parts of the PSC benchmark that compute: kernels, draws, and sentences from numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import additive_chi2_kernel

from benchmarks.psc import findings as psc_findings
from benchmarks.psc.data import restored
from benchmarks.psc.kernels import Draw, chi_squared, class_accuracy, draws


def test_the_chi_squared_kernel_is_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((12, 40)) * (rng.random((12, 40)) < 0.3)
    X /= X.sum(axis=1, keepdims=True)
    distances = -additive_chi2_kernel(X)
    expected = np.exp(-distances / distances.mean())
    assert np.abs(chi_squared(sparse.csr_array(X)) - expected).max() < 1e-5


def test_draws_are_apart_and_even() -> None:
    labels = np.repeat(np.arange(5), 12)
    found = draws(labels, 8, 3, 3, 0)
    for draw in found:
        assert not set(draw.train) & set(draw.test)
        assert np.bincount(labels[draw.train]).tolist() == [8] * 5
        assert np.bincount(labels[draw.test]).tolist() == [3] * 5
    assert not np.array_equal(found[0].train, found[1].train)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_accuracy_is_the_mean_of_the_classes() -> None:
    rows = np.vstack([np.eye(3)] * 4)
    labels = np.tile(np.arange(3), 4)
    draw = Draw(np.arange(6), np.arange(6, 12))
    assert class_accuracy(rows, labels, draw, 10.0) == 1.0
    # Of class 2 nothing is recognised where its test pictures look like class 0.
    rows[[8, 11]] = rows[0]
    assert class_accuracy(rows, labels, draw, 10.0) == pytest.approx(2 / 3)


def test_bytes_become_descriptors_again() -> None:
    unit = np.random.default_rng(0).random((5, 128)).astype(np.float32)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    found = np.rint(unit * 512).astype(np.uint8)
    assert np.abs(restored(found, root=False) - unit).max() < 2e-3
    assert np.allclose(np.linalg.norm(restored(found, root=True), axis=1), 1, atol=1e-5)
    assert not restored(np.zeros((1, 128), np.uint8), root=False).any()


def recognised(**accuracy: float) -> list[dict[str, object]]:
    names = {"vq": ("VQ, chi-squared", 4096), "llc": ("LLC", 4096), "fv": ("FV", 256)}
    names |= {"small": ("PSC", 4096), "large": ("PSC", 16384)}
    return [
        {"coder": names[key][0], "words": names[key][1], "accuracy %": value, "spread": 0.5}
        for key, value in accuracy.items()
    ]


def test_findings_follow_the_numbers() -> None:
    good = recognised(vq=60.0, llc=70.0, fv=72.4, small=70.0, large=72.0)
    found = psc_findings.notes({"all": good})
    assert all(text.startswith("**Reproduced**") for text in found)
    bad = recognised(vq=75.0, llc=77.0, fv=80.0, small=73.0, large=72.0)
    found = psc_findings.notes({"all": bad})
    assert all(text.startswith("**Did not reproduce**") for text in found)
    assert "PSC 72.0 %, LLC 77.0 %" in "".join(found)
    close = recognised(vq=60.0, llc=71.8, fv=72.0, small=71.7, large=72.0)
    marks = [text.split("**")[1] for text in psc_findings.notes({"all": close})]
    assert marks == ["Undecided", "Reproduced", "Undecided", "Reproduced"]


def test_findings_about_splits_and_speed() -> None:
    rows = [
        {"split": name, "coder": "PSC", "words": 4096, "accuracy %": value, "spread": 1.5}
        for name, value in zip(
            ("contiguous", "horizontal", "vertical", "structural"), (70, 70, 71, 66), strict=True
        )
    ]
    assert psc_findings.notes({"splits": rows})[0].startswith("**Reproduced**")
    rows[3]["accuracy %"] = 74
    assert psc_findings.notes({"splits": rows})[0].startswith("**Did not")
    rows[3]["accuracy %"] = 70
    assert psc_findings.notes({"splits": rows})[0].startswith("**Undecided")
    few = [
        {
            "coder": name,
            "words": 4096,
            "accuracy %": a,
            "spread": 0.4,
            "encoding, CPU ms a picture": t,
        }
        for name, a, t in (("SC", 77, 200.0), ("PSC", 76, 10.0))
    ]
    found = psc_findings.notes({"few": few})
    assert [text.startswith("**Reproduced**") for text in found] == [True, True]
    assert "20.0 times" in found[1]
    assert psc_findings.notes({}) == []


def retrieved(vlad: float, small: float, large: float, sparse: float, few: float, raw: float):
    plan = (("VLAD", 256, 3000, vlad), ("PSC", 4096, 1500, small), ("PSC", 16384, 1500, large))
    plan += (("SC", 1024, 400, sparse), ("PSC", 1024, 400, few))
    return [
        {
            "data": "oxford1k",
            "coder": coder,
            "words": words,
            "descriptors coded": coded,
            "raw": raw,
            "whitened": value - 0.1,
            "whitened, ridge 1": value,
        }
        for coder, words, coded, value in plan
    ]


def test_findings_about_retrieval() -> None:
    good = retrieved(vlad=0.4, small=0.4, large=0.45, sparse=0.4, few=0.35, raw=0.1)
    found = psc_findings.notes({"retrieval": good})
    assert [text.split("**")[1] for text in found] == ["Reproduced"] * 4
    bad = retrieved(vlad=0.5, small=0.4, large=0.35, sparse=0.2, few=0.35, raw=0.6)
    found = psc_findings.notes({"retrieval": bad})
    assert [text.split("**")[1] for text in found] == ["Did not reproduce"] * 4
    assert "PSC 0.350, VLAD 0.500" in found[0]


def test_what_both_is_made_of_is_said_with_its_numbers() -> None:
    rows = [{"data": "a", "words": 0.3, "words + vlad": 0.4, "words + psc": 0.3}]
    assert "the order measured" in psc_findings.notes({"both": rows})[0]
    rows[0]["words + psc"] = 0.5
    assert "not quite the order measured" in psc_findings.notes({"both": rows})[0]
