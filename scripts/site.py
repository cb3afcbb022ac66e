#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the documentation a site: README, docs/ and a page for each tool, with search.

usage: site.py --output=FOLDER [TOOL...]

MkDocs writes the pages; it is Debian's package `mkdocs`. A link that leads nowhere ends the
script with an error.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The order of the menu, which is that of README. Every page of docs/ is in it once, or the script ends with an error.
MENU = {
    "To start": ["why", "command", "python", "recipes", "install", "glossary"],
    "Settings of a YAML": ["configuration", "editors", "out-of-memory", "memory", "swap", "planning", "experts", "fine-tuning", "muon", "chunked-loss", "dropout", "dynamic-graph", "deepseek-v4"],
    "Running and comparing": ["running", "reports", "traces", "executed-timelines", "oracle", "ascend"],
    "Time": ["schedules", "simulator", "targets", "costs", "calibration", "engine", "b200", "performance"],
    "How it is built": ["architecture", "walk-through", "ranks", "proofs", "known-bugs", "planning-problems", "adding", "adding-schedule", "development", "dependencies", "sources"],
}


def collect(folder):
    """Copies the pages, with links as the site has them."""
    readme = (ROOT / "README.md").read_text()
    # Files outside of docs/ are no pages: their paths stay as text.
    readme = re.sub(r"\[([^\]]+)\]\((?!docs/|https?:|#)([^)]*)\)", r"\1 (`\2`)", readme)
    (folder / "index.md").write_text(readme.replace("](docs/", "](").replace('src="docs/', 'src="'))
    for path in (ROOT / "docs").rglob("*"):
        if path.suffix in (".md", ".svg", ".png", ".ipynb"):
            target = folder / path.relative_to(ROOT / "docs")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    for page in folder.rglob("*.md"):
        text = re.sub(r"\[([^\]]+)\]\((?:\.\./)+([^)]*)\)", r"\1 (`\2`)", page.read_text())
        # The site's generator wants an empty line before lists.
        text = re.sub(r"(?m)^((?![-*|#> ]|\d+\.).+)\n(- |\d+\. )", r"\1\n\n\2", text)
        page.write_text(text)


def make_menu(folder):
    found = {path.stem for path in folder.glob("*.md")} - {"index"}
    menu = ["nav:", "  - mf: index.md"]
    for title, names in MENU.items():
        menu.append(f"  - {title}:")
        menu += [f"      - {name}.md" for name in names if name in found]
        found -= set(names)
    if found:
        sys.exit(f"site.py: no place in the menu for {', '.join(sorted(found))}; add it to MENU")
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
