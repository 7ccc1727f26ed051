"""How soon a folder can be searched, beside a plain loop around the same network.

``make bench-first-minute``; ``FULL=1`` takes 1,000 pictures of 12 megapixels, 200 of HEIC and of
screens, and adds 100,000.
Both sides are processes of their own, in turn, on all cores, files in the page cache; what each
made is checked against the other.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.first_minute import rival
from benchmarks.first_minute.pictures import folder
from likewise.catalog import changes as change
from likewise.catalog import segments as seg
from likewise.collection.collection import Collection
from likewise.images.decode import ImageInfo
from likewise.spaces import rows as space_rows
from likewise.vision.deep.graph import build
from likewise.vision.deep.network import weights_path
from likewise.vision.deep.recipes import N_DEEP
from likewise.vision.deep.weights import read_tensors

ROUNDS = 3
SETS = {"small": (1_000, 1_000), "large": (200, 1_000), "heic": (15, 200), "screens": (20, 200)}
WHAT = {
    "small": "photographs of 533 pixels",
    "large": "photographs of 12 megapixels",
    "heic": "HEIC of 12 megapixels",
    "screens": "PNG of 3840 x 2160",
}
KNOWN = 50_000
MANY = (5_000, 100_000)
PARTS = ("race", "open", "again", "many")
FIRST_ANSWER = 100
"""Pictures among which the first answer is sought."""


def main() -> None:
    options = harness.arguments_with_parts(__doc__ or "", PARTS)
    parts = options.parts
    # Installed packages come with their bytecode; without it each of four processes compiles ours.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    report = harness.Report(
        "first-minute", "The first minute", "paper size" if options.full else "default size"
    )
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        graph = scratch / "network.onnx"
        graph.write_bytes(build(read_tensors(weights_path())))
        report.parameters = {"rounds": ROUNDS, "workers": os.cpu_count()}
        # Written after each part: what is measured is kept, whatever happens to the rest.
        if "race" in parts:
            sizes = {kind: counts[options.full] for kind, counts in SETS.items()}
            rows = [_race(kind, count, graph, scratch) for kind, count in sizes.items()]
            report.add("Adding pictures, compared with the loop", rows)
            report.write()
        if "open" in parts:
            opened = _open(folder("small", 1_000), scratch)
            report.add("likewise open on 1,000 new photographs", [opened])
            report.write()
        if "again" in parts:
            report.add("Looking again", _again(scratch))
            report.write()
        if "many" in parts:
            report.add("Memory while many come in", _many(MANY[options.full], scratch))
            report.write()


def _race(kind: str, count: int, graph: Path, scratch: Path) -> dict[str, object]:
    """Ours and the loop's, in turn; medians of the rounds."""
    pictures = folder(kind, count)
    for path in pictures.iterdir():
        path.read_bytes()  # both from the page cache
    ours, loops = [], []
    for number in range(ROUNDS):
        # Nothing is deleted in between: ext4 searches long for a place for a new file where many
        # were deleted within the last seconds, which cost us up to 2 ms a picture.
        target, out = scratch / f"{kind}-{number}.lw", scratch / "rows.npy"
        likewise = [sys.executable, "-m", "likewise", "add", str(pictures), "-C", str(target)]
        ours.append(_measured(likewise))
        loop = [sys.executable, "-m", rival.__name__, str(graph), str(pictures), str(out)]
        loops.append(_measured(loop))
    agreement = _agreement(target, out)

    def median(runs: list[dict[str, float]], key: str) -> float:
        return float(np.median([run[key] for run in runs]))

    mine, its = count / median(ours, "wall"), count / median(loops, "wall")
    return {
        "pictures": f"{count:,} {WHAT[kind]}",
        "a second": mine,
        "the loop": its,
        "ratio": mine / its,
        "CPU ms a picture": 1e3 * median(ours, "cpu") / count,
        "the loop's": 1e3 * median(loops, "cpu") / count,
        "CPU ratio": median(loops, "cpu") / median(ours, "cpu"),
        "peak MB": median(ours, "memory") / 1e6,
        "the loop's MB": median(loops, "memory") / 1e6,
        "least cosine of the two rows": agreement,
    }


def _measured(command: list[str]) -> dict[str, float]:
    """Wall and CPU seconds of a process and its children, and the most memory of all together."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    most = {"Pss": 0, "Pss_Anon": 0}
    watch = threading.Thread(target=_watch, args=(process, most), daemon=True)
    watch.start()
    _, said = process.communicate()
    wall = time.perf_counter() - start
    watch.join()
    if process.returncode:
        raise RuntimeError(f"{command} failed:\n{said.decode()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    memory, own = float(most["Pss"]), float(most["Pss_Anon"])
    return {"wall": wall, "cpu": cpu, "memory": memory, "own": own}


def _watch(process: subprocess.Popen[bytes], most: dict[str, int]) -> None:
    while process.poll() is None:
        shares = list(map(_shares, [process.pid, *_children(process.pid)]))
        for what in most:
            most[what] = max(most[what], sum(share.get(what, 0) for share in shares))
        time.sleep(0.2)


def _children(pid: int) -> list[int]:
    try:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [one for child in map(int, found) for one in (child, *_children(child))]


def _shares(pid: int) -> dict[str, int]:
    """Memory of a process, what it shares with others divided among them: all of it (``Pss``), and
    without pages of files, which the system takes back when it wants (``Pss_Anon``)."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return {}
    return {line.split(":")[0]: 1024 * int(line.split()[1]) for line in lines}


def _agreement(collection: Path, out: Path) -> float:
    """The least cosine between a picture's row here and in the loop."""
    loop = np.load(out)
    with Collection.open(collection) as col:
        store = col._store
        names = {row.id: Path(row.path).name for row in store.every_image() if row.path}
        found = {
            names[int(image)]: rows[at]
            for ids, rows in space_rows.raw_rows(store, store.spaces()["deep-dense"])
            for at, image in enumerate(ids)
        }
        mine = np.stack([found[name] for name in sorted(found)])
    mine = mine / np.linalg.norm(mine, axis=1, keepdims=True)
    loop = loop / np.linalg.norm(loop, axis=1, keepdims=True)
    return float(np.einsum("ij,ij->i", mine, loop).min())


def _open(pictures: Path, scratch: Path) -> dict[str, object]:
    """Seconds from the command to the page, to a first answer, and to all pictures."""
    runs = [_opened(pictures, scratch / f"open-{number}.lw") for number in range(ROUNDS)]
    return {
        "page, s": float(np.median([run[0] for run in runs])),
        "first answer, s": float(np.median([run[1] for run in runs])),
        "all searchable, s": float(np.median([run[2] for run in runs])),
    }


def _opened(pictures: Path, target: Path) -> tuple[float, float, float]:
    command = [sys.executable, "-m", "likewise", "open", str(pictures), "-C", str(target)]
    start = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    entrance = ""
    for line in process.stdout:
        if "http://" in line:
            entrance = "http://" + line.split("http://", 1)[1].split()[0]
            break
    threading.Thread(target=process.stdout.read, daemon=True).start()
    base = "/".join(entrance.split("/")[:3])
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))

    def ask(path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        asked = urllib.request.Request(base + path)
        if body is not None:
            asked.data = json.dumps(body).encode()
            asked.headers = {"Content-Type": "application/json", "Origin": base}
        with browser.open(asked, timeout=60) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                browser.open(entrance, timeout=60).read()
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
        page = time.perf_counter() - start
        first, count = 0.0, sum(1 for _ in pictures.iterdir())
        while True:
            listed = ask("/api/pictures?limit=1")
            if not first and listed["total"] >= FIRST_ANSWER:
                asked = listed["items"][0]["id"]
                if ask("/api/search", {"query": {"picture": asked}, "limit": 10})["items"]:
                    first = time.perf_counter() - start
            if listed["total"] >= count:
                return page, first, time.perf_counter() - start
            time.sleep(0.1)
    finally:
        process.terminate()
        process.wait()


def _again(scratch: Path) -> list[dict[str, object]]:
    """A folder whose pictures are all known, and ten changes in it.

    The files are there; their rows are made up, since describing 50,000 would take minutes.
    """
    pictures, target = scratch / "many", scratch / "many.lw"
    _make_known(pictures, target)
    python = [sys.executable, "-m", "likewise"]
    subprocess.run(
        [*python, "add", str(pictures), "-C", str(target)], check=True, stdout=subprocess.DEVNULL
    )
    again = _measured([*python, "add", str(pictures), "-C", str(target)])
    files = sorted(pictures.rglob("*.jpg"))
    new = folder("small", 1_000)
    for number, source in enumerate(sorted(new.iterdir())[:5]):
        shutil.copy(source, pictures / f"new-{number}.jpg")
    for path in files[:5]:
        path.unlink()
    changed = _measured([*python, "sync", "-C", str(target)])
    more = _measured([*python, "add", str(new), "-C", str(target)])
    named = {
        f"add, {KNOWN:,} known pictures": again,
        "sync after ten changes there": changed,
        "add of 1,000 photographs more": more,
    }
    return [
        {"what": what, "s": one["wall"], "CPU s": one["cpu"], "peak MB": one["memory"] / 1e6}
        for what, one in named.items()
    ]


def _many(count: int, scratch: Path) -> list[dict[str, object]]:
    """A thousand pictures and many, small ones: what adding holds in memory, and its pace.

    Files differ in bytes behind the picture, which decoders do not read: they are as many contents.
    """
    sources = [path.read_bytes() for path in sorted(folder("tiny", 1_000).iterdir())]
    rows: list[dict[str, object]] = []
    for size in (1_000, count):
        pictures = scratch / f"many-{size}"
        for number in range(size):
            path = pictures / f"{number // 1000:03d}" / f"{number:06d}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(sources[number % len(sources)] + number.to_bytes(8, "big"))
        target = scratch / f"many-{size}.lw"
        one = _measured([sys.executable, "-m", "likewise", "add", str(pictures), "-C", str(target)])
        shutil.rmtree(pictures)
        rows.append({
            "pictures": f"{size:,}", "a second": size / one["wall"],
            "CPU ms a picture": 1e3 * one["cpu"] / size, "peak MB": one["memory"] / 1e6,
            "without pages of files, MB": one["own"] / 1e6,
        })  # fmt: skip
    return rows


def _make_known(pictures: Path, target: Path) -> None:
    rng = np.random.default_rng(0)
    centres = np.maximum(rng.normal(size=(200, N_DEEP)), 0).astype(np.float32)
    with Collection.create(target) as col:
        store = col._store
        named = []
        for serial, first in enumerate(range(0, KNOWN, seg.FULL)):
            size = min(seg.FULL, KNOWN - first)
            ids = []
            with store.write() as c:
                change.put_root(c, str(pictures))
                for number in range(first, first + size):
                    path = pictures / f"{number // 1000:03d}" / f"{number:06d}.jpg"
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(number.to_bytes(8, "big"))
                    status = path.stat()
                    info = ImageInfo(str(path), "JPEG", 640, 480, "RGB", 1, None, 8)
                    image, _ = change.put_image(c, number.to_bytes(20, "big"), info)
                    change.put_file(c, str(path), 8, status.st_mtime_ns, image=image)
                    ids.append(image)
            rows = centres[rng.integers(0, 200, size)] + rng.random((size, N_DEEP), np.float32)
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            name = space_rows.segment_name("deep-dense", 1, 0, serial)
            part = seg.DenseRows(np.array(ids, np.int64), rows.astype(np.float32))
            named.append((name, size, seg.write_dense(store.root, name, part)))
        with store.write() as c:
            for name, size, n_bytes in named:
                change.put_segment(c, name, "deep-dense", 1, size, n_bytes)
        col.spaces.drop("deep")


if __name__ == "__main__":
    main()
