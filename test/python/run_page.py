# SPDX-License-Identifier: Apache-2.0
"""Runs the Python of a page or of a notebook, and compares what it prints with what is shown below each piece.

usage: run_page.py [--update] PAGE...

In a page (.md) a piece is a block ```python, and a block ```text right below it is what it prints; pieces run in the source
folder. In a notebook (.ipynb) a piece is a cell of code; cells run in a scratch folder beside a copy of the examples.
As in a notebook, the value of an expression at the end of a piece is printed. The pieces of a file share their variables.
With --update what is shown is written instead.
"""

import argparse
import ast
import contextlib
import difflib
import io
import json
import os
import re
import shutil
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PIECE = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


def run_piece(source, variables):
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "<piece>", "exec"), variables)
        if last:
            value = eval(compile(ast.Expression(last.value), "<piece>", "eval"), variables)
            if value is not None:
                print(repr(value))
    return printed.getvalue()


class MarkdownPage:
    def __init__(self, text):
        self.text = text
        self.folder = ROOT

    def pieces(self):
        return [(match[1], match[2] or "") for match in PIECE.finditer(self.text)]

    def with_outputs(self, outputs):
        rest = iter(outputs)

        def write(match):
            output = next(rest)
            return "```python\n%s```\n" % match[1] + ("\n```text\n%s```\n" % output if output else "")

        return PIECE.sub(write, self.text)


class Notebook:
    def __init__(self, text, scratch):
        self.content = json.loads(text)
        self.cells = [cell for cell in self.content["cells"] if cell["cell_type"] == "code"]
        shutil.copytree(os.path.join(ROOT, "examples"), os.path.join(scratch, "examples"))
        self.folder = os.path.join(scratch, "docs")
        os.mkdir(self.folder)

    def pieces(self):
        return [("".join(cell["source"]), "".join("".join(output["text"]) for output in cell["outputs"])) for cell in self.cells]

    def with_outputs(self, outputs):
        for cell, output in zip(self.cells, outputs):
            cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": output.splitlines(True)}] if output else []
        return json.dumps(self.content, indent=1, ensure_ascii=False) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("page", nargs="+")
    options = parser.parse_args()
    count = failed = 0
    for name in map(os.path.abspath, options.page):
        with tempfile.TemporaryDirectory() as scratch:
            with open(name, encoding="utf-8") as file:
                page = Notebook(file.read(), scratch) if name.endswith(".ipynb") else MarkdownPage(file.read())
            os.chdir(page.folder)
            pieces, variables = page.pieces(), {}
            outputs = [run_piece(source, variables) for source, _ in pieces]
            os.chdir(ROOT)
        count += len(pieces)
        if options.update:
            with open(name, "w", encoding="utf-8") as file:
                file.write(page.with_outputs(outputs))
            continue
        for (source, expected), actual in zip(pieces, outputs):
            if actual != expected:
                failed += 1
                print("%s prints something else:\n%s" % (name, source))
                sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), actual.splitlines(True), "page", "printed"))
    print("%d pieces, %d differ" % (count, failed))
    if failed:
        sys.exit("error: %d pieces differ; --update writes them anew" % failed)


if __name__ == "__main__":
    main()
