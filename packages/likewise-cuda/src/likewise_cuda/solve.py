"""The door of this folder: a dictionary brought to the device once, and queries solved there."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from likewise_cuda.device import DeviceOperations
from likewise_cuda.operations import Operations
from likewise_cuda.rounds import run
from likewise_methods.siso.solver.dictionary import Dictionary, Floats
from likewise_methods.siso.solver.rounds import QueryCode, Settings
from likewise_methods.siso.solver.rounds import run as run_on_processor

# Dictionaries on the device live as long as those they were made from.
_brought: WeakKeyDictionary[Dictionary, DeviceOperations] = WeakKeyDictionary()


def on_device(dictionary: Dictionary) -> DeviceOperations:
    """The dictionary in the device's memory; a second call finds it there."""
    if dictionary not in _brought:
        _brought[dictionary] = DeviceOperations(dictionary)
    return _brought[dictionary]


def solve(
    operations: Operations, dictionary: Dictionary, Y: Floats, gamma: Floats | None,
    settings: Settings, slots: int,
) -> list[QueryCode]:  # fmt: skip
    """Codes of all rows of Y; what a device gives up is solved on the processor."""
    found: list[QueryCode | None] = [None] * len(Y)
    while slots:
        try:
            found = run(operations, Y, gamma, settings, slots)
            break
        except MemoryError:
            # How large working sets become is not known before; smaller batches are slower only.
            slots //= 2
        operations.tidy()
    hard = np.flatnonzero([one is None for one in found])
    own = None if gamma is None else gamma[hard]
    rest = iter(run_on_processor(dictionary, Y[hard], own, None, None, settings))
    return [next(rest) if one is None else one for one in found]
