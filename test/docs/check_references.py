# SPDX-License-Identifier: Apache-2.0
"""Finds what pages, tests, benchmarks and sources refer to and the repository does not have.

usage: check_references.py ROOT

A relative link of a Markdown page leads to a file, and its anchor to a heading
there. A path that ends in one of SUFFIXES is a file: of the root, of one of PLACES,
or of the folder of the file that names it. Those of URLs and variables and those that
are elsewhere (OTHERS) do not count; of C++ and TableGen only comments do, as strings
name files that tests make and includes are the compiler's to check.
"""

import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = {".git", "build", "data", "Inputs", "generated", "__pycache__"}
SOURCES = (".md", ".py", ".cpp", ".h", ".td", ".test", ".mlir", ".sh", ".txt", ".cmake", ".js")
SUFFIXES = "cpp|h|td|mlir|py|test|yaml|md|sh|json|jsonl"
PLACES = ["", "docs", "include", "lib", "test", "test/data", "test/data/mindformers"]
# Paths of MindSpore Transformers, Megatron-LM, hyper-parallel, LLVM and Highway; of checkpoints; and
# parts that examples leave out.
OTHERS = re.compile(r"(hwy|modules/transformer|research|megatron/core|unit_tests|llvm|mlir|step_\d+|nowhere)\b")
COMMENT = re.compile(r"//[^\n]*|\[\{.*?\}\]", re.DOTALL)
PATH = re.compile(r"(?<![\w./%$}\])@:~*<>{-])((?:[\w-][\w.-]*/)+[\w.-]+\.(?:" + SUFFIXES + r"))(?![\w/*{(<-])")
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def get_anchors(path):
    """The anchors of headings, as hosts of Markdown pages make them."""
    text = FENCE.sub("", open(path).read())
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def get_link_problems(path, text):
    for link in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        file = os.path.join(os.path.dirname(path), target) if target else path
        if not os.path.exists(file):
            yield "there is no '%s'" % link
        elif anchor and anchor not in get_anchors(file):
            yield "'%s' has no heading '#%s'" % (target or "it", anchor)


def get_path_problems(root, path, text):
    if path.endswith((".cpp", ".h", ".td")):
        text = "\n".join(COMMENT.findall(text))
    places = [os.path.join(root, place) for place in PLACES] + [os.path.dirname(path)]
    for mention in dict.fromkeys(PATH.findall(text)):
        if not OTHERS.match(mention) and not any(os.path.exists(os.path.join(place, mention)) for place in places):
            yield "there is no '%s'" % mention


def walk(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - SKIPPED)
        for name in sorted(names):
            # Tests of these checks quote what they find.
            if name.endswith(SOURCES) and not (name.endswith(".test") and folder == HERE):
                yield os.path.join(folder, name)


def main():
    root = os.path.abspath(sys.argv[1])
    files = problems = 0
    for path in walk(root):
        files += 1
        text = open(path).read()
        found = get_path_problems(root, path, text)
        links = get_link_problems(path, text) if path.endswith(".md") else []
        for problem in [*found, *links]:
            problems += 1
            print("%s: %s" % (os.path.relpath(path, root), problem))
    print("%d files, %d problems" % (files, problems))
    sys.exit(problems > 0)


if __name__ == "__main__":
    main()
