"""Typed words, as vectors (with the extra ``text``): ``words`` is where to begin reading.

``model`` opens a sentence model (``tensors`` reads its file, ``bert`` builds its graph, ``tokens``
cuts texts), ``classes`` names what the pictures' network tells apart, ``words`` joins the two and
``feedback`` asks once more with the pictures found; ``towers`` is for image-text networks of one's
own.
"""

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.features.text.errors import EmptyText as EmptyText
    from likewise.features.text.errors import TextModelMissing as TextModelMissing
    from likewise.features.text.model import TextModel as TextModel
    from likewise.features.text.status import TextModelStatus as TextModelStatus
    from likewise.features.text.status import text_model_status as text_model_status
    from likewise.features.text.towers import ImageTextModel as ImageTextModel
    from likewise.features.text.words import PictureWords as PictureWords
    from likewise.features.text.words import TextQuery as TextQuery

__getattr__, __dir__, __all__ = doors(__name__)
