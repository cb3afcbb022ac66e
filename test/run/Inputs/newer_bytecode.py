# SPDX-License-Identifier: Apache-2.0
"""usage: newer_bytecode.py IN OUT: writes bytecode of format 0.1 as if a newer mf had written it, in format 0.2."""

import sys


def encode(*numbers):
    """Numbers below 128 as bytecode has them: a set bit says that the number ends here."""
    return bytes(number << 1 | 1 for number in numbers)


with open(sys.argv[1], "rb") as file:
    data = file.read()
# A section with the version of a dialect, of two bytes.
section = b"\x07" + encode(2)
if section + encode(0, 1) not in data:
    sys.exit("error: '%s' has no version 0.1 of a dialect" % sys.argv[1])
with open(sys.argv[2], "wb") as file:
    file.write(data.replace(section + encode(0, 1), section + encode(0, 2)))
