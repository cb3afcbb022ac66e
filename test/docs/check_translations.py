# SPDX-License-Identifier: Apache-2.0
"""Compares the code blocks of translated pages with those of the pages in English.

usage: check_translations.py [--update] ROOT

A page of docs/zh is the translation of README.md or of the page of the same name in docs/. Both have the same fenced blocks in
the same order, with the same lines `<!-- prints: COMMAND -->` above them, and the same indented commands, but for comments behind
them. The pages link to each other. With --update the fenced blocks of the translations are replaced by those in English.
"""

import argparse
import os
import re
import sys

FENCED = re.compile(r"(?:^<!-- [^\n]* -->\n)?^```\w*\n.*?^```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^    (\S.*)$", re.MULTILINE)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def get_commands(text):
    """The indented commands of a page, without the comments behind them."""
    return [re.sub(r"\s+# .*", "", command) for command in COMMAND.findall(FENCED.sub("", text))]


def get_differences(kind, original, translated):
    for number, (expected, actual) in enumerate(zip(original, translated), 1):
        if expected != actual:
            yield "%s %d differs:\n%s\nin English:\n%s" % (kind, number, actual, expected)
            return
    if len(original) != len(translated):
        yield "expected %d %ss as in English, but got %d" % (len(original), kind, len(translated))


def get_problems(original, translated, link, back):
    """What is wrong with a translation; `link` leads to it, `back` from it."""
    yield from get_differences("block", FENCED.findall(original), FENCED.findall(translated))
    yield from get_differences("command", get_commands(original), get_commands(translated))
    if "](%s)" % link not in original:
        yield "the page in English has no link to '%s'" % link
    if "](%s)" % back not in translated:
        yield "there is no link to '%s'" % back


def update(original, translated):
    blocks = FENCED.findall(original)
    if len(blocks) != len(FENCED.findall(translated)):
        return translated
    following = iter(blocks)
    return FENCED.sub(lambda _: next(following), translated)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("root")
    options = parser.parse_args()
    folder = os.path.join(options.root, "docs", "zh")
    pages = sorted(os.listdir(folder))
    problems = 0
    for name in pages:
        path = os.path.join(folder, name)
        is_readme = name == "README.md"
        original = read(os.path.join(options.root, "" if is_readme else "docs", name))
        translated = read(path)
        if options.update:
            translated = update(original, translated)
            with open(path, "w", encoding="utf-8") as file:
                file.write(translated)
        link = ("docs/zh/" if is_readme else "zh/") + name
        back = "../../README.md" if is_readme else "../" + name
        for problem in get_problems(original, translated, link, back):
            problems += 1
            print("docs/zh/%s: %s" % (name, problem))
    print("%d pages, %d problems" % (len(pages), problems))
    sys.exit(problems > 0)


if __name__ == "__main__":
    main()
