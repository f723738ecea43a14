"""Break the prose of all pages at one width: ``python docs/wrap_prose.py``; a test keeps it.

Only paragraphs and items with a line that is too long are broken anew. Headings, tables, code and HTML stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 120
#: What begins a paragraph of its own: an item, with its indent and mark.
_ITEM = re.compile(r"^( *)([-*+] |\d+\. )")
#: Lines that are no prose: headings, tables, HTML, pictures, directives of MyST, definitions of links, indented code.
_NO_PROSE = re.compile(r"^(#| *\||<|!\[|:::|\[[^\]]+\]: | {4,}(?![-*+] |\d+\. ))")
#: A line that began so would be read as an item, a heading or a quotation.
_NO_BEGINNING = re.compile(r"^([-*+>=|]$|#+$|\d+[.)]$|:::)")


def pages() -> list[Path]:
    """All pages of the repository."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "api").glob("*.md")])


def wrapped(text: str) -> str:
    """Break paragraphs whose lines are too long.

    >>> print(wrapped("- " + "word " * 30))
    - word word word word word word word word word word word word word word word word word word word word word word word
      word word word word word word word
    """
    return "\n".join(line for lines, prose in _parts(text) for line in (_broken(lines) if prose else lines))


def _parts(text: str) -> Iterator[tuple[list[str], bool]]:
    """Paragraphs and items, which are prose, and other lines each on their own."""
    part: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = re.match(r"^ *(`{3,}|~{3,})", line)
        prose = not fence and not mark and line.strip() and (part or not _NO_PROSE.match(line))
        prose = prose and not re.match(r"^(#| *\||<!--)", line)
        if part and (not prose or _ITEM.match(line)):
            yield part, True
            part = []
        if prose:
            part.append(line)
        else:
            yield [line], False
        if mark:
            fence = "" if fence == mark[1] else fence or mark[1]
    if part:
        yield part, True


def _broken(lines: list[str]) -> list[str]:
    if all(len(line) <= WIDTH for line in lines):
        return lines
    item = _ITEM.match(lines[0])
    first = item[0] if item else re.match(r" *", lines[0])[0]  # type: ignore[index]
    rest = " " * len(first)
    words = _words(" ".join([lines[0].removeprefix(first), *(line.strip() for line in lines[1:])]))
    found = [first + words[0]]
    for word, after in zip(words[1:], [*words[2:], ""], strict=True):
        # The word before one that must not begin a line takes that one along.
        together = f"{word} {after}" if _NO_BEGINNING.match(after) else word
        if len(found[-1]) + 1 + len(together) > WIDTH and not _NO_BEGINNING.match(word):
            found.append(rest + word)
        else:
            found[-1] += f" {word}"
    return found


def _words(text: str) -> list[str]:
    """Words, inline code in one piece.

    >>> _words("say `a b`, or c")
    ['say', '`a b`,', 'or', 'c']
    """
    return re.findall(r"(?:`+[^`]+`+|[^\s`])+|`", text)


if __name__ == "__main__":
    for page in pages():
        before = page.read_text(encoding="utf-8")
        after = wrapped(before)
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(f"broken anew: {page.relative_to(ROOT)}")
