// Stock mlir-opt with the plugin reads a target, prints it as mf-opt does, and answers DLTI queries about it.
// REQUIRES: native
// RUN: mlir-opt %mf-source/targets/atlas-800t-a2.mlir --load-dialect-plugin=%mf-plugin --verify-roundtrip -o %t.stock.mlir
// RUN: mf-opt %mf-source/targets/atlas-800t-a2.mlir -o %t.ours.mlir
// RUN: cmp %t.ours.mlir %t.stock.mlir
// RUN: mlir-opt %s --load-dialect-plugin=%mf-plugin --transform-interpreter -o /dev/null 2>&1 | FileCheck %s

module attributes {transform.with_named_sequence, dlti.target_system_spec = #dlti.target_system_spec<"NPU" = #ascend.device<"small",
  engines = {cube = <bf16 = 2.949e14>, vector = <f32 = 8e12>},
  memory = <bytes = 1024, bytes_per_second = 1.1e12>,
  host = <to_host_bytes_per_second = 1, to_device_bytes_per_second = 2>,
  kernels = {attention = <keys = <half = 500>>},
  networks = {hccs = <of = npu, wiring = mesh, bytes_per_second = 28e9>}>>} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    // CHECK: remark: name "small"
    %name = transform.dlti.query ["NPU", "device_type"] at %module : (!transform.any_op) -> !transform.any_param
    transform.debug.emit_param_as_remark %name, "name" : !transform.any_param
    // CHECK: remark: bytes 1024 : i64
    %bytes = transform.dlti.query ["NPU", "memory", "bytes"] at %module : (!transform.any_op) -> !transform.any_param
    transform.debug.emit_param_as_remark %bytes, "bytes" : !transform.any_param
    // CHECK: remark: peak 2.949{{0*}}e+14 : f64
    %peak = transform.dlti.query ["NPU", "engines", "cube", "bf16"] at %module : (!transform.any_op) -> !transform.any_param
    transform.debug.emit_param_as_remark %peak, "peak" : !transform.any_param
    // CHECK: remark: half 5.0{{0*}}e+02 : f64
    %half = transform.dlti.query ["NPU", "kernels", "attention", "keys", "half"] at %module : (!transform.any_op) -> !transform.any_param
    transform.debug.emit_param_as_remark %half, "half" : !transform.any_param
    // CHECK: remark: wiring "mesh"
    %wiring = transform.dlti.query ["NPU", "networks", "hccs", "wiring"] at %module : (!transform.any_op) -> !transform.any_param
    transform.debug.emit_param_as_remark %wiring, "wiring" : !transform.any_param
    // CHECK: remark: engines #dlti.map<"cube" = #ascend.engine<bf16 = 2.949e+14>, "vector" = #ascend.engine<f32 = 8.0e+12>>
    %engines = transform.dlti.query ["NPU", "engines"] at %module : (!transform.any_op) -> !transform.any_param
    transform.debug.emit_param_as_remark %engines, "engines" : !transform.any_param
    transform.yield
  }
}
