"""How numba compiles the parts of a kernel: only as far as whoever inlines them needs.

numba optimises every function that it compiles and makes machine code of it. Parts are always inlined, so both
would be done again for every function around them, up to the entry, and thrown away each time. Parts are kept as
they were written instead, and optimised once, in the entry: that takes a quarter to a third off the time to compile,
and the entry runs as fast.

Parts that are stored were optimised when they were compiled. Small ones are linked into the entry before it is
optimised, which may inline them. Large ones, that take most of the time to compile, are linked when that is done: a
call of them costs nothing to speak of.

This uses inner parts of numba. Where a version of it has others, parts are compiled as numba does by itself.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

__all__ = ["STORED_NAME", "compilers"]

#: How names of stored parts end. `Reference` is stored with them: another one, or another place of it, needs another.
STORED_NAME = "_by_reference"
#: So many bytes of code before it becomes machine code make a stored part a large one.
_LARGE = 100_000


@functools.cache
def compilers() -> tuple[Any, Any]:
    """The compiler classes for parts and for entries."""
    JITCodeLibrary: Any = importlib.import_module("numba.core.codegen").JITCodeLibrary
    Compiler: Any = importlib.import_module("numba.core.compiler").Compiler

    wanted = (
        *("_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals", "codegen"),
        *("_get_module_for_linking", "add_linking_library", "enable_object_caching"),
    )
    if not all(hasattr(JITCodeLibrary, name) for name in wanted):
        return Compiler, Compiler

    @functools.cache
    def is_large(library: Any) -> bool:
        """Whether it is the library of a stored part that is linked late."""
        return library.name.endswith(STORED_NAME) and len(library._get_module_for_linking().as_bitcode()) > _LARGE

    class NoEnvironments:
        """What numba asks for when it has made machine code; parts have none, and never raise."""

        @staticmethod
        def set_env(name: str, environment: Any) -> None:
            """Leave out what an error message would need."""

    class LateLibrary(JITCodeLibrary):  # type: ignore[misc]
        """Code that large stored parts are linked into late."""

        def __init__(self, codegen: Any, name: str) -> None:
            super().__init__(codegen, name)
            self.late: dict[str, Any] = {}

        def add_linking_library(self, library: Any) -> None:
            """Link another library into this one, unless it is large."""
            library._ensure_finalized()
            self.late.update(getattr(library, "late", {}))
            if is_large(library):
                self.late[library.name] = library
            else:
                super().add_linking_library(library)

    class EntryLibrary(LateLibrary):
        """The code of an entry."""

        def _optimize_final_module(self) -> None:
            """Optimise what was linked so far, and link the rest."""
            super()._optimize_final_module()
            for library in self.late.values():
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)

    class PartLibrary(LateLibrary):
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

    class EntryCompiler(Compiler):  # type: ignore[misc]
        """A compiler whose outcome is called from Python."""

        def compile_extra(self, function: Any) -> Any:
            self.state.library = EntryLibrary(self.state.targetctx.codegen(), function.__qualname__)
            self.state.library.enable_object_caching()
            return super().compile_extra(function)

    return PartCompiler, EntryCompiler
