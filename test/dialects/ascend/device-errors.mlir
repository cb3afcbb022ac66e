// What is wrong with a device description, at the key or number that it is about.
// RUN: %variants %s | mf-opt -split-input-file -verify-diagnostics -allow-unregistered-dialect

// A device without errors.
module attributes {dlti.target_system_spec = #dlti.target_system_spec<"NPU" = #ascend.device<"x",
  engines = {cube = <f32 = 1.0e12>, vector = <f32 = 1.0e12>},
  memory = <bytes = 1024, bytes_per_second = 1.0e9>, host = <to_host_bytes_per_second = 1, to_device_bytes_per_second = 1>,
  networks = {}>>} {}

// expected-error @below {{engines: there is no engine 'vector'; expected cube and vector}}
= engines = {cube = <f32 = 1.0e12>},

// expected-error @below {{engines: there is no engine 'cube'; expected cube and vector}}
= engines = {vector = <f32 = 1.0e12>},

// expected-error @below {{unknown engine 'tensor'; expected cube and vector}}
= engines = {tensor = <f32 = 1.0e12>},

= engines = {
+ cube = <f32 = 1.0e12>,
+ // expected-error @below {{engines.cube: is there twice}}
+ cube = <f32 = 1.0e12>},

= engines = {
+ cube = <f32 = 1.0e12>,
+ // expected-error @below {{engines.vector.f32: expected a number above 0, but got -1}}
+ vector = <f32 = -1>},

= engines = {
+ cube = <f32 = 1.0e12>,
+ // expected-error @below {{engines.vector: expected its FLOPs per second for at least one element type, as in f32 = 7.5e13}}
+ vector = <>},

// expected-error @below {{expected 'memory'}}
module attributes {dlti.target_system_spec = #dlti.target_system_spec<"NPU" = #ascend.device<"x",
  engines = {cube = <f32 = 1.0e12>, vector = <f32 = 1.0e12>},
  host = <to_host_bytes_per_second = 1, to_device_bytes_per_second = 1>>>} {}

// expected-error @below {{expected the target's name, as in #ascend.device<"my-target", ...>}}
module attributes {dlti.target_system_spec = #dlti.target_system_spec<"NPU" = #ascend.device<engines = {}>>} {}

- networks
+ // expected-error @below {{unknown key 'networksf'; did you mean 'networks'?}}
+ networksf = {}>>} {}

- networks
+ // expected-error @below {{step_latency: expected a number of at least 0, but got -1}}
+ step_latency = -1>>} {}

- networks
+ kernels = {
+ // expected-error @below {{kernels.matmull: no kernel is of this kind; did you mean 'matmul'?}}
+ matmull = <latency = 1>}>>} {}

- networks
+ kernels = {
+ matmul = <peak_share = 0.5,
+ // expected-error @below {{kernels.matmul.keys: no measure of these kernels; known are }}
+ keys = <half = 500>>}>>} {}

- networks
+ kernels = {
+ matmul = <latency = 1>,
+ // expected-error @below {{kernels.matmul: is there twice}}
+ matmul = <latency = 1>}>>} {}

- networks
+ kernels = {
+ attention = <latency = 1,
+ // expected-error @below {{unknown key 'haf' of kernels.attention.keys; did you mean 'half'?}}
+ keys = <haf = 500>>}>>} {}

#bad = #ascend.network<of = npu, wiring = mesh, bytes_per_second = 1>
module attributes {dlti.target_system_spec = #dlti.target_system_spec<"NPU" = #ascend.device<"x",
  engines = {cube = <f32 = 1.0e12>, vector = <f32 = 1.0e12>},
  memory = <bytes = 1024, bytes_per_second = 1.0e9>, host = <to_host_bytes_per_second = 1, to_device_bytes_per_second = 1>,
  // expected-error @below {{host: is there twice}}
  host = #bad>>} {}

#bad = #ascend.network<of = npu, wiring = mesh, bytes_per_second = 1>
module attributes {dlti.target_system_spec = #dlti.target_system_spec<"NPU" = #ascend.device<"x",
  engines = {cube = <f32 = 1.0e12>, vector = <f32 = 1.0e12>},
  // expected-error @below {{host: expected #ascend.host_link, but got #ascend.network<of = npu, wiring = mesh, bytes_per_second = 1>}}
  host = #bad>>} {}

= networks = {
+ // expected-error @below {{networks.a: joins itself; expected of = npu or another network}}
+ a = <of = a, wiring = switch, bytes_per_second = 1>}>>} {}

= networks = {
+ // expected-error @below {{networks.a: there is no network 'rack' for it to join; known are npu}}
+ a = <of = rack, wiring = switch, bytes_per_second = 1>}>>} {}

= networks = {
+ // expected-error @below {{networks.npu: 'npu' is what the device is called; expected another name}}
+ npu = <of = npu, wiring = switch, bytes_per_second = 1>}>>} {}

= networks = {
+ // expected-error @below {{networks.a: joins 'b', which joins 'a': networks in a circle; the innermost must be of = npu}}
+ a = <of = b, wiring = switch, bytes_per_second = 1, size = 2>,
+ b = <of = a, wiring = switch, bytes_per_second = 1, size = 2>}>>} {}

= networks = {
+ a = <of = npu, wiring = switch, bytes_per_second = 1, size = 2>,
+ // expected-error @below {{networks.b: expected it to join 'a' and not 'npu': networks are listed from the innermost on, each joins groups of the one before}}
+ b = <of = npu, wiring = switch, bytes_per_second = 1>}>>} {}

= networks = {
+ // expected-error @below {{networks.b: expected it to join 'npu' and not 'a': networks are listed from the innermost on}}
+ b = <of = a, wiring = switch, bytes_per_second = 1>,
+ a = <of = npu, wiring = switch, bytes_per_second = 1, size = 2>}>>} {}

= networks = {
+ // expected-error @below {{networks.a: 'b' joins groups of it; expected their size}}
+ a = <of = npu, wiring = switch, bytes_per_second = 1>,
+ b = <of = a, wiring = switch, bytes_per_second = 1>}>>} {}

= networks = {
+ a = <of = npu, wiring = switch, bytes_per_second = 1, size = 2>,
+ // expected-error @below {{networks.a: is there twice}}
+ a = <of = npu, wiring = switch, bytes_per_second = 1>}>>} {}
