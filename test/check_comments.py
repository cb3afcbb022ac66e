"""Checks that sentences of comments have a subject.

usage: check_comments.py SOURCE_FOLDER

A sentence such as "Of the last step.", "What a call reads." or "Which layers a
setting covers." has no noun that says what the comment is about: a reader has
to find it in the code. In the
folders below, no sentence of a comment begins with one of these words.
"""

import os
import re
import sys

FOLDERS = ("benchmarks", "cmake", "dialects", "include", "lib", "passes", "scripts", "test", "tools")
COMMENT = re.compile(r"(?P<before>.*?)(?P<mark>///<|///|//|#)(?: (?P<text>.*))?$")
SENTENCE = re.compile(r"(?:^|\. )((?:Of|What|Those|That|Which|Whose) .*)")


def find_files(source):
    for folder in FOLDERS:
        for path, folders, names in os.walk(os.path.join(source, folder)):
            folders.sort()
            for name in sorted(names):
                if name.endswith((".cpp", ".h", ".td", ".py")):
                    yield os.path.join(path, name)


def get_comments(path):
    """Yields the number of the first line and the text of each comment. Lines of comments that follow each other are one."""
    marks = ("#",) if path.endswith(".py") else ("///<", "///", "//")
    first, text, style = 0, None, None
    for number, line in enumerate(open(path), 1):
        match = COMMENT.match(line.rstrip("\n"))
        if match and match["mark"] in marks and (not match["before"].strip() or match["before"].endswith(" ")):
            is_alone = not match["before"].strip()
            goes_on = text is not None and is_alone and style == match["mark"] and match["text"]
            if goes_on:
                text = (text + " " + match["text"].strip()).lstrip()
                continue
            if text is not None:
                yield first, text
            first, text, style = number, (match["text"] or "").strip(), match["mark"]
        elif text is not None:
            yield first, text
            text = None
    if text is not None:
        yield first, text


def main():
    problems = []
    for path in find_files(sys.argv[1]):
        for number, text in get_comments(path):
            match = SENTENCE.search(text)
            if match:
                place = os.path.relpath(path, sys.argv[1])
                problems.append("%s:%d: expected a subject in '%s'" % (place, number, match[1][:60]))
    print("\n".join([*problems, "%d problems" % len(problems)]))
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
