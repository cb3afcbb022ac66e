"""Checks that no source file has grown beyond what a reader takes in.

usage: check_sizes.py SOURCE_FOLDER

Files are to have about 400 lines; a tenth more is an error. Tests, which are read case
by case, may have 500.
"""

import os
import sys

FOLDERS = {"benchmarks": 440, "dialects": 440, "include": 440, "lib": 440, "passes": 440, "scripts": 440, "test": 500, "tools": 440}
ENDINGS = (".cpp", ".h", ".td", ".py", ".mlir", ".test")


def main():
    source = sys.argv[1]
    problems = 0
    for folder, most in FOLDERS.items():
        for path, _, names in sorted(os.walk(os.path.join(source, folder))):
            for name in sorted(names):
                if not name.endswith(ENDINGS):
                    continue
                file = os.path.join(path, name)
                with open(file) as lines:
                    count = sum(1 for _ in lines)
                if count > most:
                    print(f"{os.path.relpath(file, source)}: {count} lines, expected at most {most}; divide it by concern")
                    problems += 1
    print(f"{problems} problems")
    sys.exit(problems > 0)


if __name__ == "__main__":
    main()
