"""Checks that dependencies point one way, as docs/architecture.md says.

usage: check_includes.py SOURCE_FOLDER

What may depend on what is read from the CMakeLists.txt of lib, dialects, passes,
planner and tools: a file may include headers of its own library and of those that this
one links, directly or not. A header belongs to the library that has the source
of the same name, or else to the first one of its folder; one of a folder
without a library may include what is of its level or below. Beyond that:

- lib links no dialect, pass or tool, and only folders above it in
  lib/CMakeLists.txt; the bridges from IR to lib's values link dialects too;
- dialects link the plain tables of lib only, passes no tools;
- no library depends on itself;
- what is not built with MLIR includes nothing of MLIR's;
- no file includes a source.
"""

import functools
import os
import re
import sys

# Libraries of lib that read or write IR, and those of lib that dialects know.
BRIDGES = {"Import", "Decode", "Interpreter", "TargetFile"}
TABLES = {"Signatures", "TargetTable", "Tensor"}

# From the lowest; lib is below all of them, but for the bridges.
LEVELS = ["dialects", "passes", "planner", "tools"]

TARGET = re.compile(r"^(mf_add_library|mf_add_tool|add_library)\((.*?)\)", re.DOTALL | re.MULTILINE)
LINKS = re.compile(r"^target_link_libraries\((\S+)(.*?)\)", re.DOTALL | re.MULTILINE)
SUBFOLDER = re.compile(r"^add_subdirectory\((\S+)\)", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)


def get_level(path):
    """From lib, the lowest, up to the tools."""
    top = path.split(os.sep)[0]
    return LEVELS.index(top) + 1 if top in LEVELS else 0


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
        self.level = folder.split(os.sep)[0]

    def add_link(self, word):
        if re.fullmatch(r"mf[A-Z]\w*", word):
            self.links.add(word[2:])


class Project:
    def __init__(self, source):
        self.source = source
        self.targets, self.by_folder, self.order, self.problems = {}, {}, {}, []
        for top in ("lib", *LEVELS):
            for path, _, names in sorted(os.walk(os.path.join(source, top))):
                if "CMakeLists.txt" in names:
                    self.read_targets(os.path.relpath(path, source))
        lib = SUBFOLDER.findall(self.read("lib/CMakeLists.txt"))
        self.lib_order = {"lib/" + name: number for number, name in enumerate(lib)}

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
        """All that a target links, itself included."""
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
        public = re.match(r"include/mf/(\w+)$", folder)
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

    def check_link(self, target, other):
        where = os.path.join(target.folder, "CMakeLists.txt")
        text = "%s must not link %s" % (target.name, other.name)
        if target.level == "lib":
            if other.level == "lib":
                above, below = (self.lib_order["/".join(t.folder.split("/")[:2])] for t in (other, target))
                if above > below:
                    self.report(where, text + ", which is below it in lib/CMakeLists.txt")
            elif other.level != "dialects" or target.name not in BRIDGES:
                self.report(where, text + ", which is of " + other.level)
        elif other.level == "lib":
            if target.level == "dialects" and other.name not in TABLES:
                self.report(where, text + ", which is no table")
        elif get_level(other.folder) > get_level(target.folder):
            self.report(where, text + ", which is of " + other.level)

    def check_links(self):
        for target in self.targets.values():
            for name in sorted(target.links):
                if name not in self.targets:
                    self.report(target.folder, "links mf%s, which nothing defines" % name)
                    continue
                self.check_link(target, self.targets[name])
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
            if target and other:
                if other.name not in self.closure(target.name):
                    text = "includes %s of %s, which %s does not link"
                    self.report(path, text % (include, other.name, target.name))
            elif get_level(file) > get_level(path):
                self.report(path, "includes %s, which is above it" % include)

    def check_files(self):
        count = 0
        for top in ("include", "lib", *LEVELS):
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
