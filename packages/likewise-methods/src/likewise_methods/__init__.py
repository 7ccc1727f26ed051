"""The methods of Likewise as estimators: five papers, and what was built on top of them.

One package per method: ``solis``, ``siso``, ``psc``, ``s3ml``, ``ordinal``; ``spaces`` holds the
space fitted to a collection, ``coding`` visual words, ``index`` the exact inverted index,
``neighbours`` nearest neighbours and ``evaluation`` the metrics.
"""

from likewise_methods._version import __version__ as __version__
