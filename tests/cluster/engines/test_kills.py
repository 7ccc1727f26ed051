"""kill -9 of a process that writes: whatever a call acknowledged is there afterwards."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from likewise.engines.protocol import RowKind, Where
from likewise_cluster.engines.qdrant import QdrantRows
from likewise_cluster.engines.row_sync import send_all
from tests.cluster.engines.conftest import Place
from tests.cluster.engines.test_row_sync import parts

pytestmark = pytest.mark.slow

KIND = RowKind(is_sparse=True, width=50)

WRITER = """
import sys
from likewise.engines import Facts, RowKind, open_engine
sys.path.insert(0, sys.argv[2])
from tests.cluster.engines.test_kills import KIND, rows_from
folder = sys.argv[1]
store = open_engine(f"qdrant-edge://{folder}/edge").store("words-1", KIND)
for first in range(0, 100_000, 4):
    store.put(range(first, first + 4), rows_from(first, 4), [Facts(tags=("new",))] * 4)
    if first % 12 == 0:
        store.remove([first + 1])
        store.retag({first + 2: ["other"]})
    print(first, flush=True)
"""


def rows_from(first: int, n: int) -> np.ndarray:
    """Rows that can be told from their ids."""
    made = np.zeros((n, 50))
    for i in range(n):
        made[i, (first + i) % 50] = 1 + first + i
    return made


def killed_after(folder: Path, acknowledged: int) -> int:
    """Run the writer until it acknowledged so many batches, then kill it; gives the last one."""
    root = str(Path(__file__).parents[3])
    command = [sys.executable, "-c", WRITER, str(folder), root]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        last = -1
        for line in child.stdout:
            last = int(line)
            if last >= 4 * acknowledged:
                child.send_signal(signal.SIGKILL)
                break
        # It may have gone on until the signal came: what it said by then counts too.
        for line in child.stdout:
            last = int(line)
        assert child.wait() == -signal.SIGKILL
    return last


def check(store: QdrantRows, last: int) -> None:
    """Everything up to batch ``last`` is there; of what came after it, anything may be."""
    wanted = [i for i in range(last + 4) if i % 12 != 1]
    ids, rows = store.rows(range(last + 4))
    assert ids.tolist() == wanted
    np.testing.assert_array_equal(rows.toarray(), rows_from(0, last + 4)[wanted])
    retagged = [i for i in wanted if i % 12 == 2]
    seen = frozenset(range(last + 4))
    assert store.count(Where(tags=("other",), only=seen)) == len(retagged)
    assert store.count(Where(tags=("new",), only=seen)) == len(wanted) - len(retagged)
    # And it goes on working.
    store.put([999_999], rows_from(7, 1))
    assert 999_999 in store.search(rows_from(7, 1), 1000)[0]


def test_kill_while_writing(tmp_path: Path) -> None:
    place = Place("edge", tmp_path)
    last = killed_after(tmp_path, 40)
    check(place.store(KIND), last)
    place.restart()


SENDER = """
import os, signal, sys
import numpy as np
from likewise.engines import Facts, open_engine
from likewise_cluster.engines.row_sync import send_all
sys.path.insert(0, sys.argv[2])
from tests.cluster.engines.test_kills import KIND, rows_from
from tests.cluster.engines.test_row_sync import parts
def report(n):
    if n >= 100:
        os.kill(os.getpid(), signal.SIGKILL)
store = open_engine(f"qdrant-edge://{sys.argv[1]}/edge").store("words-1", KIND)
send_all(parts(np.arange(300), rows_from(0, 300), [Facts()] * 300, 20), store, report=report)
"""


def test_kill_of_the_sender(tmp_path: Path) -> None:
    from likewise.engines.protocol import Facts

    place = Place("edge", tmp_path)
    root = str(Path(__file__).parents[3])
    done = subprocess.run([sys.executable, "-c", SENDER, str(tmp_path), root], check=False)
    assert done.returncode == -signal.SIGKILL
    store = place.store(KIND)
    assert store.count() == 100
    every = parts(np.arange(300), rows_from(0, 300), [Facts()] * 300, 20)
    shipped = send_all(every, store)
    assert (shipped.sent, shipped.unchanged) == (200, 100)
    assert store.count() == 300
    place.restart()


BEGINNER = """
import os, signal, sys
from likewise_cluster.engines import edge
sys.path.insert(0, sys.argv[2])
from tests.cluster.engines.test_kills import KIND
from likewise.engines import open_engine
change, left = edge.EdgePoints._change, [int(sys.argv[3])]
def counted(self, operation):
    left[0] -= 1
    if left[0] < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    change(self, operation)
edge.EdgePoints._change = counted
open_engine(f"qdrant-edge://{sys.argv[1]}/edge").store("words-1", KIND)
"""


@pytest.mark.parametrize("steps", [0, 3, 5])
def test_kill_while_a_store_is_made(steps: int, tmp_path: Path) -> None:
    place = Place("edge", tmp_path)
    root = str(Path(__file__).parents[3])
    command = [sys.executable, "-c", BEGINNER, str(tmp_path), root, str(steps)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    store = place.store(KIND)
    store.put(range(10), rows_from(0, 10))
    assert store.search(rows_from(3, 1), 1)[0].tolist() == [3]
    place.restart()
