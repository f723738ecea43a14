"""``index.html``: all sections of a reproduction on one page, with relative links only."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from mfbandit.reproduce._section import Picture, Section, Table
from mfbandit.version import __version__

__all__ = ["page"]

_STYLE = """
:root { --ink: #1f2328; --soft: #59636e; --line: #d9dee3; --paper: #fff; --tint: #f5f7f9; --accent: #0072b2; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 66rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.25; margin: 0 0 .4rem; }
h2 { font-size: 1.35rem; margin: 0 0 .8rem; }
p, li { max-width: 46rem; }
a { color: var(--accent); text-decoration: none; } a:hover { text-decoration: underline; }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; padding: 0; margin: 1rem 0 0; }
section { border-top: 1px solid var(--line); margin-top: 2.5rem; padding-top: 2rem; }
.lead, .setup, figcaption, caption, footer { color: var(--soft); }
.setup, figcaption, footer { font-size: .875rem; }
.claim { background: var(--tint); border-left: 3px solid var(--accent); margin: 0 0 1rem;
  padding: .7rem 1rem; }
.claim b, .measured b { display: block; font-size: .8rem; letter-spacing: .04em; text-transform: uppercase;
  color: var(--soft); }
.measured ul { margin: .2rem 0 1rem; padding-left: 1.2rem; } .measured li { margin: .3rem 0; }
figure { margin: 1.5rem 0; } figure img { max-width: 100%; height: auto; display: block; }
.scroll { overflow-x: auto; margin: 1.5rem 0 .5rem; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: .5rem; }
th, td { padding: .35rem .8rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; border-bottom: 2px solid var(--line); }
.text { text-align: left; } tbody tr:hover { background: var(--tint); }
"""


def page(sections: Sequence[Section]) -> str:
    """Write the page.

    Examples
    --------
    >>> html = page([Section("bounds", "Bounds", "They hold.", ("They do.",), "No trials.")])
    >>> '<section id="bounds">' in html
    True
    """
    links = "".join(f'<li><a href="#{one.name}">{escape(one.title)}</a></li>' for one in sections)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Multi-Fidelity Multi-Armed Bandits Revisited: a reproduction</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>Multi-Fidelity Multi-Armed Bandits Revisited: a reproduction</h1>
<p class="lead">What the paper of Wang, Wu, Chen and Lui (NeurIPS 2023) claims, and what was measured,
including where a claim does not hold. Every number can be computed again with
<code>mfbandit reproduce</code>.</p>
<nav aria-label="Contents"><ul>{links}</ul></nav>
{"".join(_section(one) for one in sections)}
<footer><p>Written by mfbandit {escape(__version__)}.</p></footer>
</main>
</body>
</html>
"""


def _section(section: Section) -> str:
    findings = "".join(f"<li>{escape(finding)}</li>" for finding in section.findings)
    return f"""
<section id="{escape(section.name)}">
<h2>{escape(section.title)}</h2>
<p class="claim"><b>The paper</b>{escape(section.claim)}</p>
<div class="measured"><b>Measured</b><ul>{findings}</ul></div>
{"".join(_picture(picture) for picture in section.pictures)}
{"".join(_table(table) for table in section.tables)}
<p class="setup">{escape(section.setup)} Again: <code>mfbandit reproduce {escape(section.name)}</code></p>
</section>
"""


def _picture(picture: Picture) -> str:
    stem = escape(picture.stem)
    return (
        f'<figure><img src="{stem}.svg" alt="{escape(picture.alt)}">'
        f'<figcaption>{escape(picture.alt)}. <a href="{stem}.png">PNG</a> · <a href="{stem}.svg">SVG</a>'
        "</figcaption></figure>\n"
    )


def _table(table: Table) -> str:
    text = [_is_text([row[position] for row in table.rows]) for position in range(len(table.headings))]
    head = "".join(_cell("th", *pair) for pair in zip(table.headings, text, strict=True))
    body = "".join(
        f"<tr>{''.join(_cell('td', *pair) for pair in zip(row, text, strict=True))}</tr>\n" for row in table.rows
    )
    stem = escape(table.stem)
    return (
        f'<div class="scroll"><table><caption>{escape(table.caption)} <a href="{stem}.csv">CSV</a></caption>'
        f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>\n"
    )


def _cell(tag: str, content: str, text: bool) -> str:
    kind = ' class="text"' if text else ""
    return f"<{tag}{kind}>{escape(content)}</{tag}>"


def _is_text(cells: Sequence[str]) -> bool:
    """Whether a column holds words rather than numbers."""
    return any(cell[:1].isalpha() for cell in cells)
