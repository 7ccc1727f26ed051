"""Readers of the public data sets, one file each."""

from typing import TYPE_CHECKING

from likewise_methods.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from benchmarks.readers.comparisons import read_material_appearance as read_material_appearance
    from benchmarks.readers.comparisons import read_music_aset400 as read_music_aset400
    from benchmarks.readers.comparisons import read_triplets as read_triplets
    from benchmarks.readers.comparisons import read_zappos as read_zappos
    from benchmarks.readers.corel import read_corel1k as read_corel1k
    from benchmarks.readers.flickr8k import read_flickr8k as read_flickr8k
    from benchmarks.readers.holidays import read_holidays as read_holidays
    from benchmarks.readers.ilsvrc import read_ilsvrc2010 as read_ilsvrc2010
    from benchmarks.readers.mulan import read_mulan as read_mulan
    from benchmarks.readers.nuswide import read_nuswide as read_nuswide
    from benchmarks.readers.nuswide import read_nuswide_labels as read_nuswide_labels
    from benchmarks.readers.nuswide import read_nuswide_lite as read_nuswide_lite
    from benchmarks.readers.oxford import read_oxford as read_oxford
    from benchmarks.readers.report import survey as survey
    from benchmarks.readers.uci import read_uci_car as read_uci_car

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "comparisons": [
            "read_material_appearance",
            "read_music_aset400",
            "read_triplets",
            "read_zappos",
        ],
        "corel": ["read_corel1k"],
        "flickr8k": ["read_flickr8k"],
        "holidays": ["read_holidays"],
        "ilsvrc": ["read_ilsvrc2010"],
        "mulan": ["read_mulan"],
        "nuswide": ["read_nuswide", "read_nuswide_labels", "read_nuswide_lite"],
        "oxford": ["read_oxford"],
        "report": ["survey"],
        "uci": ["read_uci_car"],
    },
)
