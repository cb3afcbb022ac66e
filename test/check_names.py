# SPDX-License-Identifier: Apache-2.0
"""Checks the names of headers, classes and unit tests.

usage: check_names.py SOURCE_FOLDER

No two headers have one name, so that a name in a review or an error says which
file is meant, and no two classes do, those of tests included. The guard of a
header is its path, below include/mf without that, behind MF_. Unit tests of
test/unit are in files FooTest.cpp: in one suite FooTest, or where a file tests
several things in one suite for each, BarTest; no suite is in two files. Tests
are named by sentences in PascalCase.
"""

import collections
import os
import re
import sys

FOLDERS = ("benchmarks", "cmake", "dialects", "include", "lib", "passes", "test", "tools")
PASCAL_CASE = r"(?:[A-Z][a-z0-9]*)+"
CLASSES = ("benchmarks", "dialects", "include", "lib", "passes", "test", "tools")
CLASS = re.compile(
    r"^(?:template\s*<[^;{]*>\s*)?(?:class|struct|enum class|enum)\s+(\w+)(?:\s+final)?\s*(?::(?!:)[^;{]*)?\{", re.MULTILINE
)
GUARD = re.compile(r"^#ifndef (\w+_H)$", re.MULTILINE)
TEST = re.compile(r"^\s*(?:TEST|TEST_F|TEST_P|TYPED_TEST)\(\s*(\w+),\s*(\w+)\s*\)", re.MULTILINE)


def find_files(source, folders, ending):
    for folder in folders:
        for path, _, names in os.walk(os.path.join(source, folder)):
            for name in names:
                if name.endswith(ending):
                    yield os.path.relpath(os.path.join(path, name), source)


def get_header_problems(source):
    paths = collections.defaultdict(list)
    for path in find_files(source, FOLDERS, ".h"):
        paths[os.path.basename(path).lower()].append(path)
    for same in paths.values():
        if len(same) > 1:
            yield "expected headers of different names, but got " + " and ".join(sorted(same))


def get_guard_problems(source):
    for path in find_files(source, FOLDERS, ".h"):
        expected = "MF_" + re.sub(r"\W", "_", re.sub(r"^include/mf/", "", path)).upper()
        found = GUARD.search(open(os.path.join(source, path)).read())
        if found and found[1] != expected:
            yield "%s: expected the guard %s, but got %s" % (path, expected, found[1])


def get_class_problems(source):
    """Looks at what begins a line, which members of classes do not."""
    homes = collections.defaultdict(set)
    for path in find_files(source, CLASSES, (".h", ".cpp")):
        for name in CLASS.findall(open(os.path.join(source, path)).read()):
            homes[name].add(path)
    for name, paths in homes.items():
        if len(paths) > 1:
            yield "expected one %s, but it is defined in %s" % (name, " and ".join(sorted(paths)))


def get_test_problems(source):
    homes = collections.defaultdict(set)
    for path in find_files(source, ["test/unit"], ".cpp"):
        tests = TEST.findall(open(os.path.join(source, path)).read())
        stem = os.path.basename(path)[: -len(".cpp")]
        if bool(tests) != stem.endswith("Test"):
            yield "%s: expected tests in files *Test.cpp, and only there" % path
            continue
        suites = {suite for suite, _ in tests}
        if len(suites) == 1 and suites != {stem}:
            yield "%s: expected suite %s, but got %s" % (path, stem, *suites)
        for suite, name in tests:
            homes[suite].add(path)
            if not re.fullmatch(PASCAL_CASE + "Test", suite):
                yield "%s: expected a suite like %s, but got %s" % (path, stem, suite)
            if not re.fullmatch(PASCAL_CASE, name):
                yield "%s: expected a name in PascalCase, but got %s" % (path, name)
    for suite, paths in homes.items():
        if len(paths) > 1:
            yield "expected suite %s in one file, but it is in %s" % (suite, " and ".join(sorted(paths)))


CHECKS = (get_header_problems, get_guard_problems, get_class_problems, get_test_problems)


def main():
    problems = sorted({problem for find in CHECKS for problem in find(sys.argv[1])})
    print("\n".join([*problems, "%d problems" % len(problems)]))
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
