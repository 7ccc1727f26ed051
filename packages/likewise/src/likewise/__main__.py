"""``python -m likewise`` is the ``likewise`` command."""

from likewise.cli import main

if __name__ == "__main__":
    main()
