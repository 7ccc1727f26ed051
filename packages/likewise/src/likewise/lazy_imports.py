"""OpenCV, imported when it is first used: most commands never need it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likewise_methods.lazy_imports import LazyModule

if TYPE_CHECKING:
    import cv2 as cv2
else:
    cv2 = LazyModule("cv2")
