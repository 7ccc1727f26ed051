"""Collection: a directory on disk tied to everything below; the only room with SQL."""

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.collection.collection import Collection as Collection
    from likewise.collection.errors import CollectionBusy as CollectionBusy
    from likewise.collection.errors import CollectionError as CollectionError
    from likewise.collection.errors import DamagedCollection as DamagedCollection
    from likewise.collection.errors import UnknownPicture as UnknownPicture
    from likewise.collection.finding.explaining import Explanation as Explanation
    from likewise.collection.finding.searching import Figures as Figures
    from likewise.collection.finding.searching import Hit as Hit
    from likewise.collection.finding.searching import Similarity as Similarity
    from likewise.collection.growing.adding import AddResult as AddResult
    from likewise.collection.jobs import Progress as Progress
    from likewise.collection.keywords.tag_files import TagImport as TagImport
    from likewise.collection.keywords.xmp_export import XmpExport as XmpExport
    from likewise.collection.modelling.comparing import ComparisonReport as ComparisonReport
    from likewise.collection.modelling.modelling import MapPoints as MapPoints
    from likewise.collection.store.models import Model as Model
    from likewise.collection.store.tags import TagRow as TagRow
    from likewise.collection.tagging.bulk_tagging import TagRun as TagRun
    from likewise.collection.tagging.suggesting import Behind as Behind
    from likewise.collection.tagging.suggesting import Suggestion as Suggestion
    from likewise.collection.tagging.tagging import TagWord as TagWord
    from likewise.collection.teaching.compacting import Compacted as Compacted
    from likewise.collection.teaching.lessons import SparseOutcome as SparseOutcome
    from likewise.collection.teaching.profiles import LogLine as LogLine
    from likewise.collection.teaching.profiles import Version as Version

__getattr__, __dir__, __all__ = doors(__name__)
