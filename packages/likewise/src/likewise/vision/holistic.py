"""Holistic features: 428 numbers for the colours, the texture and the edges of a whole picture.

The three blocks follow NUS-WIDE (Chua et al. 2009): 225 block-wise colour moments, 128 wavelet
texture energies, an edge direction histogram.  NUS-WIDE's histogram has 73 bins; two strengths of
the edges follow, so that the whole has the 428 entries of the SISO paper.  :func:`bin_names` names
them.

On small pictures some blocks are weak: at 32 x 32 (CIFAR) a block of the 5 x 5 grid has 36 to 49
pixels, so its skewness is mostly noise; the wavelet block works on an enlarged copy, whose finest
level only measures the interpolation; the edge histogram counts some hundred pixels.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from likewise.vision.pixels import Pixels, as_pixels, grey, lab, shrink_pixels

Floats = NDArray[np.float32]

GRID = 5
N_COLOUR, N_TEXTURE, N_EDGE = 225, 128, 75
N_HOLISTIC = N_COLOUR + N_TEXTURE + N_EDGE

_COLOUR_SIDE = 512
_TEXTURE_SIDE = 256
_EDGE_SIDE = 256
_LEVELS = 3
_DIRECTIONS = 72
# Edge strength (grey levels per pixel) from which a pixel counts as an edge.
_EDGE_STRENGTH = 3.75
# Energies span three orders of magnitude; the floor is a quarter of one grey level.
_ENERGY_FLOOR = 1e-3

# The mean and spread of the nine moments of a block, in CIE units (rows L*, a*, b*; columns mean,
# deviation, skewness), rounded from two photo collections.  Without them the mean of L* is nearly
# all of the vector (mAP on Corel-1k, one of the two, .425 without and .499 with).  Skewness counts
# half.
_TYPICAL = np.array([[50, 16, 0], [0, 5, 0], [6, 7, 0]], np.float64)
_SPREAD = np.array([[24, 9, 31], [12, 6, 14], [15, 6, 15]], np.float64)


@dataclass(frozen=True)
class Holistic:
    """The 428-D vector of a picture: each block normalised, then the whole; unit l2 norm.

    See Also
    --------
    bin_names : what each entry is.
    colour_moments : the first block.
    wavelet_texture : the second.
    edge_histogram : the third.

    References
    ----------
    The blocks follow NUS-WIDE (Chua et al., 2009).

    Examples
    --------
    >>> vector = Holistic().extract(np.zeros((32, 32, 3), np.uint8))
    >>> vector.shape, vector.dtype, round(float(np.linalg.norm(vector)), 5)
    ((428,), dtype('float32'), 1.0)
    """

    def extract(self, picture: Pixels) -> Floats:
        """Return colour (225), texture (128) and edges (75) of a picture, in this order.

        Parameters
        ----------
        picture : uint8 array of shape (height, width, 3)
            RGB.

        Returns
        -------
        float32 array of shape (428,)
        """
        pixels = as_pixels(picture)
        moments = colour_moments(pixels).reshape(GRID * GRID, 3, 3)
        blocks = (
            ((moments - _TYPICAL) / _SPREAD).ravel(),
            np.log(wavelet_texture(pixels) + _ENERGY_FLOOR),
            # The square root makes the inner product of two histograms the Hellinger kernel.
            np.sqrt(edge_histogram(pixels)),
        )
        whole = np.concatenate([_unit(block) for block in blocks])
        return _unit(whole).astype(np.float32)


def colour_moments(picture: Pixels) -> NDArray[np.float64]:
    """Return 225 block-wise colour moments in CIE L*a*b*.

    The picture (longer side at most 512) is cut into 5 x 5 blocks, block edges at floor(i n / 5).
    Entry ``((row * 5 + column) * 3 + channel) * 3 + moment``: channels L* (0 to 100), a*, b*;
    moments mean, standard deviation, and the signed cube root of the third central moment, all in
    units of the channel.

    Parameters
    ----------
    picture : uint8 array of shape (height, width, 3)
        RGB.

    Returns
    -------
    float64 array of shape (225,)

    See Also
    --------
    Holistic : all blocks.

    References
    ----------
    Stricker and Orengo, 1995; Chua et al., 2009.
    """
    pixels = lab(_no_smaller(shrink_pixels(as_pixels(picture), _COLOUR_SIDE)[0], GRID))
    height, width = pixels.shape[:2]
    rows = np.arange(height) * GRID // height
    columns = np.arange(width) * GRID // width
    block = ((rows[:, None] * GRID + columns) * 256).ravel()
    # Eight-bit values: exact histograms of all blocks at once, then moments of histograms.
    counts = np.stack(
        [
            np.bincount(block + pixels[:, :, channel].ravel(), minlength=GRID * GRID * 256)
            for channel in range(3)
        ],
        axis=-1,
    ).reshape(GRID * GRID, 256, 3)
    values = np.stack(
        [np.arange(256) * (100 / 255), np.arange(256) - 128.0, np.arange(256) - 128.0], axis=-1
    )
    share = counts / counts.sum(axis=1, keepdims=True)
    mean = (share * values).sum(axis=1)
    centred = values[None] - mean[:, None]
    deviation = np.sqrt((share * centred**2).sum(axis=1))
    skewness = np.cbrt((share * centred**3).sum(axis=1))
    return np.stack([mean, deviation, skewness], axis=-1).ravel()


def wavelet_texture(picture: Pixels) -> NDArray[np.float64]:
    """Return 128 wavelet energies: mean and standard deviation of |coefficient| in 64 sub-bands.

    Luma in [0, 1], longer side brought to 256, sides rounded to multiples of 8; Haar filters.
    The first 24 entries are the pyramid transform: levels 1 to 3, at each the sub-bands LL, LH,
    HL, HH of the LL before (first letter the filter along x).  The other 104 are the tree
    transform, which splits LL, LH and HL again but never HH: 4 sub-bands at level 1, 12 at
    level 2, 36 at level 3, in the order of their parents.  Each sub-band gives mean, then
    deviation.  The pyramid is the all-LL path of the tree, so those 12 sub-bands count twice,
    as in NUS-WIDE.

    Parameters
    ----------
    picture : uint8 array of shape (height, width, 3)
        RGB.

    Returns
    -------
    float64 array of shape (128,)

    See Also
    --------
    Holistic : all blocks.

    References
    ----------
    Chua et al., 2009.
    """
    image = _resized_to_eights(grey(as_pixels(picture))).astype(np.float64) / 255
    parents = image[None]
    pyramid, tree = [], []
    for _ in range(_LEVELS):
        bands = _haar(parents)
        energies = np.abs(bands)
        stats = np.stack([energies.mean(axis=(-2, -1)), energies.std(axis=(-2, -1))], axis=-1)
        # Parent 0 is always the path of LL alone.
        pyramid.append(stats[0])
        tree.append(stats.reshape(-1, 2))
        parents = bands[:, :3].reshape(-1, *bands.shape[-2:])
    return np.concatenate(pyramid + tree).ravel()


def edge_histogram(picture: Pixels) -> NDArray[np.float64]:
    """Return the edge direction histogram, 75 numbers.

    Luma with a longer side of at most 256, smoothed (sigma 1), Sobel gradients.  A pixel whose
    gradient is stronger than 3.75 grey levels per pixel is an edge.  Entries 0 to 71: share of
    the edge pixels whose gradient points to [5 i, 5 i + 5) degrees, counter-clockwise from the
    positive x axis; 72: share of all pixels that are no edge; 73 and 74: mean and standard
    deviation of the strength over all pixels, divided by 32, at which they seldom exceed 1.

    Parameters
    ----------
    picture : uint8 array of shape (height, width, 3)
        RGB.

    Returns
    -------
    float64 array of shape (75,)

    See Also
    --------
    Holistic : all blocks.

    References
    ----------
    Chua et al., 2009.
    """
    image = grey(shrink_pixels(as_pixels(picture), _EDGE_SIDE)[0]).astype(np.float32)
    smooth = cv2.GaussianBlur(image, (0, 0), 1.0)
    # Sobel's weights add up to 8 for a slope of one grey level a pixel.
    dx = np.asarray(cv2.Sobel(smooth, cv2.CV_32F, 1, 0, scale=0.125))
    dy = np.asarray(cv2.Sobel(smooth, cv2.CV_32F, 0, 1, scale=0.125))
    strength, angle = cv2.cartToPolar(dx, -dy, angleInDegrees=True)
    strength, angle = np.asarray(strength), np.asarray(angle)
    edge = strength > _EDGE_STRENGTH
    bins = (angle[edge] * (_DIRECTIONS / 360)).astype(np.int64) % _DIRECTIONS
    counts = np.bincount(bins, minlength=_DIRECTIONS)
    shares = counts / max(len(bins), 1)
    return np.concatenate(
        [shares, [1 - edge.mean(), strength.mean() / 32, strength.std() / 32]]
    ).astype(np.float64)


def bin_names() -> list[str]:
    """Name the 428 entries, in order.

    Returns
    -------
    list of str
        One name an entry.

    See Also
    --------
    Holistic : the vector.

    Examples
    --------
    >>> names = bin_names()
    >>> len(names), names[0], names[225], names[-3]
    (428, 'colour row 0 column 0 L mean', 'pyramid LL mean', 'edge none')
    """
    names = [
        f"colour row {row} column {column} {channel} {moment}"
        for row in range(GRID)
        for column in range(GRID)
        for channel in ("L", "a", "b")
        for moment in ("mean", "deviation", "skewness")
    ]
    bands = ("LL", "LH", "HL", "HH")
    pyramid, tree, parents = [], [], [""]
    for _ in range(_LEVELS):
        level = [[f"{parent}.{band}".lstrip(".") for band in bands] for parent in parents]
        pyramid += [f"pyramid {band}" for band in level[0]]
        tree += [f"tree {band}" for group in level for band in group]
        parents = [band for group in level for band in group[:3]]
    names += [f"{band} {stat}" for band in pyramid + tree for stat in ("mean", "deviation")]
    names += [f"edge {5 * i} to {5 * i + 5} degrees" for i in range(_DIRECTIONS)]
    return [*names, "edge none", "edge strength mean", "edge strength deviation"]


def _haar(images: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return one level of the orthonormal Haar transform of images: (n, 4, h/2, w/2)."""
    left, right = images[..., 0::2], images[..., 1::2]
    low, high = left + right, left - right
    bands = [
        low[..., 0::2, :] + low[..., 1::2, :],
        low[..., 0::2, :] - low[..., 1::2, :],
        high[..., 0::2, :] + high[..., 1::2, :],
        high[..., 0::2, :] - high[..., 1::2, :],
    ]
    return np.stack(bands, axis=1) / 2


def _resized_to_eights(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    height, width = image.shape
    scale = _TEXTURE_SIDE / max(height, width)
    size = (max(8, 8 * round(width * scale / 8)), max(8, 8 * round(height * scale / 8)))
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image, size, interpolation=how), np.uint8)


def _no_smaller(pixels: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """Repeat pixels until no side is below ``side``, so that no block is empty."""
    height, width = pixels.shape[:2]
    if min(height, width) >= side:
        return pixels
    size = (max(width, side), max(height, side))
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_NEAREST), np.uint8)


def _unit(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    norm = np.linalg.norm(vector)
    return vector / norm if norm > 0 else vector
