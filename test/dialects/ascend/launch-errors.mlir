// A launch agrees with its kernel's signature in dialects/ascend/AscendKernels.td.
// RUN: %variants %s | %roundtrip -allow-unregistered-dialect -verify-diagnostics -split-input-file

// expected-error @below {{unknown kernel 'aclnnMatMull'; did you mean 'aclnnMatmul'?}}
ascend.launch "aclnnMatMull"(%x) -> (%x) {} : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>

%y = "test.buffer"() : () -> !ascend.buffer<4xf32, hbm>
// expected-error @below {{aclnnAdd: expected 2 inputs, but got 1}}
ascend.launch "aclnnAdd"(%x) -> (%y) {} : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>

// expected-error @below {{aclnnNeg: expected 1 output, but got 0}}
ascend.launch "aclnnNeg"(%x) -> () {} : (!ascend.buffer<4xf32, hbm>) -> ()

%y = "test.buffer"() : () -> !ascend.buffer<4xf32, hbm>
// expected-error @below {{aclnnMuls: attribute 'value' is missing}}
ascend.launch "aclnnMuls"(%x) -> (%y) {} : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>

%y = "test.buffer"() : () -> !ascend.buffer<4xf32, hbm>
// expected-error @below {{aclnnPermute: unknown attribute 'axes'; known are perm}}
ascend.launch "aclnnPermute"(%x) -> (%y) {axes = array<i64: 0>} : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>

%y = "test.buffer"() : () -> !ascend.buffer<4xf32, hbm>
// expected-error @below {{aclnnMuls: attribute 'value' has another type, expected a floating-point number}}
ascend.launch "aclnnMuls"(%x) -> (%y) {value = 2 : i64} : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>

%y = "test.buffer"() : () -> !ascend.buffer<4xf32, hbm>
// expected-error @below {{kernel attribute 'value': expected a boolean, an integer, a float, a list of integers or floats, or fused kernels, but got "two"}}
ascend.launch "aclnnMuls"(%x) -> (%y) {value = "two"} : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>

// expected-error @below {{aclnnMatmul: its output 'out' must not be the buffer of its input 'self'}}
ascend.launch "aclnnMatmul"(%x, %y) -> (%x) {} : (!ascend.buffer<4x4xf32, hbm>, !ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>

// expected-error @below {{aclnnInplaceAdd: its output 'selfRef' must not be the buffer of its input 'other'}}
ascend.launch "aclnnInplaceAdd"(%x) -> (%x) {} : (!ascend.buffer<4xf32, hbm>) -> !ascend.buffer<4xf32, hbm>

%y = "test.buffer"() : () -> !ascend.buffer<4xf32, hbm>
// expected-error @below {{aclnnRmsNorm: its output 'rstd' is the buffer of another output}}
ascend.launch "aclnnRmsNorm"(%x, %x) -> (%y, %y) {epsilon = 1.0 : f64} : (!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, hbm>) -> (!ascend.buffer<4xf32, hbm>, !ascend.buffer<4xf32, hbm>)

%y = "test.buffer"() : () -> !ascend.buffer<f32, hbm>
%w = "test.buffer"() : () -> !ascend.buffer<1xi32, hbm>
// expected-error @below {{aclnnForeachNorm: expected a workspace of 8 bytes in device memory, but got '!ascend.buffer<1xi32, hbm>'}}
ascend.launch "aclnnForeachNorm"(%x) -> (%y) workspace(%w : !ascend.buffer<1xi32, hbm>) {} : (!ascend.buffer<100000xf32, hbm>) -> !ascend.buffer<f32, hbm>

%y = "test.buffer"() : () -> !ascend.buffer<f32, hbm>
%w = "test.buffer"() : () -> !ascend.buffer<2xi32, host>
// expected-error @below {{aclnnForeachNorm: expected a workspace of 8 bytes in device memory, but got '!ascend.buffer<2xi32, host>'}}
ascend.launch "aclnnForeachNorm"(%x) -> (%y) workspace(%w : !ascend.buffer<2xi32, host>) {} : (!ascend.buffer<100000xf32, hbm>) -> !ascend.buffer<f32, hbm>

%y = "test.buffer"() : () -> !ascend.buffer<f32, hbm>
// expected-error @below {{aclnnForeachNorm: its workspace is one of its operands, too}}
ascend.launch "aclnnForeachNorm"(%x) -> (%y) workspace(%x : !ascend.buffer<100000xf32, hbm>) {} : (!ascend.buffer<100000xf32, hbm>) -> !ascend.buffer<f32, hbm>

// expected-error @below {{aclnnPermute: its output 'out' must not be the buffer of its input 'self'}}
ascend.launch "aclnnPermute"(%x) -> (%x) {perm = array<i64: 1, 0>} : (!ascend.buffer<4x4xf32, hbm>) -> !ascend.buffer<4x4xf32, hbm>
