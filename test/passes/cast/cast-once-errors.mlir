// A limit that is no size, on the program of the pass's own test.
// RUN: %variants %S/cast-once.mlir | not %roundtrip --pass-pipeline='builtin.module(ascend.program(ascend-cast-once{hbm=much}))' -o /dev/null 2>&1 | FileCheck %s
// CHECK: error: {{.*}}got hbm=much; expected none or a size with a unit
