#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the documentation a site: README, docs/ and a page for each tool, with search. docs/README.md is the menu.

usage: site.py --output=FOLDER [TOOL...]

MkDocs, Debian's package `mkdocs`, writes the pages. A link that leads nowhere ends the
script with an error.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# A section of the index of pages, docs/README.md, and the pages in the first cell of its rows.
SECTION = re.compile(r"^\| (.+?) \| \|\n\|---\|---\|\n((?:\|.*\n)+)", re.MULTILINE)
PAGE = re.compile(r"\]\(([\w/-]+\.md)\)")
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|mailto:|#)([^)#]*)(#[^)]*)?\)")
# What pages of the repository are in the site.
NAMES = {"README.md": "index.md", "docs/README.md": "pages.md"}


def adapt_links(text, page):
    """The text of a page of the repository, with links as the site has them. Files outside of docs/ are no pages: their
    paths stay as text."""

    def adapt(match):
        label, path, anchor = match[1], match[2], match[3] or ""
        target = os.path.normpath(os.path.join(os.path.dirname(page), path))
        if target not in NAMES and not target.startswith("docs/"):
            return f"{label} (`{path}`)"
        name = NAMES.get(target, target.removeprefix("docs/"))
        own = os.path.dirname(NAMES.get(page, page.removeprefix("docs/")))
        return f"[{label}]({os.path.relpath(name, own or '.')}{anchor})"

    return LINK.sub(adapt, text)


def collect(folder):
    """Copies the pages, with links as the site has them."""
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*")]:
        if path.suffix not in (".md", ".svg", ".png", ".ipynb"):
            continue
        page = str(path.relative_to(ROOT))
        target = folder / NAMES.get(page, page.removeprefix("docs/"))
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix != ".md":
            shutil.copy(path, target)
            continue
        text = adapt_links(path.read_text(), page)
        # The site's generator wants an empty line before lists.
        target.write_text(re.sub(r"(?m)^((?![-*|#> ]|\d+\.).+)\n(- |\d+\. )", r"\1\n\n\2", text))


def make_menu(folder):
    """The sections of the index in their order. Each page is in the index once, or the script ends with an error."""
    found = {str(path.relative_to(folder)) for path in folder.rglob("*.md")}
    found = {name for name in found if name.split("/")[0] not in ("tools", "generated", "decisions")} - {"index.md", "pages.md"}
    menu = ["nav:", "  - mf: index.md", "  - All pages: pages.md"]
    for title, rows in SECTION.findall((ROOT / "docs" / "README.md").read_text()):
        menu.append(f"  - {title[0].upper() + title[1:]}:")
        for row in rows.splitlines():
            for name in PAGE.findall(row.split("|")[1]):
                if name not in found:
                    sys.exit(f"site.py: docs/README.md lists {name}, which does not exist or is listed twice")
                found.remove(name)
                menu.append(f"      - {name}")
    if found:
        sys.exit(f"site.py: docs/README.md does not list {', '.join(sorted(found))}")
    for title, name in (("Tools", "tools"), ("Generated from the source", "generated"), ("Decisions", "decisions")):
        pages = sorted((folder / name).glob("*.md"))
        if pages:
            menu.append(f"  - {title}:")
            menu += [f"      - {name}/{page.name}" for page in pages]
    return menu


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("tools", nargs="*", help="programs whose --help becomes a page")
    options = parser.parse_args()
    if not shutil.which("mkdocs"):
        sys.exit("site.py: mkdocs is missing; apt install mkdocs")
    with tempfile.TemporaryDirectory() as temporary:
        pages = pathlib.Path(temporary) / "docs"
        pages.mkdir()
        collect(pages)
        if options.tools:
            command = [sys.executable, ROOT / "scripts" / "tool_pages.py", "--format=markdown", f"--output={pages / 'tools'}"]
            subprocess.run(command + options.tools, check=True)
        settings = ["site_name: mf", f"docs_dir: {pages}", f"site_dir: {options.output.resolve()}", "theme: {name: readthedocs}", "use_directory_urls: false"]
        settings += ["plugins: [search]", "markdown_extensions: [tables, fenced_code, toc]", "strict: true"] + make_menu(pages)
        configuration = pathlib.Path(temporary) / "mkdocs.yml"
        configuration.write_text("\n".join(settings) + "\n")
        subprocess.run(["mkdocs", "build", "--quiet", "--clean", "--config-file", configuration], check=True)


if __name__ == "__main__":
    main()
