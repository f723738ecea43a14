"""The answer of a study as one page, its pictures, and what a live page shows: loaded when one is asked for."""

from mfbandit.study.report._snapshot import snapshot, summary

__all__ = ["snapshot", "summary"]
