# SPDX-License-Identifier: Apache-2.0
"""Checks that every verb of `mf help` has a help that is about the verb."""

import re
import subprocess


def run(*words):
    return subprocess.run(["mf", *words], capture_output=True, text=True, check=True).stdout


verbs = re.findall(r"^  ([a-z]+) +- ", run("help"), re.MULTILINE)
assert len(verbs) == 12 and verbs[-1] == "help", verbs
for verb in verbs[:-1]:
    text = run("help", verb)
    assert text == run(verb, "--help"), verb
    for part in ("OVERVIEW: mf %s: " % verb, "USAGE: mf %s " % verb, "--json=<file>", "EXAMPLES:", "  mf %s" % verb):
        assert part in text, (verb, part)
    for foreign in ("polly", "x86", "amdgpu"):
        assert foreign not in text, (verb, foreign)
    assert len(text.splitlines()) < 100, verb
