# SPDX-License-Identifier: Apache-2.0
"""Writes an empty module as bytecode, with one length far too large."""

import sys

WHOLE = (
    b"ML\xefR\rMLIR22.1.8\x00\x01\r\x03\x01\x03\x01\x03\x07\x03\r\x05\x01\x01\x05\x13\x0b\x02"
    b"\r\x17\x03\x03\x03\x05\x05\x04\x17\x05\x01P\x01\x01\x07\x04\x07\x03\x01\x01\x06\x03\x01"
    b"\x05\x01\x00Q\x07+\x0f\x11builtin\x00module\x00/tmp/robust-t/e.mlir\x00\x08\t\x03\x05\x01\x01"
).replace(b"/tmp/robust-t/e.mlir", b"examples/empty/e.mlr")
PLACE = 42
with open(sys.argv[1], "wb") as file:
    file.write(WHOLE[:PLACE] + b"\xff" + WHOLE[PLACE + 1 :])
