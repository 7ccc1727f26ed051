"""The collection: a directory on disk, and everything it offers."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from likewise.catalog.jobs import Progress as Progress
    from likewise.catalog.log_tables import Model as Model
    from likewise.catalog.tag_tables import TagRow as TagRow
    from likewise.collection.collection import Collection as Collection
    from likewise.collection.keys import AccessKey as AccessKey
    from likewise.errors import CollectionBusy as CollectionBusy
    from likewise.errors import CollectionError as CollectionError
    from likewise.errors import DamagedCollection as DamagedCollection
    from likewise.errors import NoPlaces as NoPlaces
    from likewise.errors import UnknownName as UnknownName
    from likewise.errors import UnknownPicture as UnknownPicture
    from likewise.ingest.add import AddResult as AddResult
    from likewise.learning.judge import Judgement as Judgement
    from likewise.learning.learned_report import LearnedReport as LearnedReport
    from likewise.learning.log import LogLine as LogLine
    from likewise.learning.models.comparisons import ComparisonRecord as ComparisonRecord
    from likewise.learning.models.comparisons import ComparisonReport as ComparisonReport
    from likewise.learning.models.models import MapPoints as MapPoints
    from likewise.learning.models.questions import ComparisonQuestion as ComparisonQuestion
    from likewise.learning.profiles import Version as Version
    from likewise.learning.shares import Share as Share
    from likewise.learning.sparse_profiles import Compaction as Compaction
    from likewise.learning.sparse_profiles import SparseOutcome as SparseOutcome
    from likewise.library.sidecars import XmpExport as XmpExport
    from likewise.library.tag_files import TagImport as TagImport
    from likewise.search.explain import Explanation as Explanation
    from likewise.search.explain import HeatMap as HeatMap
    from likewise.search.rank import Hit as Hit
    from likewise.search.similarities import Figures as Figures
    from likewise.search.similarities import Similarity as Similarity
    from likewise.tags.bulk import TagRun as TagRun
    from likewise.tags.suggest import Suggestion as Suggestion
    from likewise.tags.suggest import SupportingPicture as SupportingPicture
    from likewise.tags.tag_log import TagLogLine as TagLogLine

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "likewise.catalog.jobs": ["Progress"],
        "likewise.catalog.log_tables": ["Model"],
        "likewise.catalog.tag_tables": ["TagRow"],
        "likewise.collection.collection": ["Collection"],
        "likewise.collection.keys": ["AccessKey"],
        "likewise.errors": [
            "CollectionBusy",
            "CollectionError",
            "DamagedCollection",
            "NoPlaces",
            "UnknownName",
            "UnknownPicture",
        ],
        "likewise.ingest.add": ["AddResult"],
        "likewise.learning.judge": ["Judgement"],
        "likewise.learning.learned_report": ["LearnedReport"],
        "likewise.learning.log": ["LogLine"],
        "likewise.learning.models.comparisons": ["ComparisonRecord", "ComparisonReport"],
        "likewise.learning.models.models": ["MapPoints"],
        "likewise.learning.models.questions": ["ComparisonQuestion"],
        "likewise.learning.profiles": ["Version"],
        "likewise.learning.shares": ["Share"],
        "likewise.learning.sparse_profiles": ["Compaction", "SparseOutcome"],
        "likewise.library.tag_files": ["TagImport"],
        "likewise.library.sidecars": ["XmpExport"],
        "likewise.search.explain": ["Explanation", "HeatMap"],
        "likewise.search.rank": ["Hit"],
        "likewise.search.similarities": ["Figures", "Similarity"],
        "likewise.tags.bulk": ["TagRun"],
        "likewise.tags.suggest": ["Suggestion", "SupportingPicture"],
        "likewise.tags.tag_log": ["TagLogLine"],
    },
)
