"""`python -m mfbandit` is the command `mfbandit`."""

from mfbandit.cli import main

if __name__ == "__main__":
    main()
