"""``holistic``: colour, texture and edges of the whole picture in 428 numbers."""

from __future__ import annotations

from typing import Any

from likewise.spaces.base import Pixels, Space
from likewise.vision.holistic import N_HOLISTIC, Holistic


class HolisticSpace(Space):
    """One vector of colour moments, wavelet energies and edges."""

    feature = "holistic"
    fusion_rank = 3
    model_rank = 1
    tag_rank = 1
    duplicates_rank = 1

    def fixed_width(self) -> int:
        return N_HOLISTIC

    def describe(self, picture: Pixels, shared: dict[str, Any]) -> Any:
        return Holistic().extract(picture)
