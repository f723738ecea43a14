"""Rounds: the pulls that are out, the rows of a plan, and what the record of a round says."""
