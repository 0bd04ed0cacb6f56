"""``python -m ascd`` is the command ``ascd``."""

from ascd.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
