# SPDX-License-Identifier: Apache-2.0
"""Checks that dependencies point one way, as docs/architecture.md says.

usage: check_includes.py SOURCE_FOLDER

The table of docs/architecture.md says which folders a folder may use; the longest
name that fits a file's path applies. include/mf/X belongs to lib/X. What a library links
is read from the CMakeLists.txt files. These rules hold:

- a library links, and a file includes, what is in its own row or in a folder that its row names;
- a file includes headers of its own library and of those that this one links, directly or not.
  A header belongs to the library that has the source of the same name, or else to the first one of
  its folder;
- a header in lib/ is included from its own folder only; the others are in include/mf;
- no library depends on itself;
- what is not built with MLIR includes nothing of MLIR's;
- no file includes a source.
"""

import functools
import os
import re
import sys

TOPS = ("lib", "dialects", "passes", "tools")

TARGET = re.compile(r"^(mf_add_library|mf_add_tool|add_library)\((.*?)\)", re.DOTALL | re.MULTILINE)
LINKS = re.compile(r"^target_link_libraries\((\S+)(.*?)\)", re.DOTALL | re.MULTILINE)
ROW = re.compile(r"^\| `([\w/]+)` \|.*\|([^|]*)\|$", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)


def is_below(path, folder):
    return path == folder or path.startswith(folder + "/")


class Target:
    """A library or a tool."""

    def __init__(self, name, folder, is_library, words):
        self.name, self.folder, self.is_library = name, folder, is_library
        keyword, self.sources, self.links = "", set(), set()
        for word in words:
            if word in ("SOURCES", "ALONE", "LINK", "DEPENDS"):
                keyword = word
            elif keyword == "LINK":
                self.add_link(word)
            elif word.endswith(".cpp"):
                self.sources.add(word)
        self.mlir = "MLIR" in words or "DIALECTS" in words

    def add_link(self, word):
        if re.fullmatch(r"mf[A-Z]\w*", word):
            self.links.add(word[2:])


class Project:
    def __init__(self, source):
        self.source = source
        self.targets, self.by_folder, self.order, self.problems = {}, {}, {}, []
        for top in TOPS:
            for path, _, names in sorted(os.walk(os.path.join(source, top))):
                if "CMakeLists.txt" in names:
                    self.read_targets(os.path.relpath(path, source))
        rows = ROW.findall(self.read("docs/architecture.md"))
        self.rows = {folder: re.findall(r"`([\w/]+)`", used) for folder, used in rows}

    def read(self, path):
        with open(os.path.join(self.source, path)) as file:
            return file.read()

    def read_targets(self, folder):
        text = re.sub(r"#.*", "", self.read(os.path.join(folder, "CMakeLists.txt")))
        for kind, content in TARGET.findall(text):
            name, *words = content.split()
            target = Target(name, folder, kind == "mf_add_library", words)
            self.targets[name] = target
            self.by_folder.setdefault(folder, []).append(target)
        for name, content in LINKS.findall(text):
            target = self.targets.get(name) or self.targets.get(name[2:])
            if target:
                for word in content.split():
                    target.add_link(word)
                target.mlir |= "MLIR" in content.split()

    @functools.lru_cache(None)
    def closure(self, name):
        """The target and all targets that it links, directly or not."""
        found, waiting = set(), [name]
        while waiting:
            current = waiting.pop()
            if current not in found:
                found.add(current)
                waiting += sorted(self.targets[current].links)
        return found

    def owner(self, path):
        """The target that a header or source belongs to, or none."""
        folder, file = os.path.split(path)
        public = re.match(r"include/mf/(.*)$", folder)
        if public:
            folder = "lib/" + public[1]
        stem = os.path.splitext(file)[0]
        while folder and folder not in self.by_folder:
            folder = os.path.dirname(folder)
        folders = [folder] + [f for f in self.by_folder if public and f.startswith(folder + "/")]
        for candidate in folders:
            for target in self.by_folder.get(candidate, []):
                if stem in {os.path.splitext(os.path.basename(path))[0] for path in target.sources}:
                    return target
        return self.by_folder.get(folder, [None])[0]

    def resolve(self, path, include):
        """The file of ours that an include names, or none. What is generated
        lies where its definition does."""
        for candidate in (include, "include/" + include, os.path.dirname(path) + "/" + include):
            if os.path.exists(os.path.join(self.source, candidate)):
                return os.path.normpath(candidate)
        return None

    def report(self, where, text):
        self.problems.append("%s: %s" % (where, text))

    def row(self, folder):
        """The table's row of a folder, or none."""
        return max((row for row in self.rows if is_below(folder, row)), key=len, default=None)

    def may_use(self, path, other):
        path, other = (re.sub(r"^include/mf/", "lib/", name) for name in (path, other))
        row = self.row(path)
        if not row:
            return False
        return row == self.row(other) or any(is_below(other, folder) for folder in self.rows[row])

    def is_private(self, path, header):
        """Whether a header is another folder's own."""
        if not header.startswith("lib/") or header.endswith(".inc"):
            return False
        owner = self.owner(header)
        return bool(owner) and not is_below(path, owner.folder)

    def check_links(self):
        for target in self.targets.values():
            for name in sorted(target.links):
                if name not in self.targets:
                    self.report(target.folder, "links mf%s, which nothing defines" % name)
                    continue
                other = self.targets[name]
                if not self.may_use(target.folder, other.folder):
                    where = os.path.join(target.folder, "CMakeLists.txt")
                    text = "%s must not link %s: docs/architecture.md does not let %s use %s"
                    self.report(where, text % (target.name, name, target.folder, other.folder))
                if target.name in self.closure(name):
                    self.report(target.folder, "%s and %s link each other" % (target.name, name))

    def check_file(self, path):
        target = self.owner(path)
        for include in INCLUDE.findall(self.read(path)):
            if re.match(r"mlir(-c)?/", include) and target and not target.mlir:
                self.report(path, "includes %s, but %s is built without MLIR" % (include, target.name))
            if include.endswith(".cpp"):
                self.report(path, "includes %s, which is compiled by itself" % include)
            file = self.resolve(path, include)
            if not file:
                continue
            other = self.owner(file)
            if self.is_private(path, file):
                self.report(path, "includes %s, which only %s may" % (include, other.folder))
            elif target and other:
                if other.name not in self.closure(target.name):
                    text = "includes %s of %s, which %s does not link"
                    self.report(path, text % (include, other.name, target.name))
            elif not self.may_use(path, file):
                self.report(path, "includes %s, which docs/architecture.md does not let it use" % include)

    def check_files(self):
        count = 0
        for top in ("include", *TOPS):
            for folder, _, names in sorted(os.walk(os.path.join(self.source, top))):
                for name in sorted(names):
                    if name.endswith((".h", ".cpp")):
                        count += 1
                        self.check_file(os.path.relpath(os.path.join(folder, name), self.source))
        return count


def main():
    project = Project(sys.argv[1])
    project.check_links()
    count = project.check_files() if not project.problems else 0
    for problem in project.problems:
        print(problem)
    print("%d targets, %d files, %d problems" % (len(project.targets), count, len(project.problems)))
    sys.exit(len(project.problems) > 0)


if __name__ == "__main__":
    main()
