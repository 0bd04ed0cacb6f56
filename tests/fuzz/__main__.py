"""``python -m tests.fuzz`` from the root of the repository.

The modules are known as ``fuzz`` here and in the tests: numba's cache is kept under one name only.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from fuzz.command import main

    main()
