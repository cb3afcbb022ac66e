# SPDX-License-Identifier: Apache-2.0
"""The line by which a campaign says what became of what it broke; scripts/nightly.py makes a table of them."""


def print_detection(kind, detected, harmless, missed):
    """Prints a line of the detection table: `detected` faults were refused, `harmless` faults changed no bit, `missed` faults changed bits."""
    counts = (detected + harmless + missed, detected, harmless, missed)
    print("detection: %s: %d injected, %d detected, %d harmless, %d missed" % (kind, *counts))
