#!/usr/bin/env python3
"""Runs clang-tidy on every C++ file that a build compiles.

usage: check_tidy.py BUILD_FOLDER [PART_OF_PATH]...

Files that a build compiles in a group are checked in that group, with the
precompiled headers of the build: what they include is read once. Groups that name
nothing alike are checked together, because reading the headers takes longer than
checking a group. Fails if there is a finding. A group that had none is not checked
again until a file of it, a header of ours that it includes, its command or .clang-tidy
changes. With parts of paths, only groups with a file whose path contains one of them are
checked.
"""

import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLANG_TIDY = "clang-tidy-22"
CHECKS = os.path.join(SOURCE, ".clang-tidy")
# More groups at once save little and leave one processor idle at the end.
GROUPS_AT_ONCE = 6


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
    files = [entry["file"], CHECKS]
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


def read_names(texts):
    """Names that only a group's files see. Another group may have the same."""
    names = set()
    for text in texts:
        own = "\n".join(re.findall(r"^namespace \{\n(.*?)^\} // namespace$", text, re.M | re.S))
        own += "\n" + "\n".join(re.findall(r"^static [^(;={]*[(;={]", text, re.M))
        names.update(re.findall(r"^(?:class|struct|enum|enum class|using) (\w+)", own, re.M))
        # Functions and constants. Macros of tests are in capital letters.
        constant = r"^(?![A-Z_]+\()\w[^\n(;={]*?\b(\w+)(?:\[\w*\])?(?:\(|;| =|\{)"
        names.update(re.findall(constant, own, re.M))
        names.update(re.findall(r"^(?:#define |int (?=main)|using (?=\w+ =))(\w+)", text, re.M))
    return names


class Bundle:
    """Groups that can be checked as one: they are compiled alike and name nothing alike.

    Names are found without a compiler. A bundle that does not compile is divided.
    """

    def __init__(self, entry):
        texts = [open(source).read() for source in read_sources(entry["file"])]
        self.files = [entry["file"]]
        self.command = re.sub(r" -o \S+", "", entry["command"]).replace(entry["file"], "")
        self.names = read_names(texts)
        # Groups that open the same namespaces seldom disturb each other.
        opened = (re.findall(r"^using namespace .*", text, re.M) for text in texts)
        self.order = (sorted(set(sum(opened, []))), entry["file"])

    def take(self, other):
        """Takes the groups of another bundle if that is possible."""
        if (
            self.command != other.command
            or len(self.files) + len(other.files) > GROUPS_AT_ONCE
            or not self.names.isdisjoint(other.names)
        ):
            return False
        self.files += other.files
        self.names |= other.names
        return True


def bundle(entries):
    bundles = []
    for one in sorted(map(Bundle, entries), key=lambda one: one.order):
        if not any(other.take(one) for other in bundles):
            bundles.append(one)
    return [bundle.files for bundle in bundles]


def run_tidy(file, folder):
    """clang-tidy's findings as text, empty if there are none."""
    result = subprocess.run(
        [CLANG_TIDY, "-p", folder, "--quiet", "--config-file=" + CHECKS, file],
        capture_output=True,
        text=True,
    )
    if result.returncode == 0 and not result.stdout.strip():
        return ""
    return result.stdout if result.stdout.strip() else result.stderr


def check_together(files, commands):
    """Whether clang-tidy finds nothing in files that are compiled as one."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "together.cxx")
        with open(file, "w") as out:
            out.writelines('#include "%s"\n' % included for included in files)
        command = dict(commands[files[0]], file=file)
        command["command"] = command["command"].replace(files[0], file)
        with open(os.path.join(folder, "compile_commands.json"), "w") as out:
            json.dump([command], out)
        return not run_tidy(file, folder)


def check(files, build, commands):
    """File -> clang-tidy's findings. Files that have one together are checked in halves."""
    if len(files) == 1:
        return {files[0]: run_tidy(files[0], build)}
    if check_together(files, commands):
        return dict.fromkeys(files, "")
    half = len(files) // 2
    return {**check(files[:half], build, commands), **check(files[half:], build, commands)}


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
    todo = [e for e in entries if not os.path.exists(marks[e["file"]])]

    failed = 0
    commands = {e["file"]: e for e in todo}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for results in pool.map(lambda files: check(files, build, commands), bundle(todo)):
            for file, findings in results.items():
                findings += "".join(map(find_unused_names, read_sources(file)))
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
