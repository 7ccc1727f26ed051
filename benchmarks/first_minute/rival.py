"""The rival: the loop that somebody writes in ten minutes around the same network.

Files in, one process a core, Pillow's reduced decoding, one picture after the other through the
network, one array out.  No catalog, no hash, no thumbnails, no second run, no bad pictures.
"""

from __future__ import annotations

import os
import sys
from multiprocessing import get_context
from pathlib import Path

import cv2
import numpy as np
import onnxruntime
from numpy.typing import NDArray
from PIL import Image, ImageOps
from pillow_heif import register_heif_opener

_session: onnxruntime.InferenceSession | None = None


def begin(graph: str) -> None:
    global _session
    register_heif_opener()
    cv2.setNumThreads(1)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    _session = onnxruntime.InferenceSession(graph, options)


def describe(path: str) -> NDArray[np.float32]:
    assert _session is not None
    image = Image.open(path)
    image.draft("RGB", (448, 448))
    pixels = np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    square = cv2.resize(pixels, (224, 224), interpolation=cv2.INTER_AREA)
    fed = ((square.astype(np.float32) - 127.0) / 128.0).transpose(2, 0, 1)[None]
    made = _session.run(["pooled"], {_session.get_inputs()[0].name: np.ascontiguousarray(fed)})
    return np.asarray(made[0][0], np.float32)


def main(graph: str, folder: str, out: str) -> None:
    paths = sorted(str(path) for path in Path(folder).iterdir())
    with get_context("spawn").Pool(os.cpu_count(), begin, (graph,)) as pool:
        np.save(out, np.stack(pool.map(describe, paths, chunksize=8)))


if __name__ == "__main__":
    main(*sys.argv[1:])
