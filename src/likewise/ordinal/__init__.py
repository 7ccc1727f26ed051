"""Maps drawn from what people said: ordinal embedding of comparisons, and which to ask next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.ordinal.embedding import OrdinalEmbedding as OrdinalEmbedding
    from likewise.ordinal.kernel_map import KernelMap as KernelMap
    from likewise.ordinal.losses import CKL as CKL
    from likewise.ordinal.losses import GNMDS as GNMDS
    from likewise.ordinal.losses import STE as STE
    from likewise.ordinal.losses import TSTE as TSTE
    from likewise.ordinal.suggesting import suggest_comparisons as suggest_comparisons
    from likewise.ordinal.validating import cross_validate as cross_validate

__getattr__, __dir__, __all__ = doors(__name__)
