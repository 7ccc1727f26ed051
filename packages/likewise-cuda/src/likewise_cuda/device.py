"""The operations on a CUDA device: CuPy's arrays and matrix products, and ``kernels.cu``.

A scan is three half-precision matrix products.  A column is stored as hi + lo / 2^11, two float16
numbers an entry, and so is a residual.  hi hi + (hi lo + lo hi) / 2^11 is then a product to nearly
24 bits on units that are ten times as fast as those for float32.  ``doubt`` bounds its error; what
that leaves undecided is computed again in float64 from the rows.
"""

from __future__ import annotations

import importlib
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise_cuda.host import PIVOTS
from likewise_cuda.operations import Array, Found, Steps
from likewise_cuda.tableau import DEPENDENT
from likewise_methods.siso.solver.dictionary import Dictionary, Floats

_SOURCE = Path(__file__).with_name("kernels.cu")
# As in the kernels.
_HELD = 64
_THREADS = 256
# Unit vectors times this are near the middle of float16's range.
_UNIT = 256.0
_LOW = 2.0**-11
# Constants of cuBLAS.
_N, _T = 0, 1
_FLOAT16, _FLOAT32 = 2, 0
_COMPUTE_FLOAT32, _ANY_ALGORITHM = 68, -1
# Rows copied to the device at a time.
_CHUNK = 1 << 16
# Columns near gamma computed in float64 per query; and bytes for scanned correlations.
_ROOM = 1 << 16
_SCANNED = 8 << 30
_NO_FLOOR = 0xFFFFFFFF


def why_not() -> str:
    """Return why there is no usable device; empty if there is one."""
    try:
        cupy = importlib.import_module("cupy")
    except ImportError:
        return "CuPy is not installed: pip install 'likewise-cuda[device]'"
    try:
        found = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"no CUDA device answers ({error})"
    return "" if found else "there is no CUDA device"


class DeviceOperations:
    """A dictionary in a device's memory: 8 bytes an entry, 12 where its rows are float64."""

    def __init__(self, dictionary: Dictionary) -> None:
        xp = importlib.import_module("cupy")
        self._cublas: Any = importlib.import_module("cupy_backends.cuda.libs.cublas")
        self.xp: Any = xp
        self.n, self.width = dictionary.n, dictionary.width
        exact = any(block.dtype != np.float32 for block in dictionary.blocks)
        self._rows = xp.empty((self.n, self.width), np.float64 if exact else np.float32)
        self._scale = xp.asarray(dictionary.scale)
        # The fast units take rows of a multiple of 16 entries.
        self._padded = -(-self.width // 16) * 16
        self._hi = xp.zeros((self.n, self._padded), np.float16)
        self._lo = xp.zeros((self.n, self._padded), np.float16)
        lost, lost_rough = self._copy_rows(dictionary)
        # Rounding of column and residual to hi + lo, lo lo, and the sum itself: products are
        # exact, a sum of k terms in float32, rounded towards zero, is off by k 2^-23 at most
        # (docs/methods/siso.md, (26)).
        self.doubt = 1.02 * (lost + 2.0**-21 + (self._padded + 64) * 2.0**-23)
        # While gamma falls hi hi is enough: listed columns are computed in float64 anyway.
        self._rough = 1.02 * (lost_rough + 2.0**-11 + (self._padded + 64) * 2.0**-23)
        self._panel: Any = None
        self._C: Any = None

    def _copy_rows(self, dictionary: Dictionary) -> tuple[float, float]:
        """Copy rows to the device; return the largest length that hi + lo, and hi, lost of one."""
        xp, lost, rough = self.xp, 0.0, 0.0
        for first, block in zip(dictionary.starts, dictionary.blocks, strict=False):
            for start in range(0, len(block), _CHUNK):
                tile = np.ascontiguousarray(block[start : start + _CHUNK])
                at = slice(int(first) + start, int(first) + start + len(tile))
                self._rows[at] = xp.asarray(tile)
                columns = self._rows[at].astype(np.float64) * (_UNIT * self._scale[at])[:, None]
                hi, lo = self._split(columns)
                self._hi[at, : self.width], self._lo[at, : self.width] = hi, lo
                columns -= hi
                rough = max(rough, float(xp.sqrt((columns * columns).sum(axis=1)).max()) / _UNIT)
                columns -= lo.astype(np.float64) * _LOW
                lost = max(lost, float(xp.sqrt((columns * columns).sum(axis=1)).max()) / _UNIT)
        return lost, rough

    def _split(self, values: Array) -> tuple[Array, Array]:
        hi = values.astype(np.float16)
        return hi, ((values - hi) / _LOW).astype(np.float16)

    @cached_property
    def _module(self) -> Any:
        """The kernels, compiled for this device and cached by CuPy."""
        row = "double" if self._rows.dtype == np.float64 else "float"
        return self.xp.RawModule(code=_SOURCE.read_text(), options=("-std=c++17", f"-DROW={row}"))

    def _launch(self, name: str, blocks: tuple[int, ...], *arguments: Any, shared: int = 0) -> None:
        kernel = self._module.get_function(name)
        if shared > 48 << 10:
            kernel.max_dynamic_shared_size_bytes = shared
        kernel(blocks, (_THREADS,), arguments, shared_mem=shared)

    def slots(self, expand: int) -> int:
        W, K = min(self.width, self.n) + expand + 32, self.width
        if _shared(W) > self.xp.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]:
            return 0
        # Tableau and columns, twice while they grow; newcomers; lists; correlations scanned.
        each = 8 * (2 * W * (W + K) + expand * (K + 4 * W) + 3 * expand * expand) + 8 * _ROOM
        each += 4 * min(self.n, _SCANNED // 4)
        free = self.xp.cuda.Device().mem_info[0] + self.xp.get_default_memory_pool().free_bytes()
        return int(np.clip(0.8 * free // each, 1, 1024))

    def free_unused(self) -> None:
        self._panel = self._C = None
        self.xp.get_default_memory_pool().free_all_blocks()

    def to(self, array: NDArray[Any]) -> Array:
        return self.xp.asarray(array)

    def back(self, array: Array) -> NDArray[Any]:
        return np.asarray(self.xp.asnumpy(array))

    def scan(
        self, R: Array, floor: Floats, closely: NDArray[np.bool_], members: Array, pool: int,
        nonnegative: bool,
    ) -> Found:  # fmt: skip
        step = max(1, _SCANNED // (4 * self.n))
        parts = [slice(i, i + step) for i in range(0, len(R), step)]
        made = [
            self._scan(R[i], floor[i], closely[i], members[i], pool, nonnegative) for i in parts
        ]
        if len(made) == 1:
            return made[0]
        ids, c = (self.xp.concatenate([one[i] for one in made]) for i in (0, 1))
        return Found(ids, c, np.concatenate([one.bound for one in made]))

    def _scan(
        self, R: Array, floor: Floats, closely: NDArray[np.bool_], members: Array, pool: int,
        nonnegative: bool,
    ) -> Found:  # fmt: skip
        xp, m, n = self.xp, len(R), self.n
        # First scans (for gamma) and close ones (for the certificate) come first.
        fine = closely | (floor <= 0)
        order = np.argsort(~fine, kind="stable")
        there = xp.asarray(order)
        R, members = R[there], members[there]
        floor, closely, fine = floor[order], closely[order], fine[order]
        lengths = xp.sqrt((R * R).sum(axis=1))
        length = self.back(lengths)
        C = self._correlations(R, lengths, int(fine.sum()))
        nonneg = np.int32(nonnegative)
        # In units of |r|, rounded down: a floor may be too low but not too high.
        with np.errstate(divide="ignore", invalid="ignore"):
            low = np.where(length > 0, floor / length, 0.0).astype(np.float32)
        low = np.maximum(np.nextafter(low, np.float32(-1)), np.float32(0))
        floors = xp.asarray(low.view(np.uint32))
        band_from = xp.asarray(np.where(closely, low.view(np.uint32), np.uint32(_NO_FLOOR)))
        self._launch("hide", (m,), C, np.int64(n), members, np.int32(members.shape[1]))
        prefix, cut = xp.zeros(m, np.uint32), xp.zeros(m, np.uint32)
        above = xp.zeros(m, np.int32)
        blocks = int(min(64, -(-n // 1024)))
        for step in (0, 1):
            histogram = xp.zeros((m, 2048), np.int32)
            self._launch(
                "count", (blocks, m), C, np.int64(n), floors, prefix, np.int32(step), nonneg,
                histogram,
            )  # fmt: skip
            self._launch(
                "pick", (-(-m // _THREADS),), histogram, floors, np.int32(pool), np.int32(step),
                prefix, above, cut, np.int32(m),
            )  # fmt: skip
        best, n_best = xp.full((m, pool), -1, np.int64), xp.zeros(m, np.int32)
        room = min(_ROOM, n)
        band, n_band = xp.empty((m, room), np.int32), xp.zeros(m, np.int32)
        self._launch(
            "gather", (blocks, m), C, np.int64(n), cut, band_from, nonneg, np.int32(pool),
            np.int32(room), best, n_best, band, n_band,
        )  # fmt: skip
        # Blocks of threads write in any order; sorting makes results reproducible.
        best = xp.sort(best, axis=1)
        c, most = xp.empty((m, pool)), xp.zeros(m, np.uint64)
        data = (self._rows, self._scale, R, np.int32(self.width))
        self._launch("correlate", (-(-pool // 8), m), *data, best, np.int32(pool), c)
        self._launch(
            "greatest", (64, m), *data, band, n_band, np.int32(room), nonneg, most
        )  # fmt: skip
        listed = self.back(cut).view(np.float32).astype(np.float64)
        exact, counted = self.back(most).view(np.float64), self.back(n_band)
        beyond = (listed + np.where(fine, self.doubt, self._rough)) * length
        known = np.maximum(exact, (low.astype(np.float64) + self.doubt) * length)
        bound = np.where(closely & (counted <= room), known, beyond)
        back = np.argsort(order)
        there = xp.asarray(back)
        return Found(best[there], c[there], bound[back])

    def _correlations(self, R: Array, lengths: Array, fine: int) -> Array:
        """Return A'r / |r| of every column, (queries, n), in float32.

        The first ``fine`` queries are within ``doubt``, the others rough.
        """
        xp, m = self.xp, len(R)
        hi, lo = (xp.zeros((m, self._padded), np.float16) for _ in range(2))
        unit = R * (_UNIT / xp.maximum(lengths, 1e-300))[:, None]
        hi[:, : self.width], lo[:, : self.width] = self._split(unit)
        if self._C is None or self._C.size < m * self.n:
            self._C = None
            self._C = xp.empty(m * self.n, np.float32)
        C = self._C[: m * self.n].reshape(m, self.n)
        whole, part = _UNIT**-2, _UNIT**-2 * _LOW
        for r, a, factor, add, some in (
            (hi, self._hi, whole, 0.0, m), (lo, self._hi, part, 1.0, fine),
            (hi, self._lo, part, 1.0, fine),
        ):  # fmt: skip
            if not some:
                continue
            alpha, beta = np.array(factor, np.float32), np.array(add, np.float32)
            handle = xp.cuda.Device().cublas_handle
            self._cublas.gemmEx(
                handle, _T, _N, self.n, some, self._padded, alpha.ctypes.data,
                a.data.ptr, _FLOAT16, self._padded, r.data.ptr, _FLOAT16, self._padded,
                beta.ctypes.data, C.data.ptr, _FLOAT32, self.n, _COMPUTE_FLOAT32, _ANY_ALGORITHM,
            )  # fmt: skip
        return C

    def columns(self, ids: Array) -> Array:
        ids = self.xp.ascontiguousarray(ids)
        out = self.xp.empty((*ids.shape, self.width))
        self._launch(
            "columns", (ids.size,), self._rows, self._scale, np.int32(self.width), ids, out
        )
        return out

    def product(self, a: Array, b: Array, *, ta: bool = False, tb: bool = False) -> Array:
        # cuBLAS stores by columns: compute (a b)' = b' a'.
        rows, inner = a.shape[1:][::-1] if ta else a.shape[1:]
        columns = b.shape[1] if tb else b.shape[2]
        out = self.xp.empty((len(a), rows, columns))
        one, nothing = np.array(1.0), np.array(0.0)
        assert a.flags.c_contiguous
        assert b.flags.c_contiguous
        self._cublas.dgemmStridedBatched(
            self.xp.cuda.Device().cublas_handle, _T if tb else _N, _T if ta else _N,
            columns, rows, inner, one.ctypes.data,
            b.data.ptr, b.shape[2], b.shape[1] * b.shape[2],
            a.data.ptr, a.shape[2], a.shape[1] * a.shape[2], nothing.ctypes.data,
            out.data.ptr, columns, rows * columns, len(a),
        )  # fmt: skip
        return out

    def place(
        self, T: Array, rows: Array, columns: Array, WN: Array, NN: Array, at: Array, came: Array
    ) -> None:
        (m, E), W, K = at.shape, T.shape[1], np.int32(self.width)
        self._launch(
            "place", (E, m), T, rows, columns, WN, NN, at, came, np.int32(W), np.int32(E), K
        )

    def refresh(self, Y: Array, x: Array, rows: Array, ids: Array, R: Array, c: Array) -> None:
        (m, W), K = x.shape, self.width
        sizes = (np.int32(W), np.int32(K))
        self._launch("residual", (-(-K // _THREADS), m), Y, x, rows, *sizes, R)
        self._launch("products", (-(-W // 8), m), R, rows, ids, *sizes, c)

    def walk(
        self, T: Array, x: Array, c: Array, s: Array, ids: Array, level: Floats, target: Floats,
        entries: NDArray[np.int64], mode: NDArray[np.int64], most: int, nonnegative: bool,
    ) -> Steps:  # fmt: skip
        xp, (m, W) = self.xp, x.shape
        if self._panel is None or self._panel.shape != (m, _HELD, W):
            self._panel = None
            self._panel = xp.empty((m, _HELD, W))
        left = xp.zeros(m)
        state, pivots, entered = (xp.zeros(m, np.int32) for _ in range(3))
        self._launch(
            "walk", (m,), T, self._panel, x, c, s, ids, xp.asarray(level), xp.asarray(target),
            xp.asarray(entries.astype(np.int32)), xp.asarray(mode.astype(np.int32)), np.int32(W),
            np.int32(most), np.int32(nonnegative), np.int32(PIVOTS), np.float64(DEPENDENT), left,
            state, pivots, entered, shared=_shared(W),
        )  # fmt: skip
        whole = (self.back(one).astype(np.int64) for one in (state, pivots, entered))
        return Steps(self.back(left), *whole)


def _shared(W: int) -> int:
    """Return the bytes of shared memory of a block of ``walk``, for working sets of W columns."""
    return 8 * (5 * W + 2 * _HELD + _THREADS) + 4 * _THREADS + 2 * W
