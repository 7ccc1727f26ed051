"""What every test stands on: nothing is remembered in the home of whoever runs them."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

_STATE = tempfile.mkdtemp(prefix="likewise-state-")
atexit.register(shutil.rmtree, _STATE, ignore_errors=True)
os.environ["LIKEWISE_STATE"] = _STATE
