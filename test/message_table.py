# SPDX-License-Identifier: Apache-2.0
"""Checks what a tool says of changes of a file.

usage: message_table.py TABLE FILE COMMAND...

TABLE has cases: changes of FILE, a line each, and below them, indented, the messages that COMMAND prints about the changed file,
which stands for @ in an argument, or else is the last one. `%messages` is this script in RUN lines.

    KEY: VALUE      instead of the line with this key, or behind the last line
    - KEY           without the line with this key
    s/OLD/NEW/      with NEW, in which & is what OLD matched, for each match of a regular expression
    NAME=VALUE      with this variable of the environment

A message is the end of a line. COMMAND has to print these messages in this order and no other errors, no other warnings if one
is expected, and no other notes if one is. It has to fail if one is an error, and to succeed otherwise. `nothing` stands for no
message.
"""

import os
import re
import subprocess
import sys


def read_cases(path):
    """Number, changes and messages of each case."""
    cases = []
    with open(path) as file:
        for number, line in enumerate(file, 1):
            text = line.strip()
            if not text or line.startswith("#"):
                continue
            if not line.startswith(" ") and (not cases or cases[-1][2]):
                cases.append((number, [], []))
            cases[-1][2 if line.startswith(" ") else 1].append(text)
    return cases


def change(text, edit):
    if edit.startswith("s/"):
        _, old, new, _ = re.split(r"(?<!\\)/", edit)
        changed = re.sub(old, lambda match: new.replace("\\n", "\n").replace("&", match[0]), text, flags=re.MULTILINE)
    else:
        line = r"(?m)^( *)%s:.*\n" % re.escape(edit.removeprefix("- ").split(":")[0])
        added = "" if edit.startswith("- ") else edit + "\n"
        changed = re.sub(line, lambda match: added and match[1] + added, text)
        if changed == text:
            indent = re.match(" *", "".join(text.splitlines()[-1:]))[0]
            changed += added and indent + added
    if changed == text:
        raise ValueError("'%s' changes nothing" % edit)
    return changed


def check(text, edits, messages, path, command):
    """What is wrong with a case."""
    variables = dict(os.environ)
    for edit in edits:
        if re.match(r"[A-Z_]+=", edit):
            name, _, variables[name] = edit.partition("=")
        else:
            text = change(text, edit)
    with open(path, "w") as file:
        file.write(text)
    arguments = [argument.replace("@", path) for argument in command]
    arguments += [path] if arguments == command else []
    result = subprocess.run(arguments, capture_output=True, text=True, env=variables)
    if result.returncode != any("error:" in message for message in messages):
        yield "exit code %d" % result.returncode
    expected = [message for message in messages if message != "nothing"]
    kinds = [kind for kind in ("warning:", "note:") if not expected or any(kind in message for message in expected)]
    printed = [line for line in result.stderr.splitlines() if any(kind in line for kind in ["error:", *kinds])]
    if len(printed) != len(expected) or not all(map(str.endswith, printed, expected)):
        yield "prints\n    " + "\n    ".join(printed or ["nothing"])


def main():
    table, base, *command = sys.argv[1:]
    with open(base) as file:
        text = file.read()
    problems = []
    for number, edits, messages in read_cases(table):
        found = check(text, edits, messages, table + ".yaml", command)
        problems += ("%s:%d: %s" % (table, number, problem) for problem in found)
    sys.exit("\n".join(problems) or None)


if __name__ == "__main__":
    main()
