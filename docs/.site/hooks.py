"""What the site is made of: the pages of the repository where they lie, files that they link to, and the reference.

Paths in the site are those in the repository, so a link that works there works here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", flags=re.MULTILINE | re.DOTALL)
SHIM = "assets/iframe-worker.js"

START = ("quickstart", "concepts", "choosing", "tuning", "faq", "security")
PROJECT = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
SEAMS = {
    "Models": ("rate.models.policy", "rate.models.config"),
    "Environments": ("rate.envs.spec", "rate.envs.simple", "rate.score"),
    "Training": ("rate.training.config", "rate.training.loggers", "rate.objectives.config"),
    "Data": ("rate.data.config", "rate.data.writer", "rate.data.store"),
    "Contracts for your own": ("rate.testing",),
}
"""Pages of the reference beside that of `import rate`: what is to be implemented or configured."""


def under(folder: str) -> list[str]:
    """The pages of a folder and below, that of the folder first."""
    found = (path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*.md"))
    return sorted(found, key=lambda name: (name.count("/"), not name.endswith("README.md"), name))


def exported() -> list[str]:
    """What `import rate` gives, by the paths where it is written."""
    tree = ast.parse((ROOT / "src" / "rate" / "api.py").read_text())
    froms = (node for node in tree.body if isinstance(node, ast.ImportFrom))
    return [f"{node.module}.{item.name}" for node in froms for item in node.names]


def reference() -> dict[str, str]:
    """The pages of the reference: name in the site to text; the texts themselves are the docstrings."""
    pages = {"reference/rate.md": ("import rate", exported())}
    pages |= {f"reference/{name.split()[0].lower()}.md": (name, list(modules)) for name, modules in SEAMS.items()}
    bodies = {file: "\n\n".join(f"::: {one}" for one in names) for file, (_, names) in pages.items()}
    return {file: f"# {title}\n\n{bodies[file]}\n" for file, (title, _) in pages.items()}


def pages() -> list[str]:
    return ["README.md", *PROJECT, *under("docs"), *under("benchmarks")]


def linked(page: str) -> Iterator[str]:
    """Files of the repository that a page links to or shows."""
    text = FENCE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    for _, target in LINK.findall(text):
        path = (ROOT / page).parent / unquote(target.partition("#")[0])
        if not re.match(r"[a-z]+:", target) and path.is_file() and path.resolve().is_relative_to(ROOT):
            yield path.resolve().relative_to(ROOT).as_posix()


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    benchmarks = under("benchmarks")
    config.nav = [
        {"Home": "README.md"},
        {"Start": [f"docs/{name}.md" for name in START]},
        {"How to": under("docs/howto")},
        {"Models": under("docs/models")},
        {"Environments": under("docs/environments")},
        {"Benchmarks": benchmarks},
        {"Reference": list(reference())},
        {"Project": list(PROJECT)},
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    texts = pages()
    for name in dict.fromkeys([*texts, *(target for page in texts for target in linked(page))]):
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for name, text in reference().items():
        files.append(File.generated(config, name, content=text))
    files.append(File.generated(config, SHIM, abs_src_path=str(Path(__file__).parent / "iframe-worker.js")))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """A link to a directory is one to its page, if it has one; a raw report names figures that were not kept."""
    is_raw = page.file.src_uri.endswith("/report.md")

    def mended(found: re.Match[str]) -> str:
        place = (ROOT / page.file.src_uri).parent / found[2]
        if place.is_dir() and (place / "README.md").is_file():
            return f"{found[1]}{found[2].rstrip('/')}/README.md)"
        is_lost = place.is_dir() or (is_raw and not place.exists())
        return found[1].strip("![](") if is_lost else found[0]

    return LINK.sub(mended, markdown)
