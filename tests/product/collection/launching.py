"""Jobs in processes that can be killed; see :mod:`tests.product.collection.launcher`."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests import trials


class Launcher:
    """The launcher's process; ``more`` is put into its environment."""

    def __init__(self, why: Path, **more: str) -> None:
        self.why = why
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.product.collection.launcher"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **more},
        )
        assert self._line() == "ready"

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def run(self, kill_after: float | None = None, **job: str) -> tuple[int, float]:
        """(wait status, seconds) of a job, killed after some seconds if it still runs.

        Of a job that failed by itself pytest shows the traceback.
        """
        assert self.process.stdin is not None
        self.why.unlink(missing_ok=True)
        job["why"] = str(self.why)
        started = time.monotonic()
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        child = int(self._line())
        if kill_after is not None:
            # The child stays a zombie until the launcher reaps it, so the id is still its own
            # or already reported as ended.
            time.sleep(kill_after)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        status, seconds = int(self._line()), time.monotonic() - started
        if status == signal.SIGKILL:
            trials.count(trials.KILLS)
        if self.why.exists():
            sys.stderr.write(self.why.read_text())
        return status, seconds

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=30)


def moment(rng: random.Random, i: int, whole: float) -> float:
    """When to kill a job that took so long: at first soon, since the next may take far less."""
    return whole / 10 if i == 0 else rng.uniform(0, whole)
