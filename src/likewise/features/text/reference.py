"""Numbers that the packaged sentence model must give, computed once by a plain forward pass in
float64 (the one of the tests), which shares no code with the graph."""

from __future__ import annotations

TEXT = "a photograph of snowy mountains above a lake"
DIGEST = ""
WITHIN = 1e-3
"""Rounding differs between processors by some 1e-6; a wrong weight or order by hundredths."""
NUMBERS: dict[int, float] = {}
