"""Numbers that the packaged sentence model must give, computed once by a plain forward pass in
float64 (the one of the tests), which shares no code with the graph."""

from __future__ import annotations

TEXT = "a photograph of snowy mountains above a lake"
DIGEST = "a2d941dc62c43092f9cd704fa680fee20c214a1be2100710ba1e7e02380127ca"
WITHIN = 1e-3
"""Rounding differs between processors by some 1e-6; a wrong weight or order by hundredths."""
NUMBERS = {
    0: -0.106225,
    64: 0.123305,
    73: -0.153031,
    94: -0.110505,
    128: 0.083163,
    132: 0.131828,
    192: 0.001096,
    256: 0.074510,
    266: 0.119842,
    307: 0.113266,
    320: 0.052745,
    361: 0.109614,
    378: -0.118972,
}
"""Some of the 384 numbers: the largest, and one in 64."""
