"""Collection: a directory on disk tied to everything below; the only room with SQL."""

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.collection.adding import AddResult as AddResult
    from likewise.collection.bulk_tagging import TagRun as TagRun
    from likewise.collection.catalog_models import Model as Model
    from likewise.collection.catalog_tags import TagRow as TagRow
    from likewise.collection.collection import Collection as Collection
    from likewise.collection.compacting import Compacted as Compacted
    from likewise.collection.comparing import ComparisonReport as ComparisonReport
    from likewise.collection.errors import CollectionBusy as CollectionBusy
    from likewise.collection.errors import CollectionError as CollectionError
    from likewise.collection.errors import DamagedCollection as DamagedCollection
    from likewise.collection.errors import UnknownPicture as UnknownPicture
    from likewise.collection.explaining import Explanation as Explanation
    from likewise.collection.jobs import Progress as Progress
    from likewise.collection.lessons import SparseOutcome as SparseOutcome
    from likewise.collection.modelling import MapPoints as MapPoints
    from likewise.collection.profiles import LogLine as LogLine
    from likewise.collection.profiles import Version as Version
    from likewise.collection.searching import Figures as Figures
    from likewise.collection.searching import Hit as Hit
    from likewise.collection.searching import Similarity as Similarity
    from likewise.collection.suggesting import Behind as Behind
    from likewise.collection.suggesting import Suggestion as Suggestion
    from likewise.collection.tag_files import TagImport as TagImport
    from likewise.collection.tagging import TagWord as TagWord
    from likewise.collection.xmp_export import XmpExport as XmpExport

__getattr__, __dir__, __all__ = doors(__name__)
