"""Collection: a directory on disk tied to everything below; the only room with SQL."""

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.collection.collection import Collection as Collection
    from likewise.collection.errors import CollectionBusy as CollectionBusy
    from likewise.collection.errors import CollectionError as CollectionError
    from likewise.collection.errors import DamagedCollection as DamagedCollection
    from likewise.collection.errors import NoPlaces as NoPlaces
    from likewise.collection.errors import UnknownName as UnknownName
    from likewise.collection.errors import UnknownPicture as UnknownPicture
    from likewise.collection.feedback.compact import Compaction as Compaction
    from likewise.collection.feedback.judge import Judgement as Judgement
    from likewise.collection.feedback.learned_report import LearnedReport as LearnedReport
    from likewise.collection.feedback.lessons import SparseOutcome as SparseOutcome
    from likewise.collection.feedback.log import LogLine as LogLine
    from likewise.collection.feedback.profiles import Version as Version
    from likewise.collection.feedback.shares import Share as Share
    from likewise.collection.ingest.add import AddResult as AddResult
    from likewise.collection.ingest.cluster import Cluster as Cluster
    from likewise.collection.jobs import Progress as Progress
    from likewise.collection.keys import AccessKey as AccessKey
    from likewise.collection.keywords.tag_files import TagImport as TagImport
    from likewise.collection.keywords.xmp_export import XmpExport as XmpExport
    from likewise.collection.models.comparison_report import ComparisonReport as ComparisonReport
    from likewise.collection.models.comparisons import ComparisonRecord as ComparisonRecord
    from likewise.collection.models.models import MapPoints as MapPoints
    from likewise.collection.models.questions import ComparisonQuestion as ComparisonQuestion
    from likewise.collection.search.explain import Explanation as Explanation
    from likewise.collection.search.heat import HeatMap as HeatMap
    from likewise.collection.search.rank import Hit as Hit
    from likewise.collection.search.similarities import Figures as Figures
    from likewise.collection.search.similarities import Similarity as Similarity
    from likewise.collection.store.model_table import Model as Model
    from likewise.collection.store.tag_tables import TagRow as TagRow
    from likewise.collection.tags.bulk import TagRun as TagRun
    from likewise.collection.tags.suggest import Suggestion as Suggestion
    from likewise.collection.tags.suggest import SupportingPicture as SupportingPicture
    from likewise.collection.tags.tag_log import TagLogLine as TagLogLine

__getattr__, __dir__, __all__ = doors(__name__)
