# SPDX-License-Identifier: Apache-2.0
"""Writes two thirds of a file to another: what a full disk leaves."""

import sys

data = open(sys.argv[1], "rb").read()
open(sys.argv[2], "wb").write(data[: len(data) * 2 // 3])
