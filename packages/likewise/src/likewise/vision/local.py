"""Local features: SIFT and RootSIFT at detected keypoints, and on a dense grid.

:class:`SIFT` and :class:`DenseSIFT` hold parameters and have one method, ``extract``.  Descriptors
are 128 non-negative numbers of unit l2 norm: 4 x 4 spatial bins (rows first), 8 orientations each,
counter-clockwise from the positive x axis, so that one vocabulary serves both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidInput
from likewise.lazy_imports import cv2
from likewise.vision import scale_space
from likewise.vision.pixels import Pixels, as_pixels, grey, shrink_pixels
from likewise_methods.validation import number, whole

Floats = NDArray[np.float32]

_CELLS = 4
_ORIENTATIONS = 8
_WIDTH = _CELLS * _CELLS * _ORIENTATIONS
# Lowe's cap on an entry of the unit descriptor, so that no strong edge dominates.
_CAP = 0.2


@dataclass(frozen=True)
class LocalFeatures:
    """Descriptors and their places, in pixels of the array given to ``extract``.

    Attributes
    ----------
    descriptors : float32 array of shape (n, columns)
        Rows of unit length.
    positions : float32 array of shape (n, 2)
        (x, y) centres.
    scales : float32 array of shape (n,)
        Sides of the described squares.
    angles : float32 array of shape (n,)
        Degrees.
    responses : float32 array of shape (n,)
        The detector's strength (for a dense grid the gradient norm).

    See Also
    --------
    SIFT : at detected keypoints.
    DenseSIFT : on a grid.
    """

    descriptors: Floats
    positions: Floats
    scales: Floats
    angles: Floats
    responses: Floats

    def __len__(self) -> int:
        return len(self.descriptors)


def root_sift(descriptors: Floats) -> Floats:
    """Apply RootSIFT: l1-normalise, then take the square root.

    The new rows have unit l2 norm; their inner product is the Hellinger kernel of the old ones.

    Parameters
    ----------
    descriptors : array of shape (n, columns)
        Rows without negative entries; rows of zeros stay zeros.

    Returns
    -------
    float32 array of shape (n, columns)

    See Also
    --------
    SIFT : applies it with ``root``.

    References
    ----------
    Arandjelović and Zisserman, 2012.

    Examples
    --------
    >>> root_sift(np.array([[1.0, 3.0]], np.float32)) ** 2
    array([[0.25, 0.75]], dtype=float32)
    """
    mass = np.abs(descriptors).sum(axis=1, keepdims=True)
    return np.sqrt(descriptors / np.where(mass > 0, mass, 1)).astype(np.float32)


@dataclass(frozen=True)
class SIFT:
    """SIFT at detected keypoints; with ``root`` (the default) RootSIFT.

    A picture without keypoints gives an empty set.  Keypoints, descriptors and parameters are
    OpenCV's, in about half of its time.

    Parameters
    ----------
    max_features : int, default=2000
        The strongest keypoints are kept, strongest first.
    max_side : int or None, default=1024
        The longer side is limited to it before detection.
    root : bool, default=True
        RootSIFT.
    upright : bool, default=False
        Fixes every orientation at zero: better if pictures are never rotated, and a place has one
        descriptor instead of several.
    contrast_threshold : float, default=0.04
        Higher finds less.
    edge_threshold : float, default=10.0
        Higher lets more edges through.

    See Also
    --------
    DenseSIFT : on a grid.
    root_sift : the root by itself.
    likewise_methods.coding.Vocabulary : makes words of descriptors.

    References
    ----------
    RootSIFT: Arandjelović and Zisserman, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> flat = np.full((100, 100), 128, np.uint8)
    >>> SIFT().extract(flat).descriptors.shape
    (0, 128)
    """

    max_features: int = 2000
    max_side: int | None = 1024
    root: bool = True
    upright: bool = False
    contrast_threshold: float = 0.04
    edge_threshold: float = 10.0

    def __post_init__(self) -> None:
        whole(self.max_features, "max_features")
        if self.max_side is not None:
            whole(self.max_side, "max_side")
        number(self.contrast_threshold, "contrast_threshold", least=0)
        number(self.edge_threshold, "edge_threshold", least=0)

    def extract(self, picture: Pixels) -> LocalFeatures:
        """Detect and describe; see the class.

        Parameters
        ----------
        picture : uint8 array of shape (height, width, 3) or (height, width)
            RGB, or grey.

        Returns
        -------
        LocalFeatures
        """
        pixels, scale = shrink_pixels(as_pixels(picture), self.max_side)
        table, raw = scale_space.keypoints(
            grey(pixels),
            self.max_features,
            contrast_threshold=self.contrast_threshold,
            edge_threshold=self.edge_threshold,
            upright=self.upright,
            cap=_CAP,
        )
        descriptors = _unit(raw)
        return LocalFeatures(
            descriptors=root_sift(descriptors) if self.root else descriptors,
            positions=_unshrunk(table[:, :2], scale),
            # Sizes are twice sigma, as OpenCV's; the descriptor covers 4 cells of 3 sigma each.
            scales=(table[:, 2] * (1.5 * _CELLS / scale.max())).astype(np.float32),
            angles=table[:, 3].astype(np.float32),
            responses=table[:, 4].astype(np.float32),
        )


@dataclass(frozen=True)
class DenseSIFT:
    """SIFT on a regular grid, upright, for each of several patch sizes.

    Frames lie wholly inside the picture, margins equal on both sides.  The histogram of every bin
    of every frame is a sampled convolution of eight orientation maps with a triangle, so the cost
    does not grow with the overlap of the frames.

    Parameters
    ----------
    patch_sizes : tuple of int, default=(16, 24, 32, 40)
        Multiples of 4: a patch of side 4b has bins of side b, and the picture is smoothed by b/6
        before gradients are taken.
    step : int, default=4
        Pixels between frames.
    max_side : int or None, default=1024
        The longer side is limited to it.
    root : bool, default=True
        RootSIFT.
    min_contrast : float, default=0.0
        Leaves out patches whose descriptor had no greater norm before normalisation (in grey levels
        per pixel; 0 leaves out only perfectly flat ones).
    max_features : int, optional
        Keeps the strongest, still in grid order.

    See Also
    --------
    SIFT : at detected keypoints.
    likewise_methods.coding.SpatialPyramid : pools codes of them by region.

    References
    ----------
    RootSIFT: Arandjelović and Zisserman, 2012.

    Examples
    --------
    >>> ramp = np.tile(np.arange(64, dtype=np.uint8), (64, 1))
    >>> found = DenseSIFT(patch_sizes=(16,), step=8, root=False).extract(ramp)
    >>> found.descriptors.shape, found.positions[0].tolist()
    ((49, 128), [7.5, 7.5])
    """

    patch_sizes: tuple[int, ...] = (16, 24, 32, 40)
    step: int = 4
    max_side: int | None = 1024
    root: bool = True
    min_contrast: float = 0.0
    max_features: int | None = None

    def __post_init__(self) -> None:
        whole(self.step, "step")
        if self.max_side is not None:
            whole(self.max_side, "max_side")
        if self.max_features is not None:
            whole(self.max_features, "max_features")
        number(self.min_contrast, "min_contrast", least=0)
        if not isinstance(self.patch_sizes, tuple) or not self.patch_sizes:
            raise InvalidInput(f"patch_sizes is {self.patch_sizes!r}; a tuple of sizes expected")
        for size in self.patch_sizes:
            if not isinstance(size, int | np.integer) or size < _CELLS or size % _CELLS:
                raise InvalidInput(f"patch_sizes has {size!r}; a positive multiple of 4 expected")

    def extract(self, picture: Pixels) -> LocalFeatures:
        """Describe the grid; see the class.  Patch sizes come one after the other.

        Parameters
        ----------
        picture : uint8 array of shape (height, width, 3) or (height, width)
            RGB, or grey.

        Returns
        -------
        LocalFeatures
        """
        pixels, scale = shrink_pixels(as_pixels(picture), self.max_side)
        image = grey(pixels).astype(np.float32)
        parts = [self._one_size(image, size // _CELLS, scale) for size in self.patch_sizes]
        columns = [np.concatenate([getattr(part, name) for part in parts]) for name in _FIELDS]
        if self.max_features is not None and len(columns[0]) > self.max_features:
            strongest = np.argsort(-columns[_FIELDS.index("responses")], kind="stable")
            keep = np.sort(strongest[: self.max_features])
            columns = [column[keep] for column in columns]
        return LocalFeatures(*columns)

    def _one_size(self, image: Floats, cell: int, scale: NDArray[np.float64]) -> LocalFeatures:
        height, width = image.shape
        ys, xs = _starts(height, cell, self.step), _starts(width, cell, self.step)
        if len(ys) == 0 or len(xs) == 0:
            return _empty()
        maps = _orientation_maps(_smooth(image, cell))
        raw = _frames(maps, ys, xs, cell)
        norms = np.sqrt(np.einsum("ij,ij->i", raw, raw))
        keep = norms > self.min_contrast
        descriptors = _cap_entries(raw[keep], norms[keep])
        # A frame starts at the centre of its first bin; its own centre is 1.5 bins further.
        grid = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2) + _half(cell) + 1.5 * cell
        n = len(descriptors)
        return LocalFeatures(
            descriptors=root_sift(descriptors) if self.root else descriptors,
            positions=_unshrunk(grid[keep], scale),
            scales=np.full(n, _CELLS * cell / scale.max(), np.float32),
            angles=np.zeros(n, np.float32),
            responses=norms[keep],
        )


_FIELDS = ("descriptors", "positions", "scales", "angles", "responses")


def _unshrunk(places: NDArray[np.float64], scale: NDArray[np.float64]) -> Floats:
    """Return places in the original picture; pixel centres are at integers, the corner at -.5."""
    return np.ascontiguousarray((places + 0.5) / scale - 0.5, np.float32)


def _half(cell: int) -> float:
    """Return .5 for an even bin, whose centre is between two pixels."""
    return 0.0 if cell % 2 else 0.5


def _starts(length: int, cell: int, step: int) -> NDArray[np.int64]:
    """Return the centres of the first bins of frames along a side, less :func:`_half`."""
    room = length - _CELLS * cell
    if room < 0:
        return np.zeros(0, np.int64)
    count = room // step + 1
    margin = (room - (count - 1) * step) // 2
    return margin + (cell - 1) // 2 + step * np.arange(count)


def _smooth(image: Floats, cell: int) -> Floats:
    # The camera is assumed to have blurred by half a pixel.
    variance = (cell / 6) ** 2 - 0.25
    if variance <= 0:
        return image
    return np.asarray(cv2.GaussianBlur(image, (0, 0), variance**0.5), np.float32)


def _orientation_maps(image: Floats) -> Floats:
    """Share gradient magnitudes linearly between the two nearest of eight directions."""
    slope = np.array([[-0.5, 0, 0.5]], np.float32)
    dx = np.asarray(cv2.filter2D(image, -1, slope, borderType=cv2.BORDER_REPLICATE))
    # Upwards is positive, though rows count downwards.
    dy = np.asarray(cv2.filter2D(image, -1, -slope.T, borderType=cv2.BORDER_REPLICATE))
    magnitude, angle = cv2.cartToPolar(dx, dy)
    position = np.asarray(angle) * (_ORIENTATIONS / (2 * np.pi))
    lower = np.floor(position)
    upper_share = position - lower
    lower = lower.astype(np.int8) % _ORIENTATIONS
    upper_part = magnitude * upper_share
    lower_part = magnitude - upper_part
    maps = np.empty((_ORIENTATIONS, *image.shape), np.float32)
    for o in range(_ORIENTATIONS):
        np.multiply(lower_part, lower == o, out=maps[o])
        maps[o] += upper_part * (lower == (o - 1) % _ORIENTATIONS)
    return maps


def _frames(maps: Floats, ys: NDArray[np.int64], xs: NDArray[np.int64], cell: int) -> Floats:
    """Return the windowed histograms of all bins, a row for each frame."""
    # Weights of the pixels around a bin's centre.
    offsets = np.arange(1 - cell, cell + 1 - cell % 2) - _half(cell)
    triangle = (1 - np.abs(offsets) / cell).astype(np.float32) / cell
    anchor = (cell - 1, cell - 1)
    # The window of SIFT (sigma = half a patch = two bins), taken at the centres of the bins.
    window = np.exp(-0.5 * ((np.arange(_CELLS) - 1.5) / 2) ** 2)
    step_y = int(ys[1] - ys[0]) if len(ys) > 1 else 1
    step_x = int(xs[1] - xs[0]) if len(xs) > 1 else 1
    out = np.empty((len(ys), len(xs), _CELLS, _CELLS, _ORIENTATIONS), np.float32)
    for o in range(_ORIENTATIONS):
        pooled = np.asarray(
            cv2.sepFilter2D(
                maps[o], -1, triangle, triangle, anchor=anchor, borderType=cv2.BORDER_CONSTANT
            )
        )
        for i in range(_CELLS):
            rows = slice(ys[0] + i * cell, ys[-1] + i * cell + 1, step_y)
            for j in range(_CELLS):
                columns = slice(xs[0] + j * cell, xs[-1] + j * cell + 1, step_x)
                weight = np.float32(window[i] * window[j])
                np.multiply(pooled[rows, columns], weight, out=out[:, :, i, j, o])
    return out.reshape(-1, _WIDTH)


def _cap_entries(raw: Floats, norms: Floats) -> Floats:
    """Normalise rows, cap entries at 0.2, normalise again."""
    return _unit(np.minimum(raw / norms[:, None], _CAP))


def _unit(rows: Floats) -> Floats:
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return np.asarray(rows / np.where(norms > 0, norms, 1), np.float32)


def _empty() -> LocalFeatures:
    none = np.zeros(0, np.float32)
    return LocalFeatures(
        np.zeros((0, _WIDTH), np.float32), np.zeros((0, 2), np.float32), none, none, none
    )
