"""Files of a collection on the workers of a Dask cluster: sent once, by a plugin.

The scheduler gives a plugin to every worker, including those that join or restart later; scattered
data would be lost with its worker.
"""

from __future__ import annotations

import secrets
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from distributed.diagnostics.plugin import WorkerPlugin

from likewise_methods.durable_files import write_whole

_folders: dict[str, Path] = {}
_lock = threading.Lock()


class FilesOnWorkers(WorkerPlugin):  # type: ignore[misc]
    """Files in a folder of every worker.

    Its name is unique: another job may send the same files and delete its own.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)
        self.name = f"likewise-{secrets.token_hex(8)}"

    def setup(self, worker: Any) -> None:
        """Write the files on a worker, before it gets a task."""
        folder = Path(worker.local_directory) / self.name
        for name, content in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_whole(folder / name, content)
        with _lock:
            _folders[self.name] = folder
        self.files = {}  # on the disk now

    def teardown(self, worker: Any) -> None:
        """Delete the files on a worker."""
        with _lock:
            folder = _folders.pop(self.name, None)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def read_files(root: Path, names: tuple[str, ...]) -> dict[str, bytes]:
    """Read files of a collection by name, and all files of folders."""
    found: dict[str, bytes] = {}
    for name in names:
        place = root / name
        for path in [place] if place.is_file() else sorted(place.rglob("*")):
            if path.is_file():
                found[path.relative_to(root).as_posix()] = path.read_bytes()
    return found


def worker_folder(name: str) -> Path | None:
    """Return the folder of a plugin's files on this worker; None if they never arrived."""
    with _lock:
        return _folders.get(name)
