"""Solve queries on the device; a dictionary is copied there once."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from likewise_cuda.device import DeviceOperations
from likewise_cuda.operations import Operations
from likewise_cuda.rounds import run
from likewise_methods.siso.solver.dictionary import Dictionary, Floats
from likewise_methods.siso.solver.rounds import QueryCode, Settings
from likewise_methods.siso.solver.rounds import run as run_on_processor

# A dictionary on the device lives as long as the one it was copied from.
_copied: WeakKeyDictionary[Dictionary, DeviceOperations] = WeakKeyDictionary()


def on_device(dictionary: Dictionary) -> DeviceOperations:
    """Return the dictionary in the device's memory, copied on the first call."""
    if dictionary not in _copied:
        _copied[dictionary] = DeviceOperations(dictionary)
    return _copied[dictionary]


def solve(
    operations: Operations, dictionary: Dictionary, Y: Floats, gamma: Floats | None,
    settings: Settings, slots: int,
) -> list[QueryCode]:  # fmt: skip
    """Return codes of all rows of Y; the processor solves what the device gives up."""
    found: list[QueryCode | None] = [None] * len(Y)
    while slots:
        try:
            found = run(operations, Y, gamma, settings, slots)
            break
        except MemoryError:
            # The size of working sets is not known in advance; smaller batches are only slower.
            slots //= 2
        operations.free_unused()
    hard = np.flatnonzero([one is None for one in found])
    own = None if gamma is None else gamma[hard]
    rest = iter(run_on_processor(dictionary, Y[hard], own, None, None, settings))
    return [next(rest) if one is None else one for one in found]
