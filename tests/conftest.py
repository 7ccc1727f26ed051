"""What every test stands on: nothing is remembered in the home of whoever runs them."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

from hypothesis import settings

_STATE = tempfile.mkdtemp(prefix="likewise-state-")
atexit.register(shutil.rmtree, _STATE, ignore_errors=True)
os.environ["LIKEWISE_STATE"] = _STATE

# No test depends on the clock: hypothesis would have each example end within a fifth of a second.
settings.register_profile("likewise", deadline=None)
settings.load_profile("likewise")
