"""``python -m mercer`` is the command ``mercer``."""

import sys

from .cli.main import main

if __name__ == "__main__":
    sys.exit(main())
