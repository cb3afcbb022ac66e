#!/usr/bin/env python3
"""Runs clang-tidy on every C++ file that a build compiles.

usage: check_tidy.py BUILD_FOLDER [PART_OF_PATH]...

Files that a build compiles in a group are checked in that group, with the
precompiled headers of the build: what they include is read once. Fails if there is a
finding. A group that had none is not checked again until a file of it, a header
of ours that it includes, its command or .clang-tidy changes. With parts of
paths, only groups with a file whose path contains one of them are checked.
"""

import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLANG_TIDY = "clang-tidy-22"


def is_ours(path, build):
    return path.startswith(SOURCE + os.sep) and not path.startswith(build + os.sep)


def read_sources(file):
    """The sources of a unit: those that a group's file includes, or the file itself."""
    if "Unity" not in file.split(os.sep):
        return [file]
    return re.findall(r'^#include "(.*)"$', open(file).read(), re.MULTILINE)


def read_dependencies(build):
    """Object file -> the files of ours that it was compiled from."""
    text = subprocess.run(
        ["ninja", "-C", build, "-t", "deps"], check=True, capture_output=True, text=True
    ).stdout
    dependencies = {}
    for paragraph in text.split("\n\n"):
        head, *lines = paragraph.splitlines() or [""]
        files = (os.path.normpath(os.path.join(build, line.strip())) for line in lines)
        dependencies[head.split(":")[0]] = sorted(f for f in files if is_ours(f, build))
    return dependencies


def hash_inputs(entry, dependencies, build):
    """Changes if and only if what clang-tidy would see may have changed."""
    files = [entry["file"], os.path.join(SOURCE, ".clang-tidy")]
    output = re.search(r" -o (\S+) ", entry["command"]).group(1)
    files += dependencies.get(output, [])
    # An object depends on precompiled headers, and these on what they were made of.
    for headers in re.findall(r"\S+\.pch\b", entry["command"]):
        files += dependencies.get(os.path.relpath(headers, build), [])
    digest = hashlib.sha256(entry["command"].encode())
    for file in files:
        # A file that was moved since the last build is a change, too.
        digest.update(open(file, "rb").read() if os.path.exists(file) else file.encode())
    return digest.hexdigest()


def find_unused_names(file):
    """What clang-tidy looks for in single files only: names that nothing reads.

    misc-unused-using-decls and misc-unused-alias-decls skip a group's files.
    """
    # Comments and includes do not use a name; lines stay where they are.
    text = re.sub(r"//.*|^#include.*", "", open(file).read(), flags=re.MULTILINE)
    findings = ""
    for found in re.finditer(r"^using [\w:]+::(\w+);|^namespace (\w+) = ", text, re.MULTILINE):
        name = found[1] or found[2]
        if len(re.findall(r"\b%s\b" % name, text)) == 1 + found[0].count("::" + name + "::"):
            line = text.count("\n", 0, found.start()) + 1
            findings += "%s:%d: error: nothing uses the name '%s'\n" % (file, line, name)
    return findings


def check(file, build):
    """clang-tidy's findings as text, empty if there are none."""
    result = subprocess.run(
        [CLANG_TIDY, "-p", build, "--quiet", file],
        capture_output=True,
        text=True,
    )
    unused = "".join(find_unused_names(source) for source in read_sources(file))
    if result.returncode == 0 and not result.stdout.strip():
        return unused
    return unused + result.stdout + ("" if result.stdout.strip() else result.stderr)


def main():
    build, parts = os.path.abspath(sys.argv[1]), sys.argv[2:]
    entries = json.load(open(os.path.join(build, "compile_commands.json")))
    sources = {
        e["file"]: [f for f in read_sources(e["file"]) if is_ours(f, build)] for e in entries
    }
    entries = [e for e in entries if sources[e["file"]]]
    if parts:
        entries = [
            e for e in entries if any(part in f for part in parts for f in sources[e["file"]])
        ]
    if not entries:
        sys.exit("error: no file to check")
    dependencies = read_dependencies(build)
    cache = os.path.join(build, "clang-tidy")
    os.makedirs(cache, exist_ok=True)
    marks = {e["file"]: os.path.join(cache, hash_inputs(e, dependencies, build)) for e in entries}
    todo = sorted(file for file, mark in marks.items() if not os.path.exists(mark))

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, findings in zip(todo, pool.map(lambda file: check(file, build), todo)):
            if findings:
                failed += 1
                print(findings)
            else:
                open(marks[file], "w").close()
    print(
        "%d files in %d units, %d units checked, %d with findings"
        % (sum(len(sources[file]) for file in marks), len(marks), len(todo), failed)
    )
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
