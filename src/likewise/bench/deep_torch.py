"""The plain torch model's outputs beside ours: a table measured once and kept.

torch is no dependency of anything here, so the comparison cannot run with the benchmark.  It was
made in an environment of its own (torch 2.13, CPU, one thread; the reference implementation of
EfficientNet-lite0 with the same weights) on inputs prepared by Likewise: the drawn picture of
``reference`` and the 23 photographs of the planted views.
"""

from __future__ import annotations

MEASURED = [
    {
        "input": "drawn picture",
        "pixels": 224,
        "pictures": 1,
        "largest difference, map": 2.5e-5,
        "largest difference, pooled": 5.5e-6,
        "1 - cosine of pooled": "below 1e-6",
        "same 128 strongest": "100 %",
        "torch CPU ms": "",
        "Likewise CPU ms": "",
    },
    {
        "input": "photographs",
        "pixels": 224,
        "pictures": 23,
        "largest difference, map": 4.9e-5,
        "largest difference, pooled": 8.3e-6,
        "1 - cosine of pooled": "below 1e-6",
        "same 128 strongest": "100 %",
        "torch CPU ms": 29.9,
        "Likewise CPU ms": 9.4,
    },
    {
        "input": "drawn picture",
        "pixels": 320,
        "pictures": 1,
        "largest difference, map": 2.6e-5,
        "largest difference, pooled": 3.8e-6,
        "1 - cosine of pooled": "below 1e-6",
        "same 128 strongest": "100 %",
        "torch CPU ms": "",
        "Likewise CPU ms": "",
    },
    {
        "input": "photographs",
        "pixels": 320,
        "pictures": 23,
        "largest difference, map": 5.1e-5,
        "largest difference, pooled": 7.7e-6,
        "1 - cosine of pooled": "below 1e-6",
        "same 128 strongest": "100 %",
        "torch CPU ms": 52.1,
        "Likewise CPU ms": 19.1,
    },
]
