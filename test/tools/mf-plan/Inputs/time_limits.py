# SPDX-License-Identifier: Apache-2.0
"""Ends the search of a problem after more and more time, by 2.5 ms at a time."""

import re
import subprocess
import sys

tool, problem = sys.argv[1:]
NUM_LIMITS = 24


def ends_well(seconds):
    """A plan has a bound that is no longer than its step, however early the search ends."""
    ended = subprocess.run([tool, f"--problem={problem}", f"--time-limit={seconds}"], capture_output=True, text=True)
    if ended.returncode == 0:
        step, bound = (float(re.search(rf"^{name} (.*)$", ended.stdout, re.M)[1]) for name in ("step", "bound"))
        return 0 < bound <= step
    # 2 says that there was no time for any plan.
    return ended.returncode == 2


print(f"ended well: {sum(ends_well(0.0025 * (1 + i)) for i in range(NUM_LIMITS))} of {NUM_LIMITS}")
