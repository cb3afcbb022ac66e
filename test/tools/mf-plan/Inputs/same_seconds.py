# SPDX-License-Identifier: Apache-2.0
"""Whether a report of mf-run --simulate has the step that mf-plan --devices promised.

usage: same_seconds.py PLAN.json REPORT.json
"""

import json
import sys

with open(sys.argv[1]) as file:
    promised = json.load(file)["layouts"][0]["seconds"]
with open(sys.argv[2]) as file:
    simulated = json.load(file)["step_seconds"]
if abs(promised - simulated) <= 1e-9 * simulated:
    print("the step is as long as said")
else:
    print("promised", promised, "but simulated", simulated)
