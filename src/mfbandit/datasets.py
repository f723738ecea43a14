"""Instances from folders of recorded data: see `mfbandit.instances`."""

from mfbandit.instances.recorded import load_dataset

__all__ = ["load_dataset"]
