// The kernels of a chain must fit each other, its inputs and its output.
// RUN: %variants %s | %roundtrip -allow-unregistered-dialect -verify-diagnostics -split-input-file

// expected-error @below {{mfChain: attribute 'steps' is missing}}
ascend.launch "mfChain"(%x) -> (%x) {} : (!ascend.buffer<4x8xf32, hbm>) -> !ascend.buffer<4x8xf32, hbm>

// expected-error @below {{mfChain: attribute 'steps' has another type, expected a list of fused kernels}}
ascend.launch "mfChain"(%x) -> (%x) {steps = 1 : i64} : (!ascend.buffer<4x8xf32, hbm>) -> !ascend.buffer<4x8xf32, hbm>

%y = "test.buffer"() : () -> !ascend.buffer<4x8xf32, hbm>
// expected-error @below {{unknown attribute 'steps'; this kernel takes none}}
ascend.launch "aclnnNeg"(%x) -> (%y) {steps = #ascend.steps<aclnnNeg(in0) : tensor<4x8xf32>>} : (!ascend.buffer<4x8xf32, hbm>) -> !ascend.buffer<4x8xf32, hbm>

%y = "test.buffer"() : () -> !ascend.buffer<4x8xf32, hbm>
// expected-error @below {{mfChain: kernel t0 (aclnnNeg) reads in1, which is no input of the chain and no kernel before it}}
ascend.launch "mfChain"(%x) -> (%y) {steps = #ascend.steps<aclnnNeg(in1) : tensor<4x8xf32>>} : (!ascend.buffer<4x8xf32, hbm>) -> !ascend.buffer<4x8xf32, hbm>

%y = "test.buffer"() : () -> !ascend.buffer<4x8xf32, hbm>
// expected-error @below {{mfChain: kernel t0 (aclnnSoftmax) cannot be fused: this kernel does not work row by row}}
ascend.launch "mfChain"(%x) -> (%y) {steps = #ascend.steps<aclnnSoftmax(in0) : tensor<4x8xf32>>} : (!ascend.buffer<4x8xf32, hbm>) -> !ascend.buffer<4x8xf32, hbm>

%y = "test.buffer"() : () -> !ascend.buffer<4x8xbf16, hbm>
// expected-error @below {{mfChain: the last kernel makes another tensor than the output}}
ascend.launch "mfChain"(%x) -> (%y) {steps = #ascend.steps<aclnnNeg(in0) : tensor<4x8xf32>>} : (!ascend.buffer<4x8xf32, hbm>) -> !ascend.buffer<4x8xbf16, hbm>

// expected-error @below {{mfChain: has elements or attributes of fused kernels that no kernel computes with}}
ascend.launch "mfChain"(%x) -> (%x) {steps = #ascend.steps<aclnnNeg(in0) : tensor<4x8xi8>>} : (!ascend.buffer<4x8xi8, hbm>) -> !ascend.buffer<4x8xi8, hbm>

// expected-error @below {{expected an input of the launch, as in0, or the result of a fused kernel, as t0}}
"test.op"() {steps = #ascend.steps<aclnnNeg(x0) : tensor<4xf32>>} : () -> ()

// expected-error @below {{expected results of static shape, but got 'tensor<?xf32>'}}
"test.op"() {steps = #ascend.steps<aclnnNeg(in0) : tensor<?xf32>>} : () -> ()
