"""The reader of legacy torch files: strides, damage, and pickles that want to run something."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.vision.deep.libraries import DamagedWeights
from likewise.vision.deep.weights import read_tensors, tensors_in
from tests.product.vision.deep_cases import Call, Named, Storage, dumped, legacy, ordered, tensor


def small() -> bytes:
    values = Storage(np.arange(12, dtype=np.float32), "7")
    count = Storage(np.array([5], np.int64), "8")
    tensors = ordered(
        {
            "plain": tensor(values, 0, (3, 4), (4, 1)),
            "turned": tensor(values, 0, (4, 3), (1, 4)),
            "part": tensor(values, 5, (2, 2), (4, 1)),
            "number": tensor(count, 0, (), ()),
        }
    )
    return legacy(tensors, [values, count])


def test_strides_and_offsets_are_honoured() -> None:
    found = tensors_in(small())
    grid = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert np.array_equal(found["plain"], grid)
    assert np.array_equal(found["turned"], grid.T)
    assert np.array_equal(found["part"], grid[1:, 1:3])
    assert found["number"] == 5
    assert found["number"].dtype == np.int64
    assert all(array.flags.c_contiguous for array in found.values())


def test_a_file_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "weights.pth"
    path.write_bytes(small())
    assert set(read_tensors(path)) == {"plain", "turned", "part", "number"}
    with pytest.raises(DamagedWeights, match="cannot be read"):
        read_tensors(tmp_path / "none.pth")


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6))
def test_a_file_cut_anywhere_is_refused(cut: int) -> None:
    whole = small()
    with pytest.raises(DamagedWeights):
        tensors_in(whole[: cut % len(whole)])


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 255))
def test_a_flipped_byte_gives_tensors_or_a_typed_error(place: int, flip: int) -> None:
    content = bytearray(small())
    content[place % len(content)] ^= flip
    try:
        found = tensors_in(bytes(content))
    except DamagedWeights:
        return
    assert all(isinstance(array, np.ndarray) for array in found.values())


class Evil:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> object:
        return os.mkdir, (str(self.mark),)


@pytest.mark.parametrize("protocol", [0, 1, 2, 4, 5])
def test_a_foreign_pickle_is_refused_and_nothing_is_run(tmp_path: Path, protocol: int) -> None:
    mark = tmp_path / "was-run"
    content = pickle.dumps({"weight": Evil(mark)}, protocol)
    with pytest.raises(DamagedWeights):
        tensors_in(content)
    # Behind a sound beginning too, where a trusting reader would be.
    evil = legacy({}, [])
    evil = evil.replace(dumped({}), content, 1)
    with pytest.raises(DamagedWeights):
        tensors_in(evil)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("module", "name"),
    [("os", "system"), ("builtins", "eval"), ("torch", "load"), ("torch", "HalfStorage")],
)
def test_other_names_are_refused_by_name(module: str, name: str) -> None:
    with pytest.raises(DamagedWeights, match=f"names '{module}.{name}'"):
        tensors_in(legacy({"x": Call(Named(module, name), "true")}, []))


def test_known_names_are_called_for_tensors_only() -> None:
    with pytest.raises(DamagedWeights, match="call 'torch FloatStorage'"):
        tensors_in(legacy({"x": Call(Named("torch", "FloatStorage"))}, []))
    with pytest.raises(DamagedWeights):
        tensors_in(legacy({"x": Call(Named("collections", "OrderedDict"), [1])}, []))


@pytest.mark.parametrize(
    ("offset", "shape", "strides"),
    [
        (1, (3, 4), (4, 1)),
        (0, (2, 7), (6, 1)),
        (-1, (1,), (1,)),
        (0, (3,), (-1,)),
        (0, (-1,), (1,)),
        (0, (1000, 1000), (0, 0)),
    ],
)
def test_a_view_outside_its_storage_is_refused(offset: int, shape: tuple, strides: tuple) -> None:
    values = Storage(np.arange(12, dtype=np.float32), "7")
    content = legacy({"x": tensor(values, offset, shape, strides)}, [values])
    with pytest.raises(DamagedWeights, match="tensor x"):
        tensors_in(content)


def test_other_files_are_refused_in_words() -> None:
    values = Storage(np.zeros(2, np.float32), "1")
    sound = ordered({"x": tensor(values, 0, (2,), (1,))})
    for content, says in (
        (b"PK\x03\x04", "zip archive"),
        (legacy(sound, [values], magic=5), "magic number"),
        (legacy(sound, [values], facts={"little_endian": False}), "little-endian"),
        (legacy({"x": 3}, []), "dictionary of tensors"),
        (legacy([1, 2], []), "dictionary of tensors"),
        (legacy(sound, []), "storages are not those"),
        (legacy(sound, [values]) + b"more", "4 bytes more"),
        (b"", "cut short"),
    ):
        with pytest.raises(DamagedWeights, match=says):
            tensors_in(content)


def test_storage_keys_that_are_no_text_are_refused() -> None:
    values = Storage(np.arange(4, dtype=np.float32), 7)  # type: ignore[arg-type]
    content = legacy(ordered({"x": tensor(values, 0, (4,), (1,))}), [values])
    with pytest.raises(DamagedWeights, match="not those of the tensors"):
        tensors_in(content)


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((1,), (2**62,)), ((1, 4), (2**70, 1)), ((0, 2**70), (1, 1)), ((1,) * 70, (1,) * 70)],
)
def test_sides_and_strides_beyond_any_storage_are_refused(
    shape: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    values = Storage(np.arange(4, dtype=np.float32), "7")
    content = legacy(ordered({"x": tensor(values, 0, shape, strides)}), [values])
    with pytest.raises(DamagedWeights, match="tensor x"):
        tensors_in(content)
