"""Collection: a directory on disk tied to everything below; the only room with SQL."""

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.collection.adding import AddResult as AddResult
    from likewise.collection.collection import Collection as Collection
    from likewise.collection.compacting import Compacted as Compacted
    from likewise.collection.errors import CollectionBusy as CollectionBusy
    from likewise.collection.errors import CollectionError as CollectionError
    from likewise.collection.errors import DamagedCollection as DamagedCollection
    from likewise.collection.errors import UnknownPicture as UnknownPicture
    from likewise.collection.explaining import Explanation as Explanation
    from likewise.collection.jobs import Progress as Progress
    from likewise.collection.lessons import SparseOutcome as SparseOutcome
    from likewise.collection.profiles import LogLine as LogLine
    from likewise.collection.profiles import Version as Version
    from likewise.collection.searching import Figures as Figures
    from likewise.collection.searching import Hit as Hit
    from likewise.collection.searching import Similarity as Similarity

__getattr__, __dir__, __all__ = doors(__name__)
