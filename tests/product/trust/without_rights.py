"""Run as a script: give up the right to pass over file modes, then run a command line.

Root may read and write everything, so that a test as root would find no file read-only.
"""

from __future__ import annotations

import ctypes
import os
import sys

_VERSION = 0x20080522
_PASS_OVER = (1, 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def give_up_rights() -> None:
    """From now on modes of files count, also for root."""
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = _Header(_VERSION, 0), (_Sets * 2)()
    if libc.capget(ctypes.byref(header), sets) != 0:
        raise OSError(ctypes.get_errno(), "capget")
    for one in _PASS_OVER:
        sets[0].effective &= ~(1 << one)
        sets[0].permitted &= ~(1 << one)
    if libc.capset(ctypes.byref(header), sets) != 0:
        raise OSError(ctypes.get_errno(), "capset")


if __name__ == "__main__":
    give_up_rights()
    from likewise.cli.app import main

    sys.argv = ["likewise", *sys.argv[1:]]
    main()
