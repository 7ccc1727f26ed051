"""One reader a data set layout; each gives one of the records of ``evaluation.datasets``."""

from typing import TYPE_CHECKING

from likewise._doors import doors

if TYPE_CHECKING:
    from likewise.evaluation.readers.comparisons import (
        read_material_appearance as read_material_appearance,
    )
    from likewise.evaluation.readers.comparisons import read_music_aset400 as read_music_aset400
    from likewise.evaluation.readers.comparisons import read_triplets as read_triplets
    from likewise.evaluation.readers.comparisons import read_zappos as read_zappos
    from likewise.evaluation.readers.corel import read_corel1k as read_corel1k
    from likewise.evaluation.readers.folders import read_folders as read_folders
    from likewise.evaluation.readers.holidays import read_holidays as read_holidays
    from likewise.evaluation.readers.ilsvrc import read_ilsvrc2010 as read_ilsvrc2010
    from likewise.evaluation.readers.mulan import read_mulan as read_mulan
    from likewise.evaluation.readers.nuswide import read_nuswide as read_nuswide
    from likewise.evaluation.readers.nuswide import read_nuswide_labels as read_nuswide_labels
    from likewise.evaluation.readers.nuswide import read_nuswide_lite as read_nuswide_lite
    from likewise.evaluation.readers.oxford import read_oxford as read_oxford
    from likewise.evaluation.readers.report import survey as survey
    from likewise.evaluation.readers.uci import read_uci_car as read_uci_car

__getattr__, __dir__, __all__ = doors(__name__)
