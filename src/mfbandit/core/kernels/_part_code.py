"""How numba compiles the parts of a kernel: only as far as whoever inlines them needs.

numba optimises every function that it compiles and makes machine code of it. Parts are always inlined, so both
would be done again for every function around them, up to the entry, and thrown away each time. Parts are kept as
they were written instead, and optimised once, in the entry: that takes a quarter to a third off the time to compile,
and the entry runs as fast.

This uses inner parts of numba. Where a version of it has others, parts are compiled as numba does by itself.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

__all__ = ["part_compiler"]


@functools.cache
def part_compiler() -> Any:
    """The compiler class for parts."""
    JITCodeLibrary: Any = importlib.import_module("numba.core.codegen").JITCodeLibrary
    Compiler: Any = importlib.import_module("numba.core.compiler").Compiler

    wanted = ("_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals", "codegen")
    if not all(hasattr(JITCodeLibrary, name) for name in wanted):
        return Compiler

    class NoEnvironments:
        """What numba asks for when it has made machine code; parts have none, and never raise."""

        @staticmethod
        def set_env(name: str, environment: Any) -> None:
            """Leave out what an error message would need."""

    class PartLibrary(JITCodeLibrary):  # type: ignore[misc]
        """The code of a part, to be linked into other code and for nothing else."""

        codegen = NoEnvironments

        def _optimize_final_module(self) -> None:
            """Leave that to the entry."""

        def _finalize_final_module(self) -> None:
            """Make no machine code."""
            self._finalize_dynamic_globals()
            self._finalized = True

    class PartCompiler(Compiler):  # type: ignore[misc]
        """A compiler whose outcome is linked into other code."""

        def compile_extra(self, function: Any) -> Any:
            codegen = self.state.targetctx.codegen()
            self.state.library = PartLibrary(codegen, function.__qualname__)
            return super().compile_extra(function)

    return PartCompiler
