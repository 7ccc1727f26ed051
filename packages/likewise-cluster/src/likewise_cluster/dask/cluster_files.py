"""Files of a collection on the workers of a Dask cluster: sent once, by a plugin.

The scheduler keeps a plugin and gives it to every worker, also to one that joins or starts again
later; data that was merely scattered would be gone with the worker that held it.
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
    """Some files, put into a folder of every worker.

    Its name is its own: whoever sent the same files for another job may take theirs back.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)
        self.name = f"likewise-{secrets.token_hex(8)}"

    def setup(self, worker: Any) -> None:
        """On a worker, before it gets any task that needs them."""
        folder = Path(worker.local_directory) / self.name
        for name, content in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_whole(folder / name, content)
        with _lock:
            _folders[self.name] = folder
        self.files = {}  # on the disk now

    def teardown(self, worker: Any) -> None:
        """On a worker, when nobody needs them any more."""
        with _lock:
            folder = _folders.pop(self.name, None)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def read_files(root: Path, names: tuple[str, ...]) -> dict[str, bytes]:
    """The content of files of a collection by name; of a folder all that is in it."""
    found: dict[str, bytes] = {}
    for name in names:
        place = root / name
        for path in [place] if place.is_file() else sorted(place.rglob("*")):
            if path.is_file():
                found[path.relative_to(root).as_posix()] = path.read_bytes()
    return found


def worker_folder(name: str) -> Path | None:
    """On a worker: where the files of a plugin lie; None where they never came."""
    with _lock:
        return _folders.get(name)
