"""The rooms of the house: who may import whom, by CONTRIBUTING.md, read from the imports of the whole tree."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).parents[1]
PACKAGE = HERE / "src" / "mfbandit"
#: Most files of a folder, beside its door, and of the root, which has public doors of one file each.
MOST, MOST_IN_ROOT = 12, 16
#: Most lines of a file.
LONGEST = 350
#: Names of two classes each: their modules hold kernels, whose text a stored study remembers, and so keep them.
TWO_CLASSES = {"PairMemory", "SumMemory", "Verdict"}
#: Imports inside functions: who, of what, and why.
LATE = {
    ("storage._open_storage", "storage._sql"): "loads SQLAlchemy",
    ("simulation._trials", "simulation.gpu._launch"): "is for those who have a GPU",
    ("serve._asgi", "serve.web._site"): "needs starlette, which comes with an extra",
}


class Import(NamedTuple):
    """That a module imports another, at its top or inside a function."""

    by: str
    of: str
    late: bool


class House:
    """The modules of a package, and what they import of each other; names are without the package's own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.modules = {self._name(path): path for path in sorted(root.rglob("*.py"))}
        self.imports = [one for name, path in self.modules.items() for one in self._imports(name, path)]

    def _name(self, path: Path) -> str:
        parts = path.relative_to(self.root).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def _imports(self, by: str, path: Path) -> Iterator[Import]:
        package = self.root.name

        def visit(node: ast.AST, late: bool) -> Iterator[Import]:
            for child in ast.iter_child_nodes(node):
                inside = late or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                if isinstance(child, ast.ImportFrom):
                    assert child.level == 0, f"{by} has a relative import: write the whole path"
                    head, _, rest = (child.module or "").partition(".")
                    for alias in child.names if head == package else ():
                        full = f"{rest}.{alias.name}" if rest else alias.name
                        yield Import(by, full if full in self.modules else rest, late)
                elif isinstance(child, ast.Import):
                    for alias in child.names:
                        head, _, rest = alias.name.partition(".")
                        if head == package:
                            yield Import(by, rest, late)
                yield from visit(child, inside)

        yield from visit(ast.parse(path.read_text(encoding="utf-8")), False)

    def room(self, module: str, rooms: list[list[str]]) -> int:
        """The number of the room that a module is in; -1 if it is in none."""
        known = {name: number for number, names in enumerate(rooms) for name in names}
        return known.get(module.split(".")[0] if module else "__init__", -1)

    def homeless(self, rooms: list[list[str]]) -> list[str]:
        """Modules that are in no room."""
        return [module for module in self.modules if self.room(module, rooms) < 0]

    def upward(self, rooms: list[list[str]]) -> list[Import]:
        """Imports of a room by one that stands before it, those of types and inside functions among them."""
        return [one for one in self.imports if self.room(one.of, rooms) > self.room(one.by, rooms)]

    def through_walls(self) -> list[Import]:
        """Imports of a room's private modules by another room."""
        return [
            one
            for one in self.imports
            if "." in one.of
            and any(part.startswith("_") for part in one.of.split("."))
            and one.of.split(".")[0] != one.by.split(".")[0]
        ]

    def late(self) -> set[tuple[str, str]]:
        """Who imports what inside a function."""
        return {(one.by, one.of) for one in self.imports if one.late}

    def twins(self) -> list[str]:
        """Base names that two files have, an underscore in front or not."""
        names = Counter(path.stem.lstrip("_") for path in self.modules.values() if path.name != "__init__.py")
        return [name for name, count in names.items() if count > 1]

    def classes_of_one_name(self) -> list[str]:
        """Names that two classes have, an underscore in front or not."""
        names = Counter(
            node.name.lstrip("_")
            for path in self.modules.values()
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.ClassDef)
        )
        return sorted(name for name, count in names.items() if count > 1)

    def crowded(self) -> list[str]:
        """Folders with too many files."""
        files = Counter(path.parent for path in self.modules.values() if path.name != "__init__.py")
        return [
            str(folder.relative_to(self.root.parent))
            for folder, count in files.items()
            if count > (MOST_IN_ROOT if folder == self.root else MOST)
        ]

    def without_door(self) -> list[str]:
        """Packages whose `__init__` says nothing, or does more than to show what it imports."""
        found = []
        for module, path in self.modules.items():
            if path.name == "__init__.py":
                tree = ast.parse(path.read_text(encoding="utf-8"))
                allowed = all(isinstance(node, ast.ImportFrom | ast.Assign) for node in tree.body[1:])
                if not ast.get_docstring(tree) or not allowed:
                    found.append(module or self.root.name)
        return found


def written_rooms(page: str) -> list[list[str]]:
    """The rooms in the order of a page, each with the folders and modules that belong to it."""
    section = page.split("## Rooms")[1].split("\n## ")[0]
    lines = re.findall(r"^\d+\. (.*?)(?: — |\n(?! ))", section, re.M | re.S)
    return [re.findall(r"`(\w+)(?:\.py)?`", line) for line in lines]


@pytest.fixture(scope="module")
def house() -> House:
    return House(PACKAGE)


@pytest.fixture(scope="module")
def rooms() -> list[list[str]]:
    return written_rooms((HERE / "CONTRIBUTING.md").read_text(encoding="utf-8"))


def test_every_module_is_in_a_room(house: House, rooms: list[list[str]]) -> None:
    assert house.homeless(rooms) == []
    written = {name for names in rooms for name in names}
    assert {name for name in written if name not in house.modules and name != "__init__"} == set()


def test_a_room_imports_only_from_rooms_above_it(house: House, rooms: list[list[str]]) -> None:
    assert house.upward(rooms) == []
    assert len(house.imports) > 500


def test_rooms_are_entered_by_their_doors(house: House) -> None:
    assert house.through_walls() == []
    assert house.without_door() == []


def test_imports_stand_at_the_top(house: House) -> None:
    assert house.late() == set(LATE)


def test_no_two_files_have_one_name(house: House) -> None:
    assert house.twins() == []


def test_no_two_classes_have_one_name(house: House) -> None:
    assert set(house.classes_of_one_name()) == TWO_CLASSES


def test_no_folder_is_crowded(house: House) -> None:
    assert house.crowded() == []


def test_no_file_is_long(house: House) -> None:
    lines = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in house.modules.items()}
    assert {name: count for name, count in lines.items() if count > LONGEST} == {}


PAGE = """# Contributing

## Rooms

1. `errors.py`, `_checks.py` — below all
2. `model` — what is declared
3. `study` — what is done
4. `__init__.py` — what is shown

## Next
"""


def build(root: Path, files: dict[str, str]) -> House:
    for name, text in files.items():
        path = root / "toy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return House(root / "toy")


GOOD = {
    "__init__.py": '"""All."""\nfrom toy.study import Study\n',
    "errors.py": "",
    "_checks.py": "from toy.errors import Wrong\n",
    "model/__init__.py": '"""Model."""\nfrom toy.model._problem import Problem\n__all__ = ["Problem"]\n',
    "model/_problem.py": "from toy._checks import whole\n",
    "study/__init__.py": '"""Study."""\nfrom toy.study._study import Study\n',
    "study/_study.py": "import math\nfrom toy.model import Problem\n",
}


def test_a_tree_that_keeps_the_rules_passes(tmp_path: Path) -> None:
    toy, written = build(tmp_path, GOOD), written_rooms(PAGE)
    assert written == [["errors", "_checks"], ["model"], ["study"], ["__init__"]]
    assert not any([toy.homeless(written), toy.upward(written), toy.through_walls(), toy.late()])
    assert not any([toy.twins(), toy.classes_of_one_name(), toy.crowded(), toy.without_door()])


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("model/_problem.py", "from toy.study import Study\n"),
        ("model/_problem.py", "import toy.study\n"),
        ("model/_problem.py", "def late():\n    from toy import study\n"),
        ("model/_problem.py", "if TYPE_CHECKING:\n    from toy.study import Study\n"),
        ("errors.py", "from toy.model import Problem\n"),
        ("study/_study.py", "from toy import Study\n"),
    ],
)
def test_an_import_of_a_room_below_is_found(tmp_path: Path, file: str, text: str) -> None:
    assert [one.by for one in build(tmp_path, GOOD | {file: text}).upward(written_rooms(PAGE))] == [
        file.removesuffix(".py").replace("/", ".")
    ]


@pytest.mark.parametrize("text", ["from toy.model._problem import Problem\n", "from toy.model import _problem\n"])
def test_a_way_through_the_wall_is_found(tmp_path: Path, text: str) -> None:
    assert len(build(tmp_path, GOOD | {"study/_study.py": text}).through_walls()) == 1


def test_other_breaches_are_found(tmp_path: Path) -> None:
    many = {f"model/_part_{number}.py": "" for number in range(MOST)}
    late = "class Wrong: ...\ndef late():\n    import toy.errors\n"
    again = "def make():\n    class _Wrong: ...\n"
    toy = build(tmp_path, GOOD | many | {"extra.py": late, "study/problem.py": again})
    assert toy.homeless(written_rooms(PAGE)) == ["extra"]
    assert toy.late() == {("extra", "errors")}
    assert toy.twins() == ["problem"]
    assert toy.classes_of_one_name() == ["Wrong"]
    assert toy.crowded() == ["toy/model"]
    assert build(tmp_path, {"study/__init__.py": "from toy.study._study import Study\n"}).without_door() == ["study"]
    assert build(tmp_path, {"study/__init__.py": '"""Study."""\ndef work(): ...\n'}).without_door() == ["study"]
