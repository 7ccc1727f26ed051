"""Numbers that EfficientNet-lite0 must give: the outputs of the torch model on a drawn picture.

The picture is drawn by whole-number arithmetic, so that it is the same everywhere.  The numbers
were computed once by the plain torch model (torch 2.13, CPU) with the same weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SIZE = 224
WITHIN = 2e-3
"""Rounding differs between processors by some 1e-5; a wrong stride or weight by tenths."""

CHANNELS = {
    0: 0.0,
    61: 3.294631,
    71: 4.110223,
    113: 3.3771,
    160: 0.101016,
    320: 0.0,
    403: 3.943652,
    480: 0.181611,
    640: 0.0,
    800: 0.010415,
    879: 4.671587,
    897: 4.556707,
    949: 3.172438,
    960: 0.0,
    989: 3.426114,
    1120: 0.0,
}
"""Some of the 1280 pooled activations at 224 pixels: the largest, and one in 160."""
NORM = 17.757943
"""The length of the whole vector of pooled activations."""


def pixels(size: int) -> NDArray[np.float32]:
    """The drawn picture, prepared: ramps, a chequerboard and some noise, (3, size, size)."""
    y, x, channel = np.meshgrid(np.arange(size), np.arange(size), np.arange(3), indexing="ij")
    ramps = x * (channel + 2) + 3 * y
    noise = (x // 16 * y // 8) % 97
    squares = (x // 32 + y // 32) % 2 * 90
    drawn = (ramps + noise + squares) % 256
    return np.ascontiguousarray(((drawn.astype(np.float32) - 127) / 128).transpose(2, 0, 1))
