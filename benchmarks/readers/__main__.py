"""Read every data set in a folder and print what it holds: ``python -m benchmarks.readers``."""

from __future__ import annotations

import sys

from benchmarks.readers.records import data_root
from benchmarks.readers.report import survey


def main() -> int:
    """Print one line a data set; return 1 where one was refused."""
    root = sys.argv[1] if len(sys.argv) > 1 else data_root()
    if root is None:
        print("no data sets here; set LIKEWISE_DATA to the folder that holds them")
        return 1
    rows = survey(root)
    for row in rows:
        seconds = f"{row.seconds:.2f} CPU s" if row.state == "read" else row.state
        print(f"{row.folder:22} {row.reader:26} {seconds:>12}  {row.text}")
    return int(any(row.state == "refused" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
