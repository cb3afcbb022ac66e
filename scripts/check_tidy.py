#!/usr/bin/env python3
"""Runs clang-tidy on every C++ file that a build compiles.

usage: check_tidy.py BUILD_FOLDER [PART_OF_PATH]...

Fails if there is a finding. A file that had none is not checked again until it,
a header of ours that it includes, its command or .clang-tidy changes. With
parts of paths, only files that contain one of them are checked.
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


def hash_inputs(entry, dependencies):
    """Changes if and only if what clang-tidy would see may have changed."""
    files = [entry["file"], os.path.join(SOURCE, ".clang-tidy")]
    output = re.search(r" -o (\S+) ", entry["command"]).group(1)
    files += dependencies.get(output, [])
    digest = hashlib.sha256(entry["command"].encode())
    for file in files:
        digest.update(open(file, "rb").read())
    return digest.hexdigest()


def check(file, build):
    """clang-tidy's findings as text, empty if there are none."""
    # As system headers, what tablegen generates is neither matched nor reported;
    # that saves a third of the time.
    generated = ["--extra-arg-before=-isystem", "--extra-arg-before=" + build]
    result = subprocess.run(
        [CLANG_TIDY, "-p", build, "--quiet", *generated, file],
        capture_output=True,
        text=True,
    )
    if result.returncode == 0 and not result.stdout.strip():
        return ""
    return result.stdout + ("" if result.stdout.strip() else result.stderr)


def main():
    build, parts = os.path.abspath(sys.argv[1]), sys.argv[2:]
    entries = json.load(open(os.path.join(build, "compile_commands.json")))
    entries = [e for e in entries if is_ours(e["file"], build)]
    if parts:
        entries = [e for e in entries if any(part in e["file"] for part in parts)]
    if not entries:
        sys.exit("error: no file to check")
    dependencies = read_dependencies(build)
    cache = os.path.join(build, "clang-tidy")
    os.makedirs(cache, exist_ok=True)
    marks = {e["file"]: os.path.join(cache, hash_inputs(e, dependencies)) for e in entries}
    todo = sorted(file for file, mark in marks.items() if not os.path.exists(mark))

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, findings in zip(todo, pool.map(lambda file: check(file, build), todo)):
            if findings:
                failed += 1
                print(findings)
            else:
                open(marks[file], "w").close()
    print("%d files, %d checked, %d with findings" % (len(marks), len(todo), failed))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
