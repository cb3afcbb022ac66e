#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy on every C++ file that a build compiles.

usage: check_tidy.py BUILD_FOLDER [--optionals] [PART_OF_PATH]...

Files that a build compiles in a group are checked in that group, with the
precompiled headers of the build, so that headers are read once. Precompiled headers of mf
are checked as separate files. Fails if there is a finding. A group without findings
is not checked again until a file of it, a header of ours that it includes, its command or
.clang-tidy changes. With parts of paths, only groups with a file whose path contains one of
them are checked.

In lib, passes and dialects no conversion may narrow silently. With --optionals, the only check
is that the value of a std::optional is read only where it is known to exist. For this check
clang-tidy follows all paths through a function.
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
CHECKS = os.path.join(SOURCE, ".clang-tidy")
# Keeps the checks to what a unit does not take from precompiled headers.
PLUGIN = os.path.join("lib", "mfOwnDeclarations.so")
# The checks that only hold in some folders, in addition to those of .clang-tidy.
STRICT_FOLDERS = ("lib", "passes", "dialects")
STRICT_CHECKS = "bugprone-narrowing-conversions"
OPTIONAL_CHECKS = "-*,bugprone-unchecked-optional-access"


def is_ours(path, build):
    return path.startswith(SOURCE + os.sep) and not path.startswith(build + os.sep)


def read_sources(file):
    """The sources of a unit: the file, or what one that CMake writes includes."""
    if file.endswith("cmake_pch.hxx.cxx"):
        file = file[: -len(".cxx")]
    elif "Unity" not in file.split(os.sep):
        return [file]
    return re.findall(r'^#include "(.*)"$', open(file).read(), re.MULTILINE)


def read_output(entry):
    return re.search(r" -o (\S+) ", entry["command"]).group(1)


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


def is_read_elsewhere(entry, entries, dependencies):
    """Whether another set of precompiled headers, which is checked, has these headers."""
    if not entry["file"].endswith("cmake_pch.hxx.cxx"):
        return False
    own = set(dependencies.get(read_output(entry), []))
    for other in (e for e in entries if e["file"].endswith("cmake_pch.hxx.cxx")):
        others = set(dependencies.get(read_output(other), []))
        if own < others or own == others and other["file"] < entry["file"]:
            return True
    return False


def is_strict(sources):
    return all(os.path.relpath(file, SOURCE).split(os.sep)[0] in STRICT_FOLDERS for file in sources)


def find_fallible(text):
    """The names of variables that are mlir::FailureOr at the end of a text.

    FailureOr is a std::optional, but clang-tidy does not know what failed() says of it.
    """
    types = {}
    for found in re.finditer(r"\b([\w:]+(?:<[^;=()]*>)?)[\s&*]+(\w+)\s*(?:=|;|\(|\{|\)|,)", text):
        if found[1] not in ("return", "else", "case", "new", "delete"):
            types[found[2]] = found[1]
    return {name for name, type in types.items() if "FailureOr" in type}


def keep_optionals(findings):
    """The findings, without those about values of FailureOr."""
    kept = ""
    for finding in re.split(r"^(?=/\S+:\d+:\d+: )", findings, flags=re.MULTILINE):
        place = re.match(r"(/\S+):(\d+):(\d+): error: ", finding)
        if not place:
            continue
        lines = open(place[1]).read().splitlines(True)[: int(place[2])]
        used = re.match(r"\*?(\w+)", lines[-1][int(place[3]) - 1 :])
        if not used or used[1] not in find_fallible("".join(lines)):
            kept += finding
    return kept


def hash_inputs(entry, dependencies, build, checks):
    """Changes if and only if what clang-tidy would see may have changed."""
    files = [entry["file"], CHECKS]
    files += dependencies.get(read_output(entry), [])
    # An object depends on precompiled headers, and these on what they were made of.
    for headers in re.findall(r"\S+\.pch\b", entry["command"]):
        files += dependencies.get(os.path.relpath(headers, build), [])
    digest = hashlib.sha256((entry["command"] + checks).encode())
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


def run_tidy(file, build, checks):
    """clang-tidy's findings as text, empty if there are none."""
    command = [CLANG_TIDY, "-p", build, "--quiet", "--config-file=" + CHECKS, "--checks=" + checks]
    # Dialects leave out what tablegen writes for operations, in which no check finds anything.
    # Functions that only the left-out code calls are unused then. The compiler warns of functions that nothing calls.
    command += ["--extra-arg=-DMF_TIDY", "--extra-arg=-Wno-unused-function"]
    command += ["--load=" + os.path.join(build, PLUGIN), file]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode == 0 and not result.stdout.strip():
        return ""
    return result.stdout if result.stdout.strip() else result.stderr


def check(file, build, checks):
    """All findings in a unit as text."""
    if checks == OPTIONAL_CHECKS:
        return keep_optionals(run_tidy(file, build, checks))
    return run_tidy(file, build, checks) + "".join(map(find_unused_names, read_sources(file)))


def main():
    build, parts = os.path.abspath(sys.argv[1]), sys.argv[2:]
    only_optionals = "--optionals" in parts
    parts = [part for part in parts if part != "--optionals"]
    entries = json.load(open(os.path.join(build, "compile_commands.json")))
    sources = {
        e["file"]: [f for f in read_sources(e["file"]) if is_ours(f, build)] for e in entries
    }
    entries = [e for e in entries if sources[e["file"]]]
    dependencies = read_dependencies(build)
    entries = [e for e in entries if not is_read_elsewhere(e, entries, dependencies)]
    if parts:
        entries = [
            e for e in entries if any(part in f for part in parts for f in sources[e["file"]])
        ]
    checks = {e["file"]: STRICT_CHECKS if is_strict(sources[e["file"]]) else "" for e in entries}
    if only_optionals:
        entries = [e for e in entries if checks[e["file"]]]
        checks = {e["file"]: OPTIONAL_CHECKS for e in entries}
    if not entries:
        sys.exit("error: no file to check")
    cache = os.path.join(build, "clang-tidy")
    os.makedirs(cache, exist_ok=True)
    marks = {
        e["file"]: os.path.join(cache, hash_inputs(e, dependencies, build, checks[e["file"]])) for e in entries
    }
    todo = [e for e in entries if not os.path.exists(marks[e["file"]])]

    failed = 0
    files = [entry["file"] for entry in todo]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, findings in zip(files, pool.map(lambda file: check(file, build, checks[file]), files)):
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
