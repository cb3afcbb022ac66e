// How the operators of routers and experts differentiate.
// RUN: %python %S/Inputs/check_graphs.py %s %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-backward))'

// A repeated divisor gets the sum over what it was repeated over.
%s = mf.reduce_sum %x {axes = array<i64: 1>, name = "sum"} : (tensor<3x8xf32>) -> tensor<3xf32>
%r = mf.reshape %s {name = "reshape"} : (tensor<3xf32>) -> tensor<3x1xf32>
%e = mf.add_scalar %r {name = "add_eps", value = 1.000000e-09 : f64} : (tensor<3x1xf32>) -> tensor<3x1xf32>
%y = mf.div %x, %e {name = "div"} : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
%dy = mf.cut %y : tensor<3x8xf32>
%div_grad = mf.div %dy, %e {name = "div.grad"} : (tensor<3x8xf32>, tensor<3x1xf32>) -> tensor<3x8xf32>
%div_grad2 = mf.mul %div_grad, %y {name = "div.grad"} : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
%div_grad3 = mf.reduce_sum %div_grad2 {axes = array<i64: 1>, name = "div.grad"} : (tensor<3x8xf32>) -> tensor<3xf32>
%div_grad4 = mf.reshape %div_grad3 {name = "div.grad"} : (tensor<3xf32>) -> tensor<3x1xf32>
%div_grad5 = mf.neg %div_grad4 {name = "div.grad"} : (tensor<3x1xf32>) -> tensor<3x1xf32>
%reshape_grad = mf.reshape %div_grad5 {name = "reshape.grad"} : (tensor<3x1xf32>) -> tensor<3xf32>
%sum_grad = mf.reshape %reshape_grad {name = "sum.grad"} : (tensor<3xf32>) -> tensor<3x1xf32>
%sum_grad2 = mf.repeat %sum_grad {axis = 1 : i64, name = "sum.grad", repeats = 8 : i64} : (tensor<3x1xf32>) -> tensor<3x8xf32>
%dx = mf.add %div_grad, %sum_grad2 {name = "sum.grad"} : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
mf.return %dx : tensor<3x8xf32>

// Of chosen elements alone; which ones they are has no gradient, nor has a comparison.
mf.param @bias : tensor<8xf32> init <zeros> {frozen}
%p = mf.sigmoid %x {name = "sigmoid"} : (tensor<3x8xf32>) -> tensor<3x8xf32>
%b = mf.get_param @bias : tensor<8xf32>
%s = mf.add %p, %b {name = "bias"} : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
%v, %i = mf.top_k %s {k = 2 : i64, name = "topk"} : (tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
%g = mf.gather_elements %p, %i {name = "gather"} : (tensor<3x8xf32>, tensor<3x2xi32>) -> tensor<3x2xf32>
%k = mf.compare_scalar %g {comparison = #mf.comparison<greater>, name = "gt", value = 5.000000e-01 : f64} : (tensor<3x2xf32>) -> tensor<3x2xf32>
%y = mf.mul %g, %k {name = "mul"} : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
%dy = mf.cut %y : tensor<3x2xf32>
%mul_grad = mf.mul %dy, %k {name = "mul.grad"} : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
%gather_grad = mf.scatter_elements %mul_grad, %i {name = "gather.grad"} : (tensor<3x2xf32>, tensor<3x2xi32>) -> tensor<3x8xf32>
%dx = mf.sigmoid_grad %gather_grad, %p {name = "sigmoid.grad"} : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
mf.return %dx : tensor<3x8xf32>

// The largest elements' gradients go where they stood.
%e = mf.exp %x {name = "exp"} : (tensor<3x8xf32>) -> tensor<3x8xf32>
%l = mf.log %e {name = "log"} : (tensor<3x8xf32>) -> tensor<3x8xf32>
%v, %i = mf.top_k %l {k = 2 : i64, name = "topk"} : (tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
%dv = mf.cut %v : tensor<3x2xf32>
%topk_grad = mf.scatter_elements %dv, %i {name = "topk.grad"} : (tensor<3x2xf32>, tensor<3x2xi32>) -> tensor<3x8xf32>
%log_grad = mf.div %topk_grad, %e {name = "log.grad"} : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
%dx = mf.mul %log_grad, %e {name = "exp.grad"} : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
mf.return %dx : tensor<3x8xf32>

// Rows that were read twice get both gradients; padding gets none.
mf.param @places : tensor<6xi32> init <coordinate, value = 1.0> {frozen}
%z = mf.pad %x {high = array<i64: 0, 0>, low = array<i64: 1, 0>, name = "concat"} : (tensor<5x4xf32>) -> tensor<6x4xf32>
%i = mf.get_param @places : tensor<6xi32>
%y = mf.gather_rows %z, %i {name = "gather"} : (tensor<6x4xf32>, tensor<6xi32>) -> tensor<6x4xf32>
%dy = mf.cut %y : tensor<6x4xf32>
%gather_grad = mf.gather_rows_grad %dy, %i {name = "gather.grad"} : (tensor<6x4xf32>, tensor<6xi32>) -> tensor<6x4xf32>
%dx = mf.slice %gather_grad {name = "concat.grad", sizes = array<i64: 5, 4>, starts = array<i64: 1, 0>} : (tensor<6x4xf32>) -> tensor<5x4xf32>
mf.return %dx : tensor<5x4xf32>

// What was put in order goes back, and the other way round.
mf.param @keys : tensor<6xf32> init <zeros> {frozen}
%k = mf.get_param @keys : tensor<6xf32>
%p, %s = mf.token_permute %x, %k {name = "permute"} : (tensor<6x4xf32>, tensor<6xf32>) -> (tensor<6x4xf32>, tensor<6xi32>)
%n = mf.neg %p {name = "neg"} : (tensor<6x4xf32>) -> tensor<6x4xf32>
%y = mf.token_unpermute %n, %s {name = "unpermute"} : (tensor<6x4xf32>, tensor<6xi32>) -> tensor<6x4xf32>
%dy = mf.cut %y : tensor<6x4xf32>
%unpermute_grad = mf.gather_rows_grad %dy, %s {name = "unpermute.grad"} : (tensor<6x4xf32>, tensor<6xi32>) -> tensor<6x4xf32>
%neg_grad = mf.neg %unpermute_grad {name = "neg.grad"} : (tensor<6x4xf32>) -> tensor<6x4xf32>
%dx = mf.token_unpermute %neg_grad, %s {name = "permute.grad"} : (tensor<6x4xf32>, tensor<6xi32>) -> tensor<6x4xf32>
mf.return %dx : tensor<6x4xf32>

// As of a plain product, of each expert's rows; the second weight is stored transposed.
mf.param @counts : tensor<2x1x3xf32> init <ones> {frozen}
%c = mf.get_param @counts : tensor<2x1x3xf32>
%w1 = mf.get_param @w1 : tensor<1x3x4x8xf32>
%h = mf.expert_matmul %x, %w1, %c {name = "up"} : (tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x8xf32>
%w2 = mf.get_param @w2 : tensor<1x3x4x8xf32>
%y = mf.expert_matmul %h, %w2, %c {name = "down", transpose_weight = true} : (tensor<2x1x6x8xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x4xf32>
%dy = mf.cut %y : tensor<2x1x6x4xf32>
%down_grad = mf.expert_matmul %dy, %w2, %c {name = "down.grad"} : (tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x8xf32>
%dw2 = mf.expert_matmul_weight_grad %dy, %h, %c {name = "down.grad"} : (tensor<2x1x6x4xf32>, tensor<2x1x6x8xf32>, tensor<2x1x3xf32>) -> tensor<1x3x4x8xf32>
%dx = mf.expert_matmul %down_grad, %w1, %c {name = "up.grad", transpose_weight = true} : (tensor<2x1x6x8xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x4xf32>
%dw1 = mf.expert_matmul_weight_grad %x, %down_grad, %c {name = "up.grad"} : (tensor<2x1x6x4xf32>, tensor<2x1x6x8xf32>, tensor<2x1x3xf32>) -> tensor<1x3x4x8xf32>
mf.return %dx, %dw1, %dw2 : tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>, tensor<1x3x4x8xf32>

// The gradient of grouped products.
mf.param @counts : tensor<2x1x3xf32> init <ones> {frozen}
%c = mf.get_param @counts : tensor<2x1x3xf32>
%w = mf.get_param @w : tensor<1x3x4x8xf32>
%y = mf.grouped_matmul %x, %w, %c {name = "up"} : (tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x8xf32>
%dy = mf.cut %y : tensor<2x1x6x8xf32>
%dx = mf.grouped_matmul %dy, %w, %c {name = "up.grad", transpose_weight = true} : (tensor<2x1x6x8xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x4xf32>
%dw = mf.grouped_matmul_weight_grad %x, %dy, %c {name = "up.grad"} : (tensor<2x1x6x4xf32>, tensor<2x1x6x8xf32>, tensor<2x1x3xf32>) -> tensor<1x3x4x8xf32>
mf.return %dx, %dw : tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>

// Gradients come back the way the tokens went, and padding of another value does not matter to them.
mf.param @send : tensor<1x2x2x3xf32> init <ones> {frozen}
mf.param @receive : tensor<1x2x2x3xf32> init <ones> {frozen}
%s = mf.get_param @send : tensor<1x2x2x3xf32>
%r = mf.get_param @receive : tensor<1x2x2x3xf32>
%y = mf.exchange_tokens %x, %s, %r {fill = 3.000000e+00 : f64, name = "exchange"} : (tensor<1x2x6x4xf32>, tensor<1x2x2x3xf32>, tensor<1x2x2x3xf32>) -> tensor<1x2x9x4xf32>
%dy = mf.cut %y : tensor<1x2x9x4xf32>
%dx = mf.exchange_tokens %dy, %r, %s {name = "exchange.grad"} : (tensor<1x2x9x4xf32>, tensor<1x2x2x3xf32>, tensor<1x2x2x3xf32>) -> tensor<1x2x6x4xf32>
mf.return %dx : tensor<1x2x6x4xf32>
