"""Checks that no source file has grown beyond what a reader takes in.

usage: check_sizes.py SOURCE_FOLDER

Files have at most 400 lines. Records, which are read one by one, may have 440, and tests,
which are read case by case, 500.
"""

import os
import sys

FOLDERS = ("benchmarks", "dialects", "include", "lib", "passes", "scripts", "test", "tools")
ENDINGS = (".cpp", ".h", ".td", ".py", ".mlir", ".test")


def get_most(folder, name):
    if folder == "test":
        return 500
    return 440 if name.endswith(".td") else 400


def main():
    source = sys.argv[1]
    problems = 0
    for folder in FOLDERS:
        for path, _, names in sorted(os.walk(os.path.join(source, folder))):
            for name in sorted(names):
                if not name.endswith(ENDINGS):
                    continue
                file = os.path.join(path, name)
                with open(file) as lines:
                    count = sum(1 for _ in lines)
                most = get_most(folder, name)
                if count > most:
                    print(f"{os.path.relpath(file, source)}: {count} lines, expected at most {most}; divide it by concern")
                    problems += 1
    print(f"{problems} problems")
    sys.exit(problems > 0)


if __name__ == "__main__":
    main()
