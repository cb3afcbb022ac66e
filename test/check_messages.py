# SPDX-License-Identifier: Apache-2.0
"""Checks the style of messages, or prints them all.

usage: check_messages.py [--table] SOURCE_FOLDER

Errors, warnings, remarks and notes of the tools begin in lower case, end without a full stop, say no
"failed" without a reason, and have neither exclamation marks nor "please". Messages in the words of the
dynamic graph's trainer (lib/Frontend/Config/Dynamic*.cpp, lib/Frontend/Import/DeepSeek4*.cpp) may begin in upper case, as they do there.

--table prints all of them in Markdown: by kind, then by the folder that says them. Values that are
filled in are shown as "…", choices between words one behind the other.
"""

import collections
import os
import re
import sys

FOLDERS = ("dialects", "include", "lib", "passes", "tools")
# Messages for developers of mf stand here: checks of the records of kernels, and the headers of the host's CANN.
OTHERS = ("lib/Cann/Headers/include", "tools/mf-tblgen")
KINDS = [
    ("errors", re.compile(r"\w*[eE]rror|fail\w*|refuse\w*|reject\w*")),
    ("warnings", re.compile(r"warn\w*|emitWarning")),
    ("remarks", re.compile(r"emitRemark\w*")),
    ("notes", re.compile(r"attachNote|note")),
]
CALL = re.compile(r"(?<!\w)(%s)\s*\(" % "|".join(pattern.pattern for _, pattern in KINDS))
TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
CHARACTER = re.compile(r"'(?:[^'\\\n]|\\.)+'")
COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|(\'(?:[^\'\\\n]|\\.)+\')|//[^\n]*|/\*.*?\*/', re.DOTALL)
PLACEHOLDER = re.compile(r"\{\d*(?::[^{}]*)?\}|%l*[dgsuz]+|%z[du]")
# A word that begins a sentence elsewhere; names such as MindSpore and YAML have another upper case letter.
CAPITAL = re.compile(r"[A-Z][a-z]+\b(?! \d)")


def without_comments(text):
    return COMMENT.sub(lambda match: match[1] or match[2] or re.sub(r"[^\n]", " ", match[0]), text)


def find_end(text, begin):
    """Where the statement or argument ends whose opening parenthesis is before `begin`; None for the declaration of a function."""
    depth, at = 1, begin
    while at < len(text):
        for literal in (TEXT, CHARACTER):
            if match := literal.match(text, at):
                at = match.end()
                break
        else:
            character = text[at]
            depth += (character in "([{") - (character in ")]}")
            if depth == 0 and character == ")" and re.match(r"\s*(?:const\s*|override\s*)*(?:\{|->)", text[at + 1 :]):
                return None
            if depth < 0 or (depth == 0 and character in ";,"):
                return at
            at += 1
    return at


def get_message(body):
    """The literals of an expression, with "…" for what stands between them."""
    parts, end = [], 0
    for literal in TEXT.finditer(body):
        before = body[end : literal.start()].rstrip(" \n\t(")
        # What is in front of the message ends with a comma.
        if before.strip(" \n\t()+<") and (parts or before.endswith("+")):
            parts.append("…")
        parts.append(literal[1].replace('\\"', '"').replace("\\n", " "))
        end = literal.end()
    if re.search(r"<<|\+|^\s*,", body[end:]) and parts and not PLACEHOLDER.search(parts[-1]):
        parts.append("…")
    return re.sub("…+", "…", PLACEHOLDER.sub("…", "".join(parts))).strip()


def find_messages(source):
    """Yields path, line, function and message."""
    for folder in FOLDERS:
        for path, folders, names in os.walk(os.path.join(source, folder)):
            folders.sort()
            if os.path.relpath(path, source).startswith(OTHERS):
                continue
            for name in sorted(names):
                if name.endswith((".cpp", ".h")):
                    file = os.path.join(path, name)
                    with open(file) as stream:
                        text = without_comments(stream.read())
                    for call in CALL.finditer(text):
                        end = find_end(text, call.end())
                        message = end and get_message(text[call.end() : end])
                        # A key alone is an argument of a function that has the message.
                        if message and re.search(r"\w\w+ \w", message):
                            yield os.path.relpath(file, source), text.count("\n", 0, call.start()) + 1, call[1], message


def get_fault(path, message):
    if message.endswith(".") and not message.endswith(("...", "…")):
        return "a full stop at the end"
    if re.search(r"[a-z]\.[;,]", message):
        return "a full stop before ';' or ','"
    if CAPITAL.match(message) and not re.search(
        r"lib/Frontend/(Config/Dynamic|Import/DeepSeek4)\w*\.cpp$", path
    ):
        return "a capital letter at the beginning"
    if re.search(r"\bfailed$", message) and "because" not in message:
        return "'failed' without a reason"
    if re.search(r"!$|! |\bplease\b", message, re.IGNORECASE):
        return "an exclamation mark or 'please'"
    return None


def print_table(messages):
    print("<!-- From the source by test/check_messages.py --table; not to be edited. -->\n# Messages\n")
    kinds = collections.defaultdict(lambda: collections.defaultdict(list))
    for path, _, function, message in messages:
        kind = next(name for name, pattern in KINDS if pattern.fullmatch(function))
        texts = kinds[kind][os.path.dirname(path)]
        if message not in texts:
            texts.append(message)
    for kind, _ in KINDS:
        count = sum(map(len, kinds[kind].values()))
        print("## %s\n\n%d messages.\n\n| from | %s |\n|---|---|" % (kind.capitalize(), count, kind))
        for folder, texts in sorted(kinds[kind].items()):
            for text in texts:
                print("| %s | %s |" % (folder, text.replace("|", "\\|")))
        print()


def main():
    messages = list(find_messages(sys.argv[-1]))
    if "--table" in sys.argv:
        print_table(messages)
        return
    problems = 0
    for path, line, _, message in messages:
        if fault := get_fault(path, message):
            problems += 1
            print("%s:%d: %s: %s" % (path, line, fault, message))
    print("%d messages, %d problems" % (len(messages), problems))
    sys.exit(problems > 0)


if __name__ == "__main__":
    main()
