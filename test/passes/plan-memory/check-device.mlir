// A limit that is larger than the device, of an option or of a YAML, whose place the warning names. The module stays as it is.
// RUN: %roundtrip --ascend-check-device='hbm=120GB target=910b4' %s -o %t.mlir 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: warning: --hbm 120.00 GiB is more than the 30.48 GiB that a process has on '910b4'; --target names the device
// RUN: echo 'context: {max_device_memory: 120GB}' > %t.yaml
// RUN: %roundtrip --ascend-check-device='file=%t.yaml target=910b4' %s -o %t.mlir 2>&1 | FileCheck %s
// CHECK: yaml:1:30: warning: 'max_device_memory' 120.00 GiB is more than the 30.48 GiB that a process has on '910b4'; --target names the device
// RUN: %roundtrip %s | cmp - %t.mlir
// RUN: %roundtrip --ascend-check-device='hbm=28GB target=910b4' %s -o %t.mlir

mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
}
