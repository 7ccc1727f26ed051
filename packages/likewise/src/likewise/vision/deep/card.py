"""Cards: what made the vectors of a deep space, in a record that people and programs can read.

A card names the model by its hash, says how pictures are prepared and which layer is read, and
under which licence the weights came.  It is what must be known to make the same vectors again.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from likewise.vision.deep.graph import MAP, POOLED
from likewise.vision.deep.network import MODEL, PACKAGE, PREPARATION, SHA256
from likewise.vision.deep.onnx_model import OnnxModel
from likewise.vision.deep.runtime import Preparation

Card = dict[str, Any]


def card(
    name: str, sha256: str, preparation: Preparation, layer: str, licence: str, **more: Any
) -> Card:
    """The record; every card has these keys."""
    prepared = asdict(preparation)
    return {
        "model": name,
        "sha256": sha256,
        "preprocessing": {
            "resize": "to a square, nothing cut off",
            **{key: list(v) if isinstance(v, tuple) else v for key, v in prepared.items()},
            "formula": "(x / scale - mean) / std",
        },
        "layer": layer,
        "licence": licence,
        **more,
    }


def builtin_card(*, cells: int | None = None) -> Card:
    """The card of EfficientNet-lite0: pooled at 224 pixels, or its cells at ``cells`` pixels."""
    prepared = PREPARATION
    if cells is not None:
        prepared = Preparation(cells, prepared.scale, prepared.mean, prepared.std)
    return card(
        MODEL,
        SHA256,
        prepared,
        POOLED if cells is None else MAP,
        "Apache-2.0",
        source=f"Python package {PACKAGE} 0.1.0",
        trained_on="ImageNet (ILSVRC 2012), 1000 classes",
    )


def model_card(model: OnnxModel, name: str, sha256: str, layer: str, licence: str) -> Card:
    """The card of a user's own model."""
    return card(name, sha256, model.preparation, layer, licence, pool=model.pool)


def wrong_with(found: object, sha256: str) -> str | None:
    """What keeps a record that was read from being the card of a model; None: nothing does."""
    if not isinstance(found, dict):
        return "it is no record"
    texts = ("model", "sha256", "layer", "licence")
    lacking = [key for key in texts if not isinstance(found.get(key), str)]
    if not isinstance(found.get("preprocessing"), dict):
        lacking.append("preprocessing")
    if lacking:
        return f"it does not say {', '.join(lacking)}"
    return None if found["sha256"] == sha256 else "it is the card of another model"
