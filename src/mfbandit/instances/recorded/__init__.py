"""Instances from recorded rewards: tables of rows, tables of blocks, folders of data."""

from mfbandit.instances.recorded._dataset import load_dataset
from mfbandit.instances.recorded._table_instance import Cells, collect, read_table

__all__ = ["Cells", "collect", "load_dataset", "read_table"]
