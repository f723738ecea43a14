"""`python -m mfbandit` is the command `mfbandit`."""

import sys

from mfbandit.cli import main

if __name__ == "__main__":
    sys.exit(main())
