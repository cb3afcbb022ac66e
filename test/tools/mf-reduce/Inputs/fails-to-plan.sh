#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Interesting is a program with a slot that nothing reads: exit code 1 says so.
mf-opt --ascend-plan-memory "$1" -o /dev/null 2>&1 | grep -q "read by a later one" && exit 1
exit 0
