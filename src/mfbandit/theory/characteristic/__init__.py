"""C*, the cost that every delta-correct algorithm must pay, by a linear program."""

from mfbandit.theory.characteristic._characteristic import limit

__all__ = ["limit"]
