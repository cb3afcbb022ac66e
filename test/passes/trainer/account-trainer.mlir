// What the trainer of the dynamic graph holds: each operator says what is kept of it, and the largest moment is written with its parts.
// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --split-input-file --pass-pipeline='builtin.module(mf.model(mf-account-trainer))' | FileCheck %s
// RUN: %roundtrip --pass-pipeline='builtin.module(mf.model(mf-account-trainer))' %S/Inputs/one_loss.mlir | FileCheck %s --check-prefix=LOSS
// RUN: sed -e 's/stages = 1, interleave = 1, micro_batches = 1/stages = 2, interleave = 1, micro_batches = 4/' -e '/@lm_head/s/stage = 0/stage = 1/' %S/Inputs/one_loss.mlir > %t.mlir
// RUN: mf-opt --pass-pipeline='builtin.module(mf.model(mf-account-trainer))' %t.mlir | FileCheck %s --check-prefix=ENDS

// Of the loss, 3 1/2 planes of logits are alive at the scatter of the labels: those in bf16 and their log-softmax, which are kept, the
// probabilities and the gradient.
//   states        3 x 262,656 of the embedding, 131,584 + 3 x 262,656 of the head
//   kept          logits 16,777,728, log-softmax 33,554,944, the head's input 66,048, indices 16,896
//   values        the probabilities and the gradient in fp32, 33,554,432 bytes each
//   tables        a compressed mask of 4 MiB
// LOSS: trainer_memory = [{at = "lm_head.loss: scatter_add", kept_by_chunk = array<i64: {{[0-9]+}}>, lasting = 1707520 : i64, live = 140214272 : i64, parts = {kept = 50415616 : i64, states = 1707520 : i64, tables = 4194816 : i64, values = 67109376 : i64, workspace = 16786944 : i64}, task = "B0"}]

// On two stages. The gradient of an embedding is added to that of the first backward, so the second finds 4096 x 16 x 4 = 262,144 bytes in a
// block of 262,656, and makes as many. On the last stage the second backward finds the gradient of the first, which a head returns in fp32, and
// begins with a sum of as many bytes.
// ENDS: {at = "embedding.gather", {{.*}}parts = {gradient_sums = 262656 : i64, {{[^}]*}}weight_gradients = 262656 : i64, {{[^}]*}}}, task = "B1"},
// ENDS-SAME: {at = "lm_head.loss: scatter_add", {{.*}}parts = {gradient_sums = 262656 : i64, {{[^}]*}}weight_gradients = 262656 : i64, {{.*}}task = "B1"}]

// A view has the memory of its operand: the norm of half of a product keeps all of it, 64 x 512 x 2 = 65,536 bytes in a block of 66,048.
// Beside it forward keeps the inputs of both products, 2,560 and 33,280, and a number for each row, 512.
// CHECK-LABEL: mf.model @views
// CHECK-SAME: trainer_memory = [{at = "layers.0.out.matmul", {{.*}}parts = {kept = 102400 : i64,
mf.model @views attributes {
    micro_batch_size = 1 : i64, sequence_length = 64 : i64, vocab_size = 16 : i64, compressed_mask,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0, dynamic_graph = true>} {
  mf.param @w : tensor<512x16xf32> init <zeros> {mf.kept = bf16}
  mf.param @v : tensor<16x256xf32> init <zeros> {mf.kept = bf16}
  mf.param @gamma : tensor<256xf32> init <ones>
  mf.layer @layers.0 body (%x: tensor<1x64x16xbf16>) -> tensor<1x64x16xbf16> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %w = mf.get_param @w : tensor<512x16xf32>
    %c = mf.cast %w {name = "cast"} : (tensor<512x16xf32>) -> tensor<512x16xbf16>
    %y = mf.matmul %x, %c {name = "matmul", transpose_b = true} : (tensor<1x64x16xbf16>, tensor<512x16xbf16>) -> tensor<1x64x512xbf16>
    %s = mf.slice %y {name = "split", sizes = array<i64: 1, 64, 256>, starts = array<i64: 0, 0, 256>} : (tensor<1x64x512xbf16>) -> tensor<1x64x256xbf16>
    %f = mf.cast %s {name = "cast"} : (tensor<1x64x256xbf16>) -> tensor<1x64x256xf32>
    %g = mf.get_param @gamma : tensor<256xf32>
    %n, %rstd = mf.rms_norm %f, %g {epsilon = 1.0e-6 : f64, name = "norm"} : (tensor<1x64x256xf32>, tensor<256xf32>) -> (tensor<1x64x256xf32>, tensor<1x64xf32>)
    %b = mf.cast %n {name = "cast"} : (tensor<1x64x256xf32>) -> tensor<1x64x256xbf16>
    %v = mf.get_param @v : tensor<16x256xf32>
    %d = mf.cast %v {name = "out.cast"} : (tensor<16x256xf32>) -> tensor<16x256xbf16>
    %o = mf.matmul %b, %d {name = "out.matmul", transpose_b = true} : (tensor<1x64x256xbf16>, tensor<16x256xbf16>) -> tensor<1x64x16xbf16>
    mf.return %o : tensor<1x64x16xbf16>
  }
}

// The operators in front of the last product run again before its backward, and forward keeps only what they read from outside: the layer's
// input. Before the backward of the first product, the rest is free again but the gradient of the run's result, 64 x 256 x 2 = 32,768 bytes in a
// block of 33,280, beside that of the first product's result, 66,048.
// CHECK-LABEL: mf.model @recomputed
// CHECK-SAME: trainer_memory = [{at = "layers.0.matmul", {{.*}}parts = {kept = 2560 : i64, {{.*}}values = 99328 : i64,
= mf.model @recomputed attributes {
= %c = mf.cast %w {name = "cast", recompute = #mf.recompute<full>} : (tensor<512x16xf32>) -> tensor<512x16xbf16>
= %y = mf.matmul %x, %c {name = "matmul", recompute = #mf.recompute<full>, transpose_b = true} : (tensor<1x64x16xbf16>, tensor<512x16xbf16>) -> tensor<1x64x512xbf16>
= %s = mf.slice %y {name = "split", recompute = #mf.recompute<full>, sizes = array<i64: 1, 64, 256>, starts = array<i64: 0, 0, 256>} : (tensor<1x64x512xbf16>) -> tensor<1x64x256xbf16>
= %f = mf.cast %s {name = "cast", recompute = #mf.recompute<full>} : (tensor<1x64x256xbf16>) -> tensor<1x64x256xf32>
= %n, %rstd = mf.rms_norm %f, %g {epsilon = 1.0e-6 : f64, name = "norm", recompute = #mf.recompute<full>} : (tensor<1x64x256xf32>, tensor<256xf32>) -> (tensor<1x64x256xf32>, tensor<1x64xf32>)
= %b = mf.cast %n {name = "cast", recompute = #mf.recompute<full>} : (tensor<1x64x256xf32>) -> tensor<1x64x256xbf16>

// The trainer has one kernel for the middle operators. Their values do not exist but for the result, which is kept with the operand in front of
// the cast: 64 x 16 x 2 = 2,048 bytes in a block of 2,560 each. Beside them the kernel keeps 100,000 bytes in a block of 100,352, and the
// input of the product behind it is the result itself. In backward 50,000 more bytes are alive, and the gradient of the result; that of the
// layer's input has no reader. The operator without the attribute lies between two of the kernel.
// CHECK-LABEL: mf.model @kernel
// CHECK-SAME: trainer_memory = [{at = "layers.0.attention", {{.*}}parts = {kept = 105472 : i64, {{.*}}values = 52560 : i64
= mf.model @kernel attributes {
= mf.param @w : tensor<64xf32> init <zeros>
- mf.param @v
- mf.param @gamma
= %w = mf.get_param @w : tensor<64xf32>
+ %r = mf.reshape %w {name = "reshape"} : (tensor<64xf32>) -> tensor<64x1xf32>
+ %f = mf.cast %x {name = "cast", mf.trainer_kernel = {name = "attention", keeps_operands, keeps_results, kept = 100000 : i64, forward = 0 : i64, backward = 50000 : i64}} : (tensor<1x64x16xbf16>) -> tensor<1x64x16xf32>
+ %y = mf.mul %f, %r {name = "mul"} : (tensor<1x64x16xf32>, tensor<64x1xf32>) -> tensor<1x64x16xf32>
+ %a = mf.mul %y, %r {name = "mul", mf.trainer_kernel = {name = "attention", keeps_operands, keeps_results, kept = 100000 : i64, forward = 0 : i64, backward = 50000 : i64}} : (tensor<1x64x16xf32>, tensor<64x1xf32>) -> tensor<1x64x16xf32>
+ %b = mf.mul %a, %y {name = "mul", mf.trainer_kernel = {name = "attention", keeps_operands, keeps_results, kept = 100000 : i64, forward = 0 : i64, backward = 50000 : i64}} : (tensor<1x64x16xf32>, tensor<1x64x16xf32>) -> tensor<1x64x16xf32>
= %c = mf.cast %b {name = "cast", mf.trainer_kernel = {name = "attention", keeps_operands, keeps_results, kept = 100000 : i64, forward = 0 : i64, backward = 50000 : i64}} : (tensor<1x64x16xf32>) -> tensor<1x64x16xbf16>
- %y
- ...
- %d
= %o = mf.mul %c, %c {name = "out"} : (tensor<1x64x16xbf16>, tensor<1x64x16xbf16>) -> tensor<1x64x16xbf16>

// With stages the ranks reduce gradients once a step. The first backward leaves the gradient of a weight in the weight's type, 512 x 512 x 2 =
// 524,288 bytes in a block of 524,800. The second begins with a sum in fp32 of 1,049,088 bytes, and finds that gradient until the layer's
// backward ends; its own comes as third.
// CHECK-LABEL: mf.model @stages
// CHECK-SAME: trainer_memory = [{at = "layers.0.matmul", {{.*}}parts = {gradient_sums = 1049088 : i64, {{.*}}weight_gradients = 1049600 : i64, {{.*}}task = "B1"},
// CHECK-SAME: {at = "layers.1.matmul", {{.*}}parts = {gradient_sums = 1049088 : i64, {{.*}}weight_gradients = 1049600 : i64, {{.*}}task = "B1"}]
mf.model @stages attributes {
    micro_batch_size = 1 : i64, sequence_length = 16 : i64, vocab_size = 16 : i64, compressed_mask,
    training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 4>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0, dynamic_graph = true>} {
  mf.param @v : tensor<512x512xf32> init <zeros> {mf.kept = bf16}
  mf.param @w : tensor<512x512xf32> init <zeros> {mf.kept = bf16}
  mf.layer @layers.0 body (%x: tensor<1x16x512xbf16>) -> tensor<1x16x512xbf16> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %v = mf.get_param @v : tensor<512x512xf32>
    %c = mf.cast %v {name = "cast"} : (tensor<512x512xf32>) -> tensor<512x512xbf16>
    %y = mf.matmul %x, %c {name = "matmul", transpose_b = true} : (tensor<1x16x512xbf16>, tensor<512x512xbf16>) -> tensor<1x16x512xbf16>
    mf.return %y : tensor<1x16x512xbf16>
  }
  mf.layer @layers.1 body (%x: tensor<1x16x512xbf16>) -> tensor<1x16x512xbf16> attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    %w = mf.get_param @w : tensor<512x512xf32>
    %c = mf.cast %w {name = "cast"} : (tensor<512x512xf32>) -> tensor<512x512xbf16>
    %y = mf.matmul %x, %c {name = "matmul", transpose_b = true} : (tensor<1x16x512xbf16>, tensor<512x512xbf16>) -> tensor<1x16x512xbf16>
    mf.return %y : tensor<1x16x512xbf16>
  }
}

// With stages, values that a layer computes again stay until the backward of the chunk has ended. At the backward of layers.0 the activations
// of both layers are alive, 64 x 1024 x 2 and 64 x 512 x 2 bytes in blocks of 131,584 and 66,048. Beside them are the inputs of both layers,
// the stage's output and the buffer of the output's gradient in blocks of 2,560, for each of two micro-batches in flight, but for the input of
// layers.1 that backward has read. The last stage has a layer without operators.
// CHECK-LABEL: mf.model @recomputed_stages
// CHECK-SAME: trainer_memory = [{at = "layers.0.in", {{.*}}parts = {kept = 215552 : i64,
mf.model @recomputed_stages attributes {
    micro_batch_size = 1 : i64, sequence_length = 64 : i64, vocab_size = 16 : i64, compressed_mask,
    training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 2>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0, dynamic_graph = true>} {
  mf.param @t : tensor<1024x16xf32> init <zeros> {mf.kept = bf16}
  mf.param @u : tensor<16x1024xf32> init <zeros> {mf.kept = bf16}
  mf.param @v : tensor<512x16xf32> init <zeros> {mf.kept = bf16}
  mf.param @w : tensor<16x512xf32> init <zeros> {mf.kept = bf16}
  mf.layer @layers.0 body (%x: tensor<1x64x16xbf16>) -> tensor<1x64x16xbf16> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %t = mf.get_param @t : tensor<1024x16xf32>
    %c = mf.cast %t {name = "in.cast", recompute = #mf.recompute<full>} : (tensor<1024x16xf32>) -> tensor<1024x16xbf16>
    %h = mf.matmul %x, %c {name = "in", recompute = #mf.recompute<full>, transpose_b = true} : (tensor<1x64x16xbf16>, tensor<1024x16xbf16>) -> tensor<1x64x1024xbf16>
    %u = mf.get_param @u : tensor<16x1024xf32>
    %d = mf.cast %u {name = "out.cast", recompute = #mf.recompute<full>} : (tensor<16x1024xf32>) -> tensor<16x1024xbf16>
    %y = mf.matmul %h, %d {name = "out", recompute = #mf.recompute<full>, transpose_b = true} : (tensor<1x64x1024xbf16>, tensor<16x1024xbf16>) -> tensor<1x64x16xbf16>
    mf.return %y : tensor<1x64x16xbf16>
  }
  mf.layer @layers.1 body (%x: tensor<1x64x16xbf16>) -> tensor<1x64x16xbf16> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %v = mf.get_param @v : tensor<512x16xf32>
    %c = mf.cast %v {name = "in.cast", recompute = #mf.recompute<full>} : (tensor<512x16xf32>) -> tensor<512x16xbf16>
    %h = mf.matmul %x, %c {name = "in", recompute = #mf.recompute<full>, transpose_b = true} : (tensor<1x64x16xbf16>, tensor<512x16xbf16>) -> tensor<1x64x512xbf16>
    %w = mf.get_param @w : tensor<16x512xf32>
    %d = mf.cast %w {name = "out.cast", recompute = #mf.recompute<full>} : (tensor<16x512xf32>) -> tensor<16x512xbf16>
    %y = mf.matmul %h, %d {name = "out", recompute = #mf.recompute<full>, transpose_b = true} : (tensor<1x64x512xbf16>, tensor<16x512xbf16>) -> tensor<1x64x16xbf16>
    mf.return %y : tensor<1x64x16xbf16>
  }
  mf.layer @layers.2 body (%x: tensor<1x64x16xbf16>) -> tensor<1x64x16xbf16> attributes {placement = #mf.placement<stage = 1, chunk = 0>} {
    mf.return %x : tensor<1x64x16xbf16>
  }
}

// A site of two streams of 32, with 64 tokens: the streams 8,704, what is read of them 1,024, the products 2,560, the inverse roots 512, the
// sums 3,584 and the matrices 6,656 of three iterations, the matrix 1,536, the layer's result 4,608 and the shares 1,024.
// CHECK-LABEL: mf.model @fused_streams
// CHECK-SAME: parts = {kept = 30208 : i64,
mf.model @fused_streams attributes {
    micro_batch_size = 1 : i64, sequence_length = 64 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0, dynamic_graph = true>} {
  mf.param @w : tensor<8x64xf32> init <zeros>
  mf.param @f : tensor<3xf32> init <zeros>
  mf.param @b : tensor<8xf32> init <zeros>
  mf.layer @layers.0 body (%x: tensor<1x64x64xbf16>) -> tensor<1x64x64xbf16> attributes {placement = #mf.placement<stage = 0, chunk = 0>} {
    %w = mf.get_param @w : tensor<8x64xf32>
    %f = mf.get_param @f : tensor<3xf32>
    %b = mf.get_param @b : tensor<8xf32>
    %y, %s, %m, %saved:5 = mf.mhc_pre %x, %w, %f, %b {name = "attn_hc.mhc_pre", count = 2 : i64, epsilon = 0.125 : f64, iterations = 3 : i64, least = 0.125 : f64}
        : (tensor<1x64x64xbf16>, tensor<8x64xf32>, tensor<3xf32>, tensor<8xf32>)
        -> (tensor<1x64x32xbf16>, tensor<1x64x2xf32>, tensor<1x64x2x2xf32>, tensor<1x64x2xf32>, tensor<1x64x8xf32>, tensor<1x64xf32>, tensor<6x1x64x2xf32>, tensor<6x1x64x2x2xf32>)
    %z = mf.mhc_post %x, %m, %y, %s {name = "attn_hc.output_cell.mhc_post"} : (tensor<1x64x64xbf16>, tensor<1x64x2x2xf32>, tensor<1x64x32xbf16>, tensor<1x64x2xf32>) -> tensor<1x64x64xbf16>
    mf.return %z : tensor<1x64x64xbf16>
  }
}
