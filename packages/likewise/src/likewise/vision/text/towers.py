"""A user's own image-text network (CLIP, SigLIP …): two ONNX files that share one space.

The folder has the layout that photo servers exchange: ``visual/model.onnx`` with
``preprocess_cfg.json`` (how pictures are prepared), ``textual/model.onnx`` with ``tokenizer.json``
and ``tokenizer_config.json``, and ``config.json``.  Rows of pictures and of texts are compared by
inner product.  The files are data: no code of the folder is run, and no other file is read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InvalidInput
from likewise.vision.deep.libraries import UnusableModel, read_at_most
from likewise.vision.deep.onnx_model import OnnxModel, check_whole, hash_of, read_model
from likewise.vision.deep.runtime import Preparation, open_session, three_numbers
from likewise.vision.text.model import parse_json
from likewise.vision.text.tokens import MAX_BYTES, Tokenizer, Tokens
from likewise_methods.validation import is_whole

VISUAL, PREPROCESS = "visual/model.onnx", "visual/preprocess_cfg.json"
TEXTUAL, TOKENIZER = "textual/model.onnx", "textual/tokenizer.json"
TOKENIZER_CONFIG, CONFIG = "textual/tokenizer_config.json", "config.json"
FILES = (VISUAL, PREPROCESS, TEXTUAL, TOKENIZER, TOKENIZER_CONFIG, CONFIG)
"""The files that are read."""
CONTEXT = 77
"""The tokens of a text if config.json does not say: CLIP's."""
_MAX_CONTEXT = 4_096
_MAX_JSON = 4 << 20
_MEAN, _STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class ImageTextModel:
    """The two towers of an image-text network: pictures and texts as rows of one space.

    Attributes
    ----------
    folder : Path
        The folder of the files.
    visual : OnnxModel
        The tower of pictures.
    digest : str
        The hash of the files.
    width : int
        Columns of a row.

    See Also
    --------
    TextModel : a model of sentences only.
    """

    folder: Path
    visual: OnnxModel
    digest: str
    width: int
    _text: _TextTower

    @classmethod
    def open(cls, folder: str | Path) -> ImageTextModel:
        """Open and try the towers of a folder, or raise ``UnusableModel``."""
        folder = Path(folder)
        if absent := [name for name in FILES if not (folder / name).is_file()]:
            raise UnusableModel(
                f"{folder} lacks {', '.join(absent)}; an image-text network has these"
            )
        content = read_model(folder / VISUAL)
        visual = OnnxModel(str(folder / VISUAL), _preparation(folder), sha256=hash_of(content))
        width = visual.width()
        text = _TextTower.open(folder)
        digest = hashlib.sha256("".join([hash_of(content), text.digest]).encode()).hexdigest()
        made = cls(folder, visual, digest, width, text)
        made.embed_text(["a photograph"])
        return made

    def embed_picture(self, picture: Any) -> Floats:
        """Return the row of a picture's pixels, of unit length.

        Parameters
        ----------
        picture : uint8 array of shape (height, width, 3)
            RGB.

        Returns
        -------
        float32 array of shape (width,)
        """
        rows = _unit(self.visual.activations(picture)[None], "the visual tower")
        return np.asarray(rows[0])

    def embed_text(self, texts: Sequence[str]) -> Floats:
        """Return rows of unit length; raise ``EmptyText`` for a text without words.

        Parameters
        ----------
        texts : sequence of str
            Texts.

        Returns
        -------
        float32 array of shape (texts, width)
        """
        if isinstance(texts, str):
            texts = [texts]
        if not len(texts):
            return np.zeros((0, self.width), np.float32)
        # Many exported towers take one text at a time.
        made = np.concatenate([self._text(text) for text in texts])
        if made.shape[1] != self.width:
            raise UnusableModel(
                f"{self.folder}: texts have {made.shape[1]} numbers and pictures {self.width}; "
                "the towers are not of one network"
            )
        return _unit(made, "the textual tower")


@dataclass(frozen=True, eq=False)
class _TextTower:
    name: str
    digest: str
    tokenizer: Tokenizer
    context: int
    session: Any

    @classmethod
    def open(cls, folder: Path) -> _TextTower:
        model = read_model(folder / TEXTUAL)
        name = f"{folder.name}/{TEXTUAL}"
        check_whole(model, name)
        tokenizer = read_at_most(folder / TOKENIZER, MAX_BYTES, UnusableModel)
        context = _context(folder)
        padding = _pad_token(folder)
        words = Tokenizer(tokenizer, str(folder / TOKENIZER), length=context, pad_token=padding)
        digest = hashlib.sha256(
            json.dumps([hash_of(model), hash_of(tokenizer), context, padding]).encode()
        ).hexdigest()
        session = open_session(model, name)
        for one in session.get_inputs():
            if one.type not in _TYPES or len(one.shape) != 2:
                raise UnusableModel(
                    f"{name} takes {one.name} {one.type} {one.shape}; "
                    "whole numbers (n, tokens) needed"
                )
        if len(session.get_inputs()) > 3:
            raise UnusableModel(
                f"{name} takes {len(session.get_inputs())} inputs; at most 3 expected"
            )
        return cls(name, digest, words, context, session)

    def __call__(self, text: str) -> Floats:
        tokens = self.tokenizer([text], width=self.context)
        fed = {
            one.name: _input(one.name, tokens).astype(_TYPES[one.type])
            for one in self.session.get_inputs()
        }
        output = self.session.get_outputs()[0].name
        try:
            (made,) = self.session.run([output], fed)
        except Exception as error:  # onnxruntime's errors share no other base
            raise UnusableModel(f"{self.name} does not run on a text: {error}") from error
        made = np.asarray(made)
        if made.ndim != 2 or len(made) != 1 or made.dtype.kind != "f":
            raise UnusableModel(
                f"{self.name} gives shape {made.shape} for one text; (1, n) expected"
            )
        return made.astype(np.float32)


_TYPES = {"tensor(int32)": np.int32, "tensor(int64)": np.int64}


def _input(name: str, tokens: Tokens) -> NDArray[np.int64]:
    """Return what an input of this name expects: the mask, the token types or the tokens."""
    if "mask" in name:
        return tokens.mask
    return np.zeros_like(tokens.ids) if "type" in name else tokens.ids


def _unit(rows: Floats, name: str) -> Floats:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(rows).all() or not (norms > 0).all():
        raise UnusableModel(f"{name} gives rows that are no direction (zeros, NaN or infinite)")
    return np.asarray(rows / norms, np.float32)


def _preparation(folder: Path) -> Preparation:
    said = _record(folder / PREPROCESS)
    size = said.get("size", 224)
    if isinstance(size, list) and len(size) == 2 and size[0] == size[1]:
        size = size[0]
    mode = said.get("mode", "RGB")
    if mode != "RGB":
        raise UnusableModel(
            f"{folder / PREPROCESS} asks for pictures of mode {mode!r}; RGB expected"
        )
    try:
        mean, std = (
            three_numbers(said.get("mean", _MEAN), "mean"),
            three_numbers(said.get("std", _STD), "std"),
        )
        return Preparation(size, 255.0, mean, std)
    except InvalidInput as error:
        raise UnusableModel(f"{folder / PREPROCESS}: {error}") from error


def _context(folder: Path) -> int:
    said = _record(folder / CONFIG).get("text_cfg", {})
    context = said.get("context_length", CONTEXT) if isinstance(said, dict) else said
    if not is_whole(context, 2, _MAX_CONTEXT):
        raise UnusableModel(
            f"{folder / CONFIG} has context_length {context!r}; 2 to {_MAX_CONTEXT} tokens expected"
        )
    return int(context)


def _pad_token(folder: Path) -> str | None:
    token = _record(folder / TOKENIZER_CONFIG).get("pad_token")
    if isinstance(token, dict):
        token = token.get("content")
    if token is not None and not isinstance(token, str):
        raise UnusableModel(
            f"{folder / TOKENIZER_CONFIG} has pad_token {token!r}; a token expected"
        )
    return token


def _record(path: Path) -> dict[str, Any]:
    read = parse_json(read_at_most(path, _MAX_JSON, UnusableModel), path)
    if not isinstance(read, dict):
        raise UnusableModel(f"{path} is no record")
    return read
