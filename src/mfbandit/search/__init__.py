"""The parts of `mfbandit.sklearn`: candidates, rungs, splits, single measurements and pilots.

All of them need scikit-learn, which `mfbandit.sklearn` checks for.
"""
