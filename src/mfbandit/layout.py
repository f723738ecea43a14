"""What an algorithm remembers, declared by name and shape: see `mfbandit.core`."""

from mfbandit.core import Layout, NoMemory, Space, clear_rest, fields, floats, group, integers, layout, nested, rebuilt

__all__ = [
    "Layout",
    "NoMemory",
    "Space",
    "clear_rest",
    "fields",
    "floats",
    "group",
    "integers",
    "layout",
    "nested",
    "rebuilt",
]
