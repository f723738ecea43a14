"""How a report looks."""

from __future__ import annotations

__all__ = ["STYLE"]

STYLE = """
:root { --ink: #1f2328; --soft: #59636e; --line: #d9dee3; --paper: #fff; --tint: #f5f7f9; --accent: #0072b2; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 64rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.3; margin: .2rem 0 1.4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 0 0 .4rem; }
p { max-width: 46rem; margin: .3rem 0 .8rem; color: var(--soft); }
.kicker { margin: 0; }
.badge { display: inline-block; margin-left: .5rem; padding: .05rem .6rem; border-radius: 1rem;
  font-size: .8rem; font-weight: 600; }
.good { background: #dff3ea; color: #00664b; } .open { background: #fdf0d9; color: #7a4b00; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: .75rem; margin: 0; }
.tiles div { background: var(--tint); border-radius: .5rem; padding: .7rem 1rem; min-width: 0; }
.tiles dt { font-size: .78rem; letter-spacing: .04em; text-transform: uppercase; color: var(--soft); }
.tiles dd { margin: 0; font-size: 1.25rem; font-weight: 600; overflow-wrap: anywhere; }
section { border-top: 1px solid var(--line); margin-top: 2rem; padding-top: 1.5rem; }
figure { margin: .5rem 0 0; } figure img { max-width: 100%; height: auto; display: block; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .6rem; text-align: right; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
th { font-weight: 600; border-bottom-width: 2px; vertical-align: bottom; }
th small { display: block; font-weight: 400; }
small { color: var(--soft); font-size: .78rem; }
td.text, th.text { text-align: left; }
td.text { white-space: normal; min-width: 7rem; max-width: 18rem; overflow-wrap: break-word; }
tr.best td { font-weight: 600; background: #eaf4fa; }
pre { background: var(--tint); border-radius: .5rem; padding: 1rem; overflow-x: auto; font-size: .8rem;
  line-height: 1.4; max-height: 24rem; }
.wrong { background: #fdf3e1; border: 1px solid #f0d9a8; border-radius: .5rem; padding: 1rem 1.25rem; }
.wrong ul { margin: .3rem 0 0; padding-left: 1.2rem; overflow-wrap: anywhere; }
a { color: var(--accent); } b { color: var(--ink); font-weight: 600; }
summary { cursor: pointer; color: var(--accent); }
footer { margin-top: 3rem; font-size: .85rem; color: var(--soft); }
@media print { pre { max-height: none; } section { break-inside: avoid; } }
"""
