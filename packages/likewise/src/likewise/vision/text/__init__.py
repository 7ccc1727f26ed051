"""Typed words: sentence models and text towers."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise.vision.text.model import TextModel as TextModel
    from likewise.vision.text.status import EmptyText as EmptyText
    from likewise.vision.text.status import TextModelMissing as TextModelMissing
    from likewise.vision.text.status import TextModelStatus as TextModelStatus
    from likewise.vision.text.status import text_model_status as text_model_status
    from likewise.vision.text.towers import ImageTextModel as ImageTextModel
    from likewise.vision.text.words import PictureWords as PictureWords
    from likewise.vision.text.words import TextQuery as TextQuery

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "likewise.vision.text.model": ["TextModel"],
        "likewise.vision.text.status": [
            "EmptyText",
            "TextModelMissing",
            "TextModelStatus",
            "text_model_status",
        ],
        "likewise.vision.text.towers": ["ImageTextModel"],
        "likewise.vision.text.words": ["PictureWords", "TextQuery"],
    },
)
