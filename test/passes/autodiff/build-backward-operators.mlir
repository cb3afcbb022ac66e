// How each operator differentiates: what stands behind mf.cut.
// RUN: %python %S/Inputs/check_graphs.py %s %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward))'

// dX = dY W, and dW = dY^T X over all leading dimensions.
%w = mf.get_param @w : tensor<8x4xf32>
%y = mf.matmul %x, %w {name = "matmul", transpose_b = true} : (tensor<2x3x4xf32>, tensor<8x4xf32>) -> tensor<2x3x8xf32>
%dy = mf.cut %y : tensor<2x3x8xf32>
%dx = mf.matmul %dy, %w {name = "matmul.grad"} : (tensor<2x3x8xf32>, tensor<8x4xf32>) -> tensor<2x3x4xf32>
%dw = mf.matmul %dy, %x {contract_batch = true, name = "matmul.grad", transpose_a = true} : (tensor<2x3x8xf32>, tensor<2x3x4xf32>) -> tensor<8x4xf32>
mf.return %dx, %dw : tensor<2x3x4xf32>, tensor<8x4xf32>

// dX = dY W^T, dW = X^T dY.
%w = mf.get_param @w : tensor<4x8xf32>
%y = mf.matmul %x, %w {name = "matmul"} : (tensor<2x3x4xf32>, tensor<4x8xf32>) -> tensor<2x3x8xf32>
%dy = mf.cut %y : tensor<2x3x8xf32>
%dx = mf.matmul %dy, %w {name = "matmul.grad", transpose_b = true} : (tensor<2x3x8xf32>, tensor<4x8xf32>) -> tensor<2x3x4xf32>
%dw = mf.matmul %x, %dy {contract_batch = true, name = "matmul.grad", transpose_a = true} : (tensor<2x3x4xf32>, tensor<2x3x8xf32>) -> tensor<4x8xf32>
mf.return %dx, %dw : tensor<2x3x4xf32>, tensor<4x8xf32>

// The gradient of the left operand comes first in the sum.
%y = mf.matmul %x, %x {name = "matmul", transpose_a = true} : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
%dy = mf.cut %y : tensor<2x4x4xf32>
%matmul_grad = mf.matmul %x, %dy {name = "matmul.grad", transpose_b = true} : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
%matmul_grad2 = mf.matmul %x, %dy {name = "matmul.grad"} : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
%dx = mf.add %matmul_grad, %matmul_grad2 {name = "matmul.grad"} : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
mf.return %dx : tensor<2x4x4xf32>

// The gradient of a repeated bias sums over what it was repeated over.
%b = mf.get_param @b : tensor<4xf32>
%y = mf.add %x, %b {name = "add"} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
%dy = mf.cut %y : tensor<2x3x4xf32>
%db = mf.reduce_sum %dy {axes = array<i64: 0, 1>, name = "add.grad"} : (tensor<2x3x4xf32>) -> tensor<4xf32>
mf.return %dy, %db : tensor<2x3x4xf32>, tensor<4xf32>

// The gradient of a product keeps both factors.
%b = mf.get_param @b : tensor<4xf32>
%y = mf.mul %x, %b {name = "mul"} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
%dy = mf.cut %y : tensor<2x3x4xf32>
%dx = mf.mul %dy, %b {name = "mul.grad"} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
%mul_grad = mf.mul %dy, %x {name = "mul.grad"} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
%db = mf.reduce_sum %mul_grad {axes = array<i64: 0, 1>, name = "mul.grad"} : (tensor<2x3x4xf32>) -> tensor<4xf32>
mf.return %dx, %db : tensor<2x3x4xf32>, tensor<4xf32>

// The gradients of elementwise operators.
%a = mf.scale %x {name = "scale", value = 5.000000e-01 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
%b = mf.neg %a {name = "neg"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
%c = mf.silu %b {name = "silu"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
%y = mf.cast %c {name = "cast"} : (tensor<2x4xf32>) -> tensor<2x4xbf16>
%dy = mf.cut %y : tensor<2x4xbf16>
%cast_grad = mf.cast %dy {name = "cast.grad"} : (tensor<2x4xbf16>) -> tensor<2x4xf32>
%silu_grad = mf.silu_grad %cast_grad, %b {name = "silu.grad"} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
%neg_grad = mf.neg %silu_grad {name = "neg.grad"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
%dx = mf.scale %neg_grad {name = "scale.grad", value = 5.000000e-01 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
mf.return %dx : tensor<2x4xf32>

// Reshapes and permutations are undone, slices padded, concatenations sliced, repetitions summed.
%a = mf.reshape %x {name = "reshape"} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
%b = mf.transpose %a {name = "transpose", perm = array<i64: 1, 0>} : (tensor<6x4xf32>) -> tensor<4x6xf32>
%c = mf.slice %b {name = "slice", sizes = array<i64: 2, 6>, starts = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<2x6xf32>
%d = mf.concat %c, %b {axis = 0 : i64, name = "concat"} : (tensor<2x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
%y = mf.repeat %d {axis = 0 : i64, name = "repeat", repeats = 2 : i64} : (tensor<6x6xf32>) -> tensor<12x6xf32>
%dy = mf.cut %y : tensor<12x6xf32>
%repeat_grad = mf.reshape %dy {name = "repeat.grad"} : (tensor<12x6xf32>) -> tensor<6x2x6xf32>
%repeat_grad2 = mf.reduce_sum %repeat_grad {axes = array<i64: 1>, name = "repeat.grad"} : (tensor<6x2x6xf32>) -> tensor<6x6xf32>
%concat_grad = mf.slice %repeat_grad2 {name = "concat.grad", sizes = array<i64: 2, 6>, starts = array<i64: 0, 0>} : (tensor<6x6xf32>) -> tensor<2x6xf32>
%concat_grad2 = mf.slice %repeat_grad2 {name = "concat.grad", sizes = array<i64: 4, 6>, starts = array<i64: 2, 0>} : (tensor<6x6xf32>) -> tensor<4x6xf32>
%slice_grad = mf.pad %concat_grad {high = array<i64: 1, 0>, low = array<i64: 1, 0>, name = "slice.grad"} : (tensor<2x6xf32>) -> tensor<4x6xf32>
%slice_grad2 = mf.add %concat_grad2, %slice_grad {name = "slice.grad"} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
%transpose_grad = mf.transpose %slice_grad2 {name = "transpose.grad", perm = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
%dx = mf.reshape %transpose_grad {name = "reshape.grad"} : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
mf.return %dx : tensor<2x3x4xf32>

// Sums are repeated, parts put together again; a part that nothing depends on is padding.
%a, %b, %c = mf.split %x {axis = 1 : i64, name = "split"} : (tensor<2x6xf32>) -> (tensor<2x1xf32>, tensor<2x3xf32>, tensor<2x2xf32>)
%sum = mf.reduce_sum %b {axes = array<i64: 1>, name = "sum"} : (tensor<2x3xf32>) -> tensor<2xf32>
%first = mf.reshape %a {name = "reshape"} : (tensor<2x1xf32>) -> tensor<2xf32>
%y = mf.mul %sum, %first {name = "mul"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
%dy = mf.cut %y : tensor<2xf32>
%mul_grad = mf.mul %dy, %first {name = "mul.grad"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
%mul_grad2 = mf.mul %dy, %sum {name = "mul.grad"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
%reshape_grad = mf.reshape %mul_grad2 {name = "reshape.grad"} : (tensor<2xf32>) -> tensor<2x1xf32>
%sum_grad = mf.reshape %mul_grad {name = "sum.grad"} : (tensor<2xf32>) -> tensor<2x1xf32>
%sum_grad2 = mf.repeat %sum_grad {axis = 1 : i64, name = "sum.grad", repeats = 3 : i64} : (tensor<2x1xf32>) -> tensor<2x3xf32>
%split_grad = mf.pad %sum_grad2 {high = array<i64: 0, 2>, low = array<i64: 0, 0>, name = "split.grad"} : (tensor<2x3xf32>) -> tensor<2x5xf32>
%dx = mf.concat %reshape_grad, %split_grad {axis = 1 : i64, name = "split.grad"} : (tensor<2x1xf32>, tensor<2x5xf32>) -> tensor<2x6xf32>
mf.return %dx : tensor<2x6xf32>

// The gradient of RMS norm uses its reciprocal root.
%gamma = mf.get_param @gamma : tensor<4xf32>
%y, %rstd = mf.rms_norm %x, %gamma {epsilon = 1.000000e-05 : f64, name = "norm"} : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>)
%dy = mf.cut %y : tensor<2x4xf32>
%dx, %dgamma = mf.rms_norm_grad %dy, %x, %rstd, %gamma {name = "norm.grad"} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>)
mf.return %dx, %dgamma : tensor<2x4xf32>, tensor<4xf32>

// The gradient of layer norm uses its statistics.
mf.param @bias : tensor<4xf32> init <zeros>
%weight = mf.get_param @weight : tensor<4xf32>
%bias = mf.get_param @bias : tensor<4xf32>
%n, %mean, %rstd = mf.layer_norm %x, %weight, %bias {eps = 1.000000e-05 : f64, name = "layer_norm"} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>)
%y = mf.gelu %n {name = "gelu"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
%dy = mf.cut %y : tensor<2x4xf32>
%gelu_grad = mf.gelu_grad %dy, %n {name = "gelu.grad"} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
%dx, %dweight, %dbias = mf.layer_norm_grad %gelu_grad, %x, %mean, %rstd, %weight {name = "layer_norm.grad"} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
mf.return %dx, %dweight, %dbias : tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>

// Of frozen factors no gradients are made.
mf.param @weight : tensor<4xf32> init <ones> {frozen}
%weight = mf.get_param @weight : tensor<4xf32>
%n, %mean, %rstd = mf.layer_norm %x, %weight, %weight {eps = 1.000000e-05 : f64, name = "layer_norm"} : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>)
%dn = mf.cut %n : tensor<2x4xf32>
%dx = mf.layer_norm_grad %dn, %x, %mean, %rstd, %weight {name = "layer_norm.grad"} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4xf32>) -> tensor<2x4xf32>
mf.return %dx : tensor<2x4xf32>

// The gradient of softmax uses its result.
%y = mf.softmax %x {name = "softmax"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
%dy = mf.cut %y : tensor<2x4xf32>
%dx = mf.softmax_grad %dy, %y {name = "softmax.grad"} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
mf.return %dx : tensor<2x4xf32>

// The gradients of scores and matrices use their inputs.
%s = mf.sqrt_softplus %x {name = "score"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
%y = mf.sinkhorn %s {epsilon = 1.000000e-03 : f64, iterations = 3 : i64, name = "sinkhorn"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
%dy = mf.cut %y : tensor<4x4xf32>
%sinkhorn_grad = mf.sinkhorn_grad %dy, %s {epsilon = 1.000000e-03 : f64, iterations = 3 : i64, name = "sinkhorn.grad"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
%dx = mf.sqrt_softplus_grad %sinkhorn_grad, %x {name = "score.grad"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
mf.return %dx : tensor<4x4xf32>

// The gradient of the product's second operand goes no further.
%s = mf.stop_gradient %x {name = "stop"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
%y = mf.mul %x, %s {name = "mul"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
%dy = mf.cut %y : tensor<4x4xf32>
%dx = mf.mul %dy, %s {name = "mul.grad"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
mf.return %dx : tensor<4x4xf32>

// Query, key and value are one tensor here, so its gradient is the sum of three.
%max, %sum, %y = mf.flash_attention %x, %x, %x {causal = false, name = "flash_attention", scale = 5.000000e-01 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4x8xf32>)
%dy = mf.cut %y : tensor<1x2x4x8xf32>
%flash_attention_grad, %flash_attention_grad2, %flash_attention_grad3 = mf.flash_attention_grad %x, %x, %x, %dy, %max, %sum, %y {causal = false, name = "flash_attention.grad", scale = 5.000000e-01 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4x8xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
%flash_attention_grad4 = mf.add %flash_attention_grad, %flash_attention_grad2 {name = "flash_attention.grad"} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32>
%dx = mf.add %flash_attention_grad4, %flash_attention_grad3 {name = "flash_attention.grad"} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32>
mf.return %dx : tensor<1x2x4x8xf32>

// The slopes of ALiBi are read again, not kept.
mf.param @slopes : tensor<2xf32> init <alibi> {frozen}
%slopes = mf.get_param @slopes : tensor<2xf32>
%max, %sum, %y = mf.flash_attention %x, %x, %x, %slopes {name = "flash_attention", scale = 5.000000e-01 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<2xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4x8xf32>)
%dy = mf.cut %y : tensor<1x2x4x8xf32>
%flash_attention_grad, %flash_attention_grad2, %flash_attention_grad3 = mf.flash_attention_grad %x, %x, %x, %dy, %max, %sum, %y, %slopes {name = "flash_attention.grad", scale = 5.000000e-01 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4x8xf32>, tensor<2xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
%flash_attention_grad4 = mf.add %flash_attention_grad, %flash_attention_grad2 {name = "flash_attention.grad"} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32>
%dx = mf.add %flash_attention_grad4, %flash_attention_grad3 {name = "flash_attention.grad"} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32>
mf.return %dx : tensor<1x2x4x8xf32>

// The rotation back, by the same tables; nothing else is kept.
mf.param @cos : tensor<4x8xf32> init <rotary_cos, value = 1.0e4> {frozen}
mf.param @sin : tensor<4x8xf32> init <rotary_sin, value = 1.0e4> {frozen}
%c = mf.get_param @cos : tensor<4x8xf32>
%s = mf.get_param @sin : tensor<4x8xf32>
%y = mf.rotary_position_embedding %x, %c, %s {name = "rope"} : (tensor<1x2x4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<1x2x4x8xf32>
%dy = mf.cut %y : tensor<1x2x4x8xf32>
%dx = mf.rotary_position_embedding_grad %dy, %c, %s {name = "rope.grad"} : (tensor<1x2x4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<1x2x4x8xf32>
mf.return %dx : tensor<1x2x4x8xf32>

// The gradient rotates the same part in the same way.
mf.param @cos : tensor<4x1x4xf32> init <rotary_cos, value = 1.0e4 frequencies [1.0, 1.0, 1.0e-2, 1.0e-2]> {frozen}
mf.param @sin : tensor<4x1x4xf32> init <rotary_sin, value = 1.0e4 frequencies [1.0, 1.0, 1.0e-2, 1.0e-2]> {frozen}
%c = mf.get_param @cos : tensor<4x1x4xf32>
%s = mf.get_param @sin : tensor<4x1x4xf32>
%y = mf.rotary_position_embedding %x, %c, %s {interleaved = true, name = "rope", start = 4 : i64} : (tensor<1x4x2x8xf32>, tensor<4x1x4xf32>, tensor<4x1x4xf32>) -> tensor<1x4x2x8xf32>
%dy = mf.cut %y : tensor<1x4x2x8xf32>
%dx = mf.rotary_position_embedding_grad %dy, %c, %s {interleaved = true, name = "rope.grad", start = 4 : i64} : (tensor<1x4x2x8xf32>, tensor<4x1x4xf32>, tensor<4x1x4xf32>) -> tensor<1x4x2x8xf32>
mf.return %dx : tensor<1x4x2x8xf32>

// Needs its input, and neither silu(gate) nor its result.
%y = mf.swiglu %x {name = "swiglu"} : (tensor<3x2x8xf32>) -> tensor<3x8xf32>
%dy = mf.cut %y : tensor<3x8xf32>
%dx = mf.swiglu_grad %dy, %x {name = "swiglu.grad"} : (tensor<3x8xf32>, tensor<3x2x8xf32>) -> tensor<3x2x8xf32>
mf.return %dx : tensor<3x2x8xf32>

// Both gradients are grouped too.
mf.param @counts : tensor<2x1x3xf32> init <ones> {frozen}
%w = mf.get_param @w : tensor<1x3x4x8xf32>
%c = mf.get_param @counts : tensor<2x1x3xf32>
%y = mf.grouped_matmul %x, %w, %c {name = "gmm"} : (tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x8xf32>
%dy = mf.cut %y : tensor<2x1x6x8xf32>
%dx = mf.grouped_matmul %dy, %w, %c {name = "gmm.grad", transpose_weight = true} : (tensor<2x1x6x8xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x4xf32>
%dw = mf.grouped_matmul_weight_grad %x, %dy, %c {name = "gmm.grad"} : (tensor<2x1x6x4xf32>, tensor<2x1x6x8xf32>, tensor<2x1x3xf32>) -> tensor<1x3x4x8xf32>
mf.return %dx, %dw : tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>

// The mask is kept and the gradient is dropped where the value was; no gradient
// flows to what the mask has its shape from.
%m = mf.dropout_mask %x, %draw {cut_dims = array<i64>, name = "dropout", rate = 2.500000e-01 : f64, shape = array<i64: 2, 4>, source = "dropout", starts = array<i64: 0, 0>} : (tensor<2x4xf32>, tensor<3xi64>) -> tensor<2x4xi1>
%y = mf.dropout %x, %m {name = "dropout", rate = 2.500000e-01 : f64} : (tensor<2x4xf32>, tensor<2x4xi1>) -> tensor<2x4xf32>
%dy = mf.cut %y : tensor<2x4xf32>
%dx = mf.dropout %dy, %m {name = "dropout.grad", rate = 2.500000e-01 : f64} : (tensor<2x4xf32>, tensor<2x4xi1>) -> tensor<2x4xf32>
mf.return %dx : tensor<2x4xf32>

// The gradient of what a site reads has that of the shares and of the matrix, too, and reads what was saved for it.
%w = mf.get_param @w : tensor<8x8xf32>
%f = mf.get_param @f : tensor<3xf32>
%b = mf.get_param @b : tensor<8xf32>
%y, %s, %m, %saved:5 = mf.mhc_pre %x, %w, %f, %b {count = 2 : i64, epsilon = 1.250000e-01 : f64, iterations = 3 : i64, least = 1.250000e-01 : f64, name = "mhc_pre"} : (tensor<1x4x8xf32>, tensor<8x8xf32>, tensor<3xf32>, tensor<8xf32>) -> (tensor<1x4x4xf32>, tensor<1x4x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x2xf32>, tensor<1x4x8xf32>, tensor<1x4xf32>, tensor<6x1x4x2xf32>, tensor<6x1x4x2x2xf32>)
%z = mf.mhc_post %x, %m, %y, %s {name = "mhc_post"} : (tensor<1x4x8xf32>, tensor<1x4x2x2xf32>, tensor<1x4x4xf32>, tensor<1x4x2xf32>) -> tensor<1x4x8xf32>
%dz = mf.cut %z : tensor<1x4x8xf32>
%mhc_post_grad, %mhc_post_grad2, %mhc_post_grad3, %mhc_post_grad4 = mf.mhc_post_grad %dz, %x, %m, %y, %s {name = "mhc_post.grad"} : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x2x2xf32>, tensor<1x4x4xf32>, tensor<1x4x2xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x2x2xf32>, tensor<1x4x4xf32>, tensor<1x4x2xf32>)
%mhc_pre_grad, %dw, %df, %db = mf.mhc_pre_grad %mhc_post_grad3, %mhc_post_grad4, %mhc_post_grad2, %x, %w, %f, %b, %saved#0, %saved#1, %saved#2, %saved#3, %saved#4 {least = 1.250000e-01 : f64, name = "mhc_pre.grad"} : (tensor<1x4x4xf32>, tensor<1x4x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x8xf32>, tensor<8x8xf32>, tensor<3xf32>, tensor<8xf32>, tensor<1x4x2xf32>, tensor<1x4x8xf32>, tensor<1x4xf32>, tensor<6x1x4x2xf32>, tensor<6x1x4x2x2xf32>) -> (tensor<1x4x8xf32>, tensor<8x8xf32>, tensor<3xf32>, tensor<8xf32>)
%dx = mf.add %mhc_post_grad, %mhc_pre_grad {name = "mhc_pre.grad"} : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
mf.return %dx, %dw, %df, %db : tensor<1x4x8xf32>, tensor<8x8xf32>, tensor<3xf32>, tensor<8xf32>

// Results that nothing reads have gradients of 0.
%w = mf.get_param @w : tensor<8x8xf32>
%f = mf.get_param @f : tensor<3xf32>
%b = mf.get_param @b : tensor<8xf32>
%y, %s, %m, %saved:5 = mf.mhc_pre %x, %w, %f, %b {count = 2 : i64, epsilon = 1.250000e-01 : f64, iterations = 3 : i64, least = 1.250000e-01 : f64, name = "mhc_pre"} : (tensor<1x4x8xf32>, tensor<8x8xf32>, tensor<3xf32>, tensor<8xf32>) -> (tensor<1x4x4xf32>, tensor<1x4x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x2xf32>, tensor<1x4x8xf32>, tensor<1x4xf32>, tensor<6x1x4x2xf32>, tensor<6x1x4x2x2xf32>)
%dy = mf.cut %y : tensor<1x4x4xf32>
%mhc_pre_grad = mf.scale %s {name = "mhc_pre.grad", value = 0.000000e+00 : f64} : (tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
%mhc_pre_grad2 = mf.scale %m {name = "mhc_pre.grad", value = 0.000000e+00 : f64} : (tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32>
%dx, %dw, %df, %db = mf.mhc_pre_grad %dy, %mhc_pre_grad, %mhc_pre_grad2, %x, %w, %f, %b, %saved#0, %saved#1, %saved#2, %saved#3, %saved#4 {least = 1.250000e-01 : f64, name = "mhc_pre.grad"} : (tensor<1x4x4xf32>, tensor<1x4x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x8xf32>, tensor<8x8xf32>, tensor<3xf32>, tensor<8xf32>, tensor<1x4x2xf32>, tensor<1x4x8xf32>, tensor<1x4xf32>, tensor<6x1x4x2xf32>, tensor<6x1x4x2x2xf32>) -> (tensor<1x4x8xf32>, tensor<8x8xf32>, tensor<3xf32>, tensor<8xf32>)
mf.return %dx, %dw, %df, %db : tensor<1x4x8xf32>, tensor<8x8xf32>, tensor<3xf32>, tensor<8xf32>

// Attention reads its operands, its result and the logarithms of sums again, the indexer its operands and what it chose, and
// no gradient flows through shares.
%k = mf.get_param @k : tensor<1x4x4xf32>
%w = mf.get_param @w : tensor<1x4x2xf32>
%sink = mf.get_param @sink : tensor<2xf32>
%scores, %chosen = mf.lightning_indexer %q, %k, %w {k = 1 : i64, name = "topk", ratio = 1 : i64, unseen = -1.000000e+00 : f64} : (tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<1x4x2xf32>) -> (tensor<1x4x1xf32>, tensor<1x4x1xi32>)
%y, %sum = mf.hybrid_attention %q, %k, %sink over %k at %chosen {name = "attention", ratio = 1 : i64, scale = 5.000000e-01 : f64, window = 2 : i64} : (tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>, tensor<1x4x4xf32>, tensor<1x4x1xi32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x2xf32>)
%t = mf.entry_shares %q, %k, %chosen, %sum {name = "shares", scale = 5.000000e-01 : f64} : (tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<1x4x1xi32>, tensor<1x4x2xf32>) -> tensor<1x4x1xf32>
%v = mf.mul %scores, %t {name = "mul"} : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
%dy, %dv = mf.cut %y, %v : tensor<1x4x2x4xf32>, tensor<1x4x1xf32>
%mul_grad = mf.mul %dv, %t {name = "mul.grad"} : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
%attention_grad, %attention_grad2, %dsink, %attention_grad3 = mf.hybrid_attention_grad %dy, %q, %k, %sink, %y, %sum over %k at %chosen {name = "attention.grad", ratio = 1 : i64, scale = 5.000000e-01 : f64, window = 2 : i64} : (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>, tensor<1x4x2x4xf32>, tensor<1x4x2xf32>, tensor<1x4x4xf32>, tensor<1x4x1xi32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<2xf32>, tensor<1x4x4xf32>)
%attention_grad4 = mf.add %attention_grad2, %attention_grad3 {name = "attention.grad"} : (tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
%topk_grad, %topk_grad2, %dw = mf.lightning_indexer_grad %mul_grad, %q, %k, %w, %chosen {name = "topk.grad"} : (tensor<1x4x1xf32>, tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<1x4x2xf32>, tensor<1x4x1xi32>) -> (tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<1x4x2xf32>)
%dq = mf.add %attention_grad, %topk_grad {name = "topk.grad"} : (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>) -> tensor<1x4x2x4xf32>
%dk = mf.add %attention_grad4, %topk_grad2 {name = "topk.grad"} : (tensor<1x4x4xf32>, tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
mf.return %dq, %dk, %dw, %dsink : tensor<1x4x2x4xf32>, tensor<1x4x4xf32>, tensor<1x4x2xf32>, tensor<2xf32>
