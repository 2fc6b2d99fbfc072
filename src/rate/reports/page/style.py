"""The style sheet of the HTML report, inlined into the page so that it needs no other file.

Figures are drawn on white, so they sit on a white card in dark mode too.
"""

from __future__ import annotations

CSS = """
:root { color-scheme: light dark; --page: #f6f7f9; --card: #ffffff; --ink: #1d2430; --soft: #566072;
  --line: #dfe3ea; --head: #eef1f6; --accent: #0059a0; --warn: #fff4dd; --warn-line: #d9a03a; }
@media (prefers-color-scheme: dark) { :root { --page: #14171c; --card: #1d2128; --ink: #e7eaf0; --soft: #a3adbd;
  --line: #343b47; --head: #262c36; --accent: #7ab8f5; --warn: #332a16; --warn-line: #a77a26; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main, header, footer { max-width: 74rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2.25rem; }
footer { padding-bottom: 2.5rem; color: var(--soft); font-size: .875rem; }
h1 { font-size: clamp(1.5rem, 1.1rem + 2vw, 2.1rem); line-height: 1.2; margin: 0 0 .35rem; }
h2 { font-size: 1.25rem; margin: 2.25rem 0 .75rem; }
.lead { color: var(--soft); margin: 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.scroll { overflow-x: auto; margin: 0 0 1rem; }
.scroll:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .8rem 1rem; color: var(--soft); }
caption span { display: inline-block; position: sticky; left: 1rem; max-width: min(100%, calc(100vw - 4.5rem)); }
th, td { padding: .55rem .5rem; text-align: left; border-top: 1px solid var(--line); vertical-align: top; }
tbody th, td { white-space: nowrap; }
.none { display: block; min-width: 4.5rem; white-space: normal; color: var(--soft); }
thead th { background: var(--head); font-weight: 600; vertical-align: bottom; }
th:first-child { padding-left: 1rem; }
tbody th { font-weight: 600; position: sticky; left: 0; background: var(--card); }
.many { font-size: .78rem; }
.many th, .many td { padding: .5rem .3rem; }
.many th:first-child { padding-left: 1rem; }
.many small { font-size: .72rem; }
.many .none { min-width: 0; }
td small { display: block; color: var(--soft); font-size: .8rem; }
.figures { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
figure { margin: 0 0 1rem; padding: .75rem; background: #ffffff; border: 1px solid var(--line); border-radius: 10px; }
.figures figure { margin: 0; }
figure img { display: block; width: 100%; height: auto; }
figure.wide img { max-width: 52rem; margin: 0 auto; }
.pan { overflow-x: auto; }
.pan img { min-width: 46rem; }
figcaption { color: #4a5363; font-size: .875rem; padding: .5rem .25rem 0; }
details { margin: 0 0 .6rem; padding: .6rem 1rem; }
summary { cursor: pointer; font-weight: 600; overflow-wrap: anywhere; }
summary span { font-weight: 400; color: var(--soft); }
pre { overflow-x: auto; background: var(--head); border-radius: 6px; padding: .75rem 1rem;
  font: .8rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.notes { margin-top: 1.25rem; background: var(--warn); border: 1px solid var(--warn-line); border-radius: 10px;
  padding: .7rem 1rem; }
.notes ul { margin: .25rem 0 0; padding-left: 1.2rem; }
dl { margin: 0; padding: .9rem 1rem; }
dt { font-weight: 600; }
dd { margin: 0 0 .7rem; color: var(--soft); }
dd:last-child { margin-bottom: 0; }
@media (max-width: 40rem) { main, header, footer { padding-left: .8rem; padding-right: .8rem; }
  th, td { padding: .5rem; } }
@media print { .scroll { overflow: visible; } body { background: #fff; } }
"""
