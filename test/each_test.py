# SPDX-License-Identifier: Apache-2.0
"""lit's format for shell tests, one of which can be many tests."""

import copy
import glob
import os

import lit.formats
import lit.Test

KEYWORD = "EACH:"


class OneOfMany(lit.Test.Test):
    """A test with a name of its own below the name of the file that it is written in."""

    def getSourcePath(self):
        return self.suite.getSourcePath(self.path_in_suite[:-1])


class EachTest(lit.formats.ShTest):
    """A file with a line `EACH: WORD...` is a test for each word, which %each stands for in it. They run in parallel,
    and are named FILE/WORD. A word with `*` stands for the files that match it below the source folder."""

    def __init__(self, source_root):
        super().__init__(execute_external=False)
        self.source_root = source_root

    def expand(self, word):
        if "*" not in word:
            return [word]
        paths = sorted(glob.glob(os.path.join(self.source_root, word)))
        return [os.path.relpath(path, self.source_root) for path in paths]

    def read_words(self, path):
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                if KEYWORD in line:
                    words = line.partition(KEYWORD)[2].split()
                    return [one for word in words for one in self.expand(word)]
        return None

    def getTestsForPath(self, suite, path, lit_config, local_config):
        for test in super().getTestsForPath(suite, path, lit_config, local_config):
            words = self.read_words(test.getSourcePath())
            if words is None:
                yield test
                continue
            if not words:
                lit_config.error("%s: nothing matches what `%s` names" % (test.getFullName(), KEYWORD))
            for word in words:
                config = copy.copy(local_config)
                config.substitutions = [("%each", word), *local_config.substitutions]
                yield OneOfMany(suite, (*path, word.replace("/", "-")), config)
