module attributes {mf.mesh = #mf.mesh<pp = 1>} {
  ascend.program @stage0 stage 0 attributes {arena_bytes = 565760 : i64, hbm_limit_bytes = 62277025792 : i64, host_bytes = 832 : i64, ignore_index = -100 : i64, lr_schedule = {learning_rate = 1.000000e-03 : f64, lr_end = 1.000000e-04 : f64, total_steps = -1 : i64, type = "CosineWithWarmUpLR", warmup_steps = 20 : i64}, max_live_bytes = 565760 : i64, micro_batch_size = 4 : i64, micro_batches = 1 : i64, pad_token_id = -1 : i64, sequence_length = 16 : i64, vocab_size = 256 : i64} {
    ascend.stream @compute compute
    ascend.static @model.tok_embeddings.embedding_weight parameter of "model.tok_embeddings.embedding_weight" : !ascend.buffer<256x32xf32, hbm> at 0 {init = #mf.init<normal, value = 2.000000e-02>}
    ascend.static @model.layers.0.attention_norm.weight parameter of "model.layers.0.attention_norm.weight" : !ascend.buffer<32xf32, hbm> at 32768 {init = #mf.init<ones>}
    ascend.static @model.layers.0.attention.wq.weight parameter of "model.layers.0.attention.wq.weight" : !ascend.buffer<32x32xf32, hbm> at 33280 {init = #mf.init<normal, value = 2.000000e-02>}
    ascend.static @model.layers.0.attention.wk.weight parameter of "model.layers.0.attention.wk.weight" : !ascend.buffer<16x32xf32, hbm> at 37376 {init = #mf.init<normal, value = 2.000000e-02>}
    ascend.static @model.layers.0.attention.wv.weight parameter of "model.layers.0.attention.wv.weight" : !ascend.buffer<16x32xf32, hbm> at 39424 {init = #mf.init<normal, value = 2.000000e-02>}
    ascend.static @freqs_cos table of "freqs_cos" : !ascend.buffer<16x8xf32, hbm> at 41472 {init = #mf.init<rotary_cos, value = 1.000000e+04>}
    ascend.static @freqs_sin table of "freqs_sin" : !ascend.buffer<16x8xf32, hbm> at 41984 {init = #mf.init<rotary_sin, value = 1.000000e+04>}
    ascend.static @model.layers.0.attention.wo.weight parameter of "model.layers.0.attention.wo.weight" : !ascend.buffer<32x32xf32, hbm> at 42496 {init = #mf.init<normal, value = 2.000000e-02>}
    ascend.static @model.layers.0.ffn_norm.weight parameter of "model.layers.0.ffn_norm.weight" : !ascend.buffer<32xf32, hbm> at 46592 {init = #mf.init<ones>}
    ascend.static @model.layers.0.feed_forward.w1.weight parameter of "model.layers.0.feed_forward.w1.weight" : !ascend.buffer<48x32xf32, hbm> at 47104 {init = #mf.init<normal, value = 2.000000e-02>}
    ascend.static @model.layers.0.feed_forward.w3.weight parameter of "model.layers.0.feed_forward.w3.weight" : !ascend.buffer<48x32xf32, hbm> at 53248 {init = #mf.init<normal, value = 2.000000e-02>}
    ascend.static @model.layers.0.feed_forward.w2.weight parameter of "model.layers.0.feed_forward.w2.weight" : !ascend.buffer<32x48xf32, hbm> at 59392 {init = #mf.init<normal, value = 2.000000e-02>}
    ascend.static @model.norm_out.weight parameter of "model.norm_out.weight" : !ascend.buffer<32xf32, hbm> at 65536 {init = #mf.init<ones>}
    ascend.static @lm_head.weight parameter of "lm_head.weight" : !ascend.buffer<256x32xf32, hbm> at 66048 {init = #mf.init<normal, value = 2.000000e-02>}
    ascend.static @loss constant : !ascend.buffer<f32, hbm> at 98816
    ascend.static @gradient.model.tok_embeddings.embedding_weight gradient of "model.tok_embeddings.embedding_weight" : !ascend.buffer<256x32xf32, hbm> at 499712
    ascend.static @gradient.model.layers.0.attention_norm.weight gradient of "model.layers.0.attention_norm.weight" : !ascend.buffer<32xf32, hbm> at 325120
    ascend.static @gradient.model.layers.0.attention.wq.weight gradient of "model.layers.0.attention.wq.weight" : !ascend.buffer<32x32xf32, hbm> at 331264
    ascend.static @gradient.model.layers.0.attention.wk.weight gradient of "model.layers.0.attention.wk.weight" : !ascend.buffer<16x32xf32, hbm> at 347648
    ascend.static @gradient.model.layers.0.attention.wv.weight gradient of "model.layers.0.attention.wv.weight" : !ascend.buffer<16x32xf32, hbm> at 357888
    ascend.static @gradient.model.layers.0.attention.wo.weight gradient of "model.layers.0.attention.wo.weight" : !ascend.buffer<32x32xf32, hbm> at 377344
    ascend.static @gradient.model.layers.0.ffn_norm.weight gradient of "model.layers.0.ffn_norm.weight" : !ascend.buffer<32xf32, hbm> at 376832
    ascend.static @gradient.model.layers.0.feed_forward.w1.weight gradient of "model.layers.0.feed_forward.w1.weight" : !ascend.buffer<48x32xf32, hbm> at 387072
    ascend.static @gradient.model.layers.0.feed_forward.w3.weight gradient of "model.layers.0.feed_forward.w3.weight" : !ascend.buffer<48x32xf32, hbm> at 393216
    ascend.static @gradient.model.layers.0.feed_forward.w2.weight gradient of "model.layers.0.feed_forward.w2.weight" : !ascend.buffer<32x48xf32, hbm> at 415744
    ascend.static @gradient.model.norm_out.weight gradient of "model.norm_out.weight" : !ascend.buffer<32xf32, hbm> at 477696
    ascend.static @gradient.lm_head.weight gradient of "lm_head.weight" : !ascend.buffer<256x32xf32, hbm> at 444928
    ascend.static @report.overflow report of "overflow" : !ascend.buffer<f32, hbm> at 99328
    ascend.static @report.global_norm report of "global_norm" : !ascend.buffer<f32, hbm> at 99840
    ascend.static @first_moment.model.tok_embeddings.embedding_weight first_moment of "model.tok_embeddings.embedding_weight" : !ascend.buffer<256x32xf32, hbm> at 100352
    ascend.static @second_moment.model.tok_embeddings.embedding_weight second_moment of "model.tok_embeddings.embedding_weight" : !ascend.buffer<256x32xf32, hbm> at 133120
    ascend.static @first_moment.model.layers.0.attention_norm.weight first_moment of "model.layers.0.attention_norm.weight" : !ascend.buffer<32xf32, hbm> at 165888
    ascend.static @second_moment.model.layers.0.attention_norm.weight second_moment of "model.layers.0.attention_norm.weight" : !ascend.buffer<32xf32, hbm> at 166400
    ascend.static @first_moment.model.layers.0.attention.wq.weight first_moment of "model.layers.0.attention.wq.weight" : !ascend.buffer<32x32xf32, hbm> at 166912
    ascend.static @second_moment.model.layers.0.attention.wq.weight second_moment of "model.layers.0.attention.wq.weight" : !ascend.buffer<32x32xf32, hbm> at 171008
    ascend.static @first_moment.model.layers.0.attention.wk.weight first_moment of "model.layers.0.attention.wk.weight" : !ascend.buffer<16x32xf32, hbm> at 175104
    ascend.static @second_moment.model.layers.0.attention.wk.weight second_moment of "model.layers.0.attention.wk.weight" : !ascend.buffer<16x32xf32, hbm> at 177152
    ascend.static @first_moment.model.layers.0.attention.wv.weight first_moment of "model.layers.0.attention.wv.weight" : !ascend.buffer<16x32xf32, hbm> at 179200
    ascend.static @second_moment.model.layers.0.attention.wv.weight second_moment of "model.layers.0.attention.wv.weight" : !ascend.buffer<16x32xf32, hbm> at 181248
    ascend.static @first_moment.model.layers.0.attention.wo.weight first_moment of "model.layers.0.attention.wo.weight" : !ascend.buffer<32x32xf32, hbm> at 183296
    ascend.static @second_moment.model.layers.0.attention.wo.weight second_moment of "model.layers.0.attention.wo.weight" : !ascend.buffer<32x32xf32, hbm> at 187392
    ascend.static @first_moment.model.layers.0.ffn_norm.weight first_moment of "model.layers.0.ffn_norm.weight" : !ascend.buffer<32xf32, hbm> at 191488
    ascend.static @second_moment.model.layers.0.ffn_norm.weight second_moment of "model.layers.0.ffn_norm.weight" : !ascend.buffer<32xf32, hbm> at 192000
    ascend.static @first_moment.model.layers.0.feed_forward.w1.weight first_moment of "model.layers.0.feed_forward.w1.weight" : !ascend.buffer<48x32xf32, hbm> at 192512
    ascend.static @second_moment.model.layers.0.feed_forward.w1.weight second_moment of "model.layers.0.feed_forward.w1.weight" : !ascend.buffer<48x32xf32, hbm> at 198656
    ascend.static @first_moment.model.layers.0.feed_forward.w3.weight first_moment of "model.layers.0.feed_forward.w3.weight" : !ascend.buffer<48x32xf32, hbm> at 204800
    ascend.static @second_moment.model.layers.0.feed_forward.w3.weight second_moment of "model.layers.0.feed_forward.w3.weight" : !ascend.buffer<48x32xf32, hbm> at 210944
    ascend.static @first_moment.model.layers.0.feed_forward.w2.weight first_moment of "model.layers.0.feed_forward.w2.weight" : !ascend.buffer<32x48xf32, hbm> at 217088
    ascend.static @second_moment.model.layers.0.feed_forward.w2.weight second_moment of "model.layers.0.feed_forward.w2.weight" : !ascend.buffer<32x48xf32, hbm> at 223232
    ascend.static @first_moment.model.norm_out.weight first_moment of "model.norm_out.weight" : !ascend.buffer<32xf32, hbm> at 229376
    ascend.static @second_moment.model.norm_out.weight second_moment of "model.norm_out.weight" : !ascend.buffer<32xf32, hbm> at 229888
    ascend.static @first_moment.lm_head.weight first_moment of "lm_head.weight" : !ascend.buffer<256x32xf32, hbm> at 230400
    ascend.static @second_moment.lm_head.weight second_moment of "lm_head.weight" : !ascend.buffer<256x32xf32, hbm> at 263168
    ascend.static @loss_gradient constant : !ascend.buffer<f32, hbm> at 295936 {init = #mf.init<constant, value = 1.000000e+00>}
    ascend.static @learning_rate learning_rate : !ascend.buffer<f32, hbm> at 296448
    ascend.static @step_number step_number : !ascend.buffer<f32, hbm> at 296960
    ascend.static @report.loss report of "loss" : !ascend.buffer<f32, hbm> at 297472
    ascend.stream @h2d h2d
    ascend.static @host.tokens tokens : !ascend.buffer<1x4x16xi32, host> at 0
    ascend.static @host.labels labels : !ascend.buffer<1x4x16xi32, host> at 256
    ascend.static @host.learning_rate learning_rate : !ascend.buffer<f32, host> at 512
    ascend.static @host.step_number step_number : !ascend.buffer<f32, host> at 576
    ascend.stream @d2h d2h
    ascend.static @host.report.overflow report of "overflow" : !ascend.buffer<f32, host> at 640
    ascend.static @host.report.global_norm report of "global_norm" : !ascend.buffer<f32, host> at 704
    ascend.static @host.report.loss report of "loss" : !ascend.buffer<f32, host> at 768
    ascend.frame_layout @chunk0.residuals [!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16xf32, hbm>, !ascend.buffer<4x2x16x8xf32, hbm>, !ascend.buffer<4x4x16x8xf32, hbm>, !ascend.buffer<4x2x16x8xf32, hbm>, !ascend.buffer<4x4x16xf32, hbm>, !ascend.buffer<4x4x16xf32, hbm>, !ascend.buffer<4x4x16x8xf32, hbm>, !ascend.buffer<4x16x4x8xf32, hbm>, !ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16xf32, hbm>, !ascend.buffer<4x16x48xf32, hbm>, !ascend.buffer<4x16x48xf32, hbm>, !ascend.buffer<4x16x48xf32, hbm>, !ascend.buffer<4x16x48xf32, hbm>, !ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16xf32, hbm>, !ascend.buffer<4x16x256xf32, hbm>, !ascend.buffer<64xf32, hbm>, !ascend.buffer<f32, hbm>] of ["embedding.tok_embeddings.gather", "layers.0.attention_norm.norm", "layers.0.attention_norm.norm", "layers.0.attention.transpose", "layers.0.attention.apply_rotary_emb.add", "layers.0.attention.apply_rotary_emb.add", "layers.0.attention.flash_attention.flash_attention", "layers.0.attention.flash_attention.flash_attention", "layers.0.attention.flash_attention.flash_attention", "layers.0.attention.merger_head_transpose", "layers.0.add", "layers.0.ffn_norm.norm", "layers.0.ffn_norm.norm", "layers.0.feed_forward.w1.matmul", "layers.0.feed_forward.w1.activation.silu", "layers.0.feed_forward.w3.matmul", "layers.0.feed_forward.mul", "layers.0.add", "norm_out.norm", "norm_out.norm", "lm_head.matmul", "lm_head.loss", "lm_head.loss"] at [0, 8704, 8192, 16896, 20992, 29184, 33280, 34304, 35328, 43520, 51712, 60416, 59904, 68608, 80896, 93184, 105472, 117760, 126464, 125952, 134656, 200192, 200704] {bytes = 201216 : i64, computes = {arguments = 2 : i64, gradients = [["model.tok_embeddings.embedding_weight", 8619729294193606317], ["model.layers.0.attention_norm.weight", -5161805621148833425], ["model.layers.0.attention.wq.weight", -4993026055940477557], ["model.layers.0.attention.wk.weight", 6920267060194684330], ["model.layers.0.attention.wv.weight", 3331611727101660817], ["model.layers.0.attention.wo.weight", 4068677426393005389], ["model.layers.0.ffn_norm.weight", 3919856421024199157], ["model.layers.0.feed_forward.w1.weight", 225168909074266573], ["model.layers.0.feed_forward.w3.weight", 5411425758769882172], ["model.layers.0.feed_forward.w2.weight", -3582064083955508314], ["model.norm_out.weight", -398028732486965153], ["lm_head.weight", 3787508251147271803]], losses = [["lm_head.loss", 2941644429256120575]], output_gradients = 1 : i64, taken = {chunk0.backward = array<i64: 0, 1, 2>}}}
    ascend.routine @chunk0.forward(%arg0: !ascend.buffer<4x16xi32, hbm>, %arg1: !ascend.buffer<4x16xi32, hbm>) attributes {layout = @chunk0.residuals} {
      %0 = ascend.slot 0 : <4x16x32xf32, hbm>
      %1 = ascend.slot 1 : <4x16x32xf32, hbm>
      %2 = ascend.slot 2 : <4x16xf32, hbm>
      %3 = ascend.slot 3 : <4x2x16x8xf32, hbm>
      %4 = ascend.slot 4 : <4x4x16x8xf32, hbm>
      %5 = ascend.slot 5 : <4x2x16x8xf32, hbm>
      %6 = ascend.slot 6 : <4x4x16xf32, hbm>
      %7 = ascend.slot 7 : <4x4x16xf32, hbm>
      %8 = ascend.slot 8 : <4x4x16x8xf32, hbm>
      %9 = ascend.slot 9 : <4x16x4x8xf32, hbm>
      %10 = ascend.slot 10 : <4x16x32xf32, hbm>
      %11 = ascend.slot 11 : <4x16x32xf32, hbm>
      %12 = ascend.slot 12 : <4x16xf32, hbm>
      %13 = ascend.slot 13 : <4x16x48xf32, hbm>
      %14 = ascend.slot 14 : <4x16x48xf32, hbm>
      %15 = ascend.slot 15 : <4x16x48xf32, hbm>
      %16 = ascend.slot 16 : <4x16x48xf32, hbm>
      %17 = ascend.slot 17 : <4x16x32xf32, hbm>
      %18 = ascend.slot 18 : <4x16x32xf32, hbm>
      %19 = ascend.slot 19 : <4x16xf32, hbm>
      %20 = ascend.slot 20 : <4x16x256xf32, hbm>
      %21 = ascend.slot 21 : <64xf32, hbm>
      %22 = ascend.slot 22 : <f32, hbm>
      %23 = ascend.global @model.tok_embeddings.embedding_weight : <256x32xf32, hbm>
      ascend.launch "aclnnEmbedding"(%23, %arg0) -> (%0) {} cell "embedding.tok_embeddings.gather" : (!ascend.buffer<256x32xf32, hbm>, !ascend.buffer<4x16xi32, hbm>) -> !ascend.buffer<4x16x32xf32, hbm>
      %24 = ascend.global @model.layers.0.attention_norm.weight : <32xf32, hbm>
      ascend.launch "aclnnRmsNorm"(%0, %24) -> (%1, %2) {epsilon = 1.000000e-05 : f64} cell "layers.0.attention_norm.norm" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<32xf32, hbm>) -> (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16xf32, hbm>)
      %25 = ascend.global @model.layers.0.attention.wq.weight : <32x32xf32, hbm>
      %26 = ascend.alloc in frame at 16896 : <4x16x32xf32, hbm>
      ascend.launch "aclnnMatmul"(%1, %25) -> (%26) {contract_batch = false, transpose_a = false, transpose_b = true} cell "layers.0.attention.wq.matmul" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<32x32xf32, hbm>) -> !ascend.buffer<4x16x32xf32, hbm>
      %27 = ascend.global @model.layers.0.attention.wk.weight : <16x32xf32, hbm>
      %28 = ascend.alloc in frame at 25088 : <4x16x16xf32, hbm>
      ascend.launch "aclnnMatmul"(%1, %27) -> (%28) {contract_batch = false, transpose_a = false, transpose_b = true} cell "layers.0.attention.wk.matmul" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<16x32xf32, hbm>) -> !ascend.buffer<4x16x16xf32, hbm>
      %29 = ascend.global @model.layers.0.attention.wv.weight : <16x32xf32, hbm>
      %30 = ascend.alloc in frame at 37376 : <4x16x16xf32, hbm>
      ascend.launch "aclnnMatmul"(%1, %29) -> (%30) {contract_batch = false, transpose_a = false, transpose_b = true} cell "layers.0.attention.wv.matmul" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<16x32xf32, hbm>) -> !ascend.buffer<4x16x16xf32, hbm>
      %31 = ascend.view %26 : <4x16x32xf32, hbm> to <4x16x4x8xf32, hbm>
      %32 = ascend.alloc in frame at 29184 : <4x4x16x8xf32, hbm>
      ascend.launch "aclnnPermute"(%31) -> (%32) {perm = array<i64: 0, 2, 1, 3>} cell "layers.0.attention.transpose" : (!ascend.buffer<4x16x4x8xf32, hbm>) -> !ascend.buffer<4x4x16x8xf32, hbm>
      %33 = ascend.view %28 : <4x16x16xf32, hbm> to <4x16x2x8xf32, hbm>
      %34 = ascend.alloc in frame at 41472 : <4x2x16x8xf32, hbm>
      ascend.launch "aclnnPermute"(%33) -> (%34) {perm = array<i64: 0, 2, 1, 3>} cell "layers.0.attention.transpose" : (!ascend.buffer<4x16x2x8xf32, hbm>) -> !ascend.buffer<4x2x16x8xf32, hbm>
      %35 = ascend.view %30 : <4x16x16xf32, hbm> to <4x16x2x8xf32, hbm>
      ascend.launch "aclnnPermute"(%35) -> (%3) {perm = array<i64: 0, 2, 1, 3>} cell "layers.0.attention.transpose" : (!ascend.buffer<4x16x2x8xf32, hbm>) -> !ascend.buffer<4x2x16x8xf32, hbm>
      %36 = ascend.global @freqs_cos : <16x8xf32, hbm>
      %37 = ascend.global @freqs_sin : <16x8xf32, hbm>
      ascend.launch "mfChain"(%32, %36, %37) -> (%4) {steps = #ascend.steps<aclnnSliceV2(in0) {sizes = array<i64: 4, 4, 16, 4>, starts = array<i64: 0, 0, 0, 0>} : tensor<4x4x16x4xf32>, aclnnSliceV2(in0) {sizes = array<i64: 4, 4, 16, 4>, starts = array<i64: 0, 0, 0, 4>} : tensor<4x4x16x4xf32>, aclnnNeg(t1) : tensor<4x4x16x4xf32>, aclnnCat(t2, t0) {axis = 3 : i64} : tensor<4x4x16x8xf32>, aclnnMul(in0, in1) : tensor<4x4x16x8xf32>, aclnnMul(t3, in2) : tensor<4x4x16x8xf32>, aclnnAdd(t4, t5) : tensor<4x4x16x8xf32>>} cell "layers.0.attention.apply_rotary_emb.add" : (!ascend.buffer<4x4x16x8xf32, hbm>, !ascend.buffer<16x8xf32, hbm>, !ascend.buffer<16x8xf32, hbm>) -> !ascend.buffer<4x4x16x8xf32, hbm>
      ascend.launch "mfChain"(%34, %36, %37) -> (%5) {steps = #ascend.steps<aclnnSliceV2(in0) {sizes = array<i64: 4, 2, 16, 4>, starts = array<i64: 0, 0, 0, 0>} : tensor<4x2x16x4xf32>, aclnnSliceV2(in0) {sizes = array<i64: 4, 2, 16, 4>, starts = array<i64: 0, 0, 0, 4>} : tensor<4x2x16x4xf32>, aclnnNeg(t1) : tensor<4x2x16x4xf32>, aclnnCat(t2, t0) {axis = 3 : i64} : tensor<4x2x16x8xf32>, aclnnMul(in0, in1) : tensor<4x2x16x8xf32>, aclnnMul(t3, in2) : tensor<4x2x16x8xf32>, aclnnAdd(t4, t5) : tensor<4x2x16x8xf32>>} cell "layers.0.attention.apply_rotary_emb.add" : (!ascend.buffer<4x2x16x8xf32, hbm>, !ascend.buffer<16x8xf32, hbm>, !ascend.buffer<16x8xf32, hbm>) -> !ascend.buffer<4x2x16x8xf32, hbm>
      ascend.launch "aclnnFlashAttentionScore"(%4, %5, %3) -> (%6, %7, %8) {causal = true, scale = 0.35355339059327373 : f64} cell "layers.0.attention.flash_attention.flash_attention" : (!ascend.buffer<4x4x16x8xf32, hbm>, !ascend.buffer<4x2x16x8xf32, hbm>, !ascend.buffer<4x2x16x8xf32, hbm>) -> (!ascend.buffer<4x4x16xf32, hbm>, !ascend.buffer<4x4x16xf32, hbm>, !ascend.buffer<4x4x16x8xf32, hbm>)
      ascend.launch "aclnnPermute"(%8) -> (%9) {perm = array<i64: 0, 2, 1, 3>} cell "layers.0.attention.merger_head_transpose" : (!ascend.buffer<4x4x16x8xf32, hbm>) -> !ascend.buffer<4x16x4x8xf32, hbm>
      %38 = ascend.view %9 : <4x16x4x8xf32, hbm> to <4x16x32xf32, hbm>
      %39 = ascend.global @model.layers.0.attention.wo.weight : <32x32xf32, hbm>
      %40 = ascend.alloc in frame at 59904 : <4x16x32xf32, hbm>
      ascend.launch "aclnnMatmul"(%38, %39) -> (%40) {contract_batch = false, transpose_a = false, transpose_b = true} cell "layers.0.attention.wo.matmul" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<32x32xf32, hbm>) -> !ascend.buffer<4x16x32xf32, hbm>
      ascend.launch "aclnnAdd"(%0, %40) -> (%10) {} cell "layers.0.add" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16x32xf32, hbm>) -> !ascend.buffer<4x16x32xf32, hbm>
      %41 = ascend.global @model.layers.0.ffn_norm.weight : <32xf32, hbm>
      ascend.launch "aclnnRmsNorm"(%10, %41) -> (%11, %12) {epsilon = 1.000000e-05 : f64} cell "layers.0.ffn_norm.norm" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<32xf32, hbm>) -> (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16xf32, hbm>)
      %42 = ascend.global @model.layers.0.feed_forward.w1.weight : <48x32xf32, hbm>
      ascend.launch "aclnnMatmul"(%11, %42) -> (%13) {contract_batch = false, transpose_a = false, transpose_b = true} cell "layers.0.feed_forward.w1.matmul" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<48x32xf32, hbm>) -> !ascend.buffer<4x16x48xf32, hbm>
      ascend.launch "aclnnSilu"(%13) -> (%14) {} cell "layers.0.feed_forward.w1.activation.silu" : (!ascend.buffer<4x16x48xf32, hbm>) -> !ascend.buffer<4x16x48xf32, hbm>
      %43 = ascend.global @model.layers.0.feed_forward.w3.weight : <48x32xf32, hbm>
      ascend.launch "aclnnMatmul"(%11, %43) -> (%15) {contract_batch = false, transpose_a = false, transpose_b = true} cell "layers.0.feed_forward.w3.matmul" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<48x32xf32, hbm>) -> !ascend.buffer<4x16x48xf32, hbm>
      ascend.launch "aclnnMul"(%14, %15) -> (%16) {} cell "layers.0.feed_forward.mul" : (!ascend.buffer<4x16x48xf32, hbm>, !ascend.buffer<4x16x48xf32, hbm>) -> !ascend.buffer<4x16x48xf32, hbm>
      %44 = ascend.global @model.layers.0.feed_forward.w2.weight : <32x48xf32, hbm>
      %45 = ascend.alloc in frame at 125952 : <4x16x32xf32, hbm>
      ascend.launch "aclnnMatmul"(%16, %44) -> (%45) {contract_batch = false, transpose_a = false, transpose_b = true} cell "layers.0.feed_forward.w2.matmul" : (!ascend.buffer<4x16x48xf32, hbm>, !ascend.buffer<32x48xf32, hbm>) -> !ascend.buffer<4x16x32xf32, hbm>
      ascend.launch "aclnnAdd"(%10, %45) -> (%17) {} cell "layers.0.add" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16x32xf32, hbm>) -> !ascend.buffer<4x16x32xf32, hbm>
      %46 = ascend.global @model.norm_out.weight : <32xf32, hbm>
      ascend.launch "aclnnRmsNorm"(%17, %46) -> (%18, %19) {epsilon = 1.000000e-05 : f64} cell "norm_out.norm" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<32xf32, hbm>) -> (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16xf32, hbm>)
      %47 = ascend.global @lm_head.weight : <256x32xf32, hbm>
      ascend.launch "aclnnMatmul"(%18, %47) -> (%20) {contract_batch = false, transpose_a = false, transpose_b = true} cell "lm_head.matmul" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<256x32xf32, hbm>) -> !ascend.buffer<4x16x256xf32, hbm>
      %48 = ascend.view %20 : <4x16x256xf32, hbm> to <64x256xf32, hbm>
      %49 = ascend.view %arg1 : <4x16xi32, hbm> to <64xi32, hbm>
      %50 = ascend.alloc in scratch at 0 : <f32, hbm>
      ascend.launch "aclnnCrossEntropyLoss"(%48, %49) -> (%50, %21, %22) {ignore_index = -100 : i64} cell "lm_head.loss" : (!ascend.buffer<64x256xf32, hbm>, !ascend.buffer<64xi32, hbm>) -> (!ascend.buffer<f32, hbm>, !ascend.buffer<64xf32, hbm>, !ascend.buffer<f32, hbm>)
      %51 = ascend.global @loss : <f32, hbm>
      ascend.launch "aclnnInplaceAdd"(%50) -> (%51) {} : (!ascend.buffer<f32, hbm>) -> !ascend.buffer<f32, hbm>
    }
    ascend.routine @chunk0.backward(%arg0: !ascend.buffer<f32, hbm>, %arg1: !ascend.buffer<4x16xi32, hbm>, %arg2: !ascend.buffer<4x16xi32, hbm>) attributes {layout = @chunk0.residuals} {
      %0 = ascend.slot 0 : <4x16x32xf32, hbm>
      %1 = ascend.slot 1 : <4x16x32xf32, hbm>
      %2 = ascend.slot 2 : <4x16xf32, hbm>
      %3 = ascend.slot 3 : <4x2x16x8xf32, hbm>
      %4 = ascend.slot 4 : <4x4x16x8xf32, hbm>
      %5 = ascend.slot 5 : <4x2x16x8xf32, hbm>
      %6 = ascend.slot 6 : <4x4x16xf32, hbm>
      %7 = ascend.slot 7 : <4x4x16xf32, hbm>
      %8 = ascend.slot 8 : <4x4x16x8xf32, hbm>
      %9 = ascend.slot 9 : <4x16x4x8xf32, hbm>
      %10 = ascend.slot 10 : <4x16x32xf32, hbm>
      %11 = ascend.slot 11 : <4x16x32xf32, hbm>
      %12 = ascend.slot 12 : <4x16xf32, hbm>
      %13 = ascend.slot 13 : <4x16x48xf32, hbm>
      %14 = ascend.slot 14 : <4x16x48xf32, hbm>
      %15 = ascend.slot 15 : <4x16x48xf32, hbm>
      %16 = ascend.slot 16 : <4x16x48xf32, hbm>
      %17 = ascend.slot 17 : <4x16x32xf32, hbm>
      %18 = ascend.slot 18 : <4x16x32xf32, hbm>
      %19 = ascend.slot 19 : <4x16xf32, hbm>
      %20 = ascend.slot 20 : <4x16x256xf32, hbm>
      %21 = ascend.slot 21 : <64xf32, hbm>
      %22 = ascend.slot 22 : <f32, hbm>
      %23 = ascend.global @gradient.model.tok_embeddings.embedding_weight : <256x32xf32, hbm>
      %24 = ascend.global @gradient.model.layers.0.attention_norm.weight : <32xf32, hbm>
      %25 = ascend.global @gradient.model.layers.0.attention.wq.weight : <32x32xf32, hbm>
      %26 = ascend.global @gradient.model.layers.0.attention.wk.weight : <16x32xf32, hbm>
      %27 = ascend.global @gradient.model.layers.0.attention.wv.weight : <16x32xf32, hbm>
      %28 = ascend.global @gradient.model.layers.0.attention.wo.weight : <32x32xf32, hbm>
      %29 = ascend.global @gradient.model.layers.0.ffn_norm.weight : <32xf32, hbm>
      %30 = ascend.global @gradient.model.layers.0.feed_forward.w1.weight : <48x32xf32, hbm>
      %31 = ascend.global @gradient.model.layers.0.feed_forward.w3.weight : <48x32xf32, hbm>
      %32 = ascend.global @gradient.model.layers.0.feed_forward.w2.weight : <32x48xf32, hbm>
      %33 = ascend.global @gradient.model.norm_out.weight : <32xf32, hbm>
      %34 = ascend.global @gradient.lm_head.weight : <256x32xf32, hbm>
      %35 = ascend.view %20 : <4x16x256xf32, hbm> to <64x256xf32, hbm>
      %36 = ascend.view %arg2 : <4x16xi32, hbm> to <64xi32, hbm>
      %37 = ascend.alloc in scratch at 0 : <64x256xf32, hbm>
      ascend.launch "aclnnCrossEntropyLossGrad"(%arg0, %35, %36, %21, %22) -> (%37) {ignore_index = -100 : i64} cell "lm_head.loss.grad" : (!ascend.buffer<f32, hbm>, !ascend.buffer<64x256xf32, hbm>, !ascend.buffer<64xi32, hbm>, !ascend.buffer<64xf32, hbm>, !ascend.buffer<f32, hbm>) -> !ascend.buffer<64x256xf32, hbm>
      %38 = ascend.view %37 : <64x256xf32, hbm> to <4x16x256xf32, hbm>
      %39 = ascend.global @lm_head.weight : <256x32xf32, hbm>
      %40 = ascend.alloc in frame at 134656 : <4x16x32xf32, hbm>
      ascend.launch "aclnnMatmul"(%38, %39) -> (%40) {contract_batch = false, transpose_a = false, transpose_b = false} cell "lm_head.matmul.grad" : (!ascend.buffer<4x16x256xf32, hbm>, !ascend.buffer<256x32xf32, hbm>) -> !ascend.buffer<4x16x32xf32, hbm>
      ascend.launch "aclnnMatmul"(%38, %18) -> (%34) {contract_batch = true, transpose_a = true, transpose_b = false} cell "lm_head.matmul.grad" : (!ascend.buffer<4x16x256xf32, hbm>, !ascend.buffer<4x16x32xf32, hbm>) -> !ascend.buffer<256x32xf32, hbm>
      %41 = ascend.global @model.norm_out.weight : <32xf32, hbm>
      %42 = ascend.alloc in frame at 126464 : <4x16x32xf32, hbm>
      %43 = ascend.alloc in frame at 142848 : <512xi32, hbm>
      ascend.launch "aclnnRmsNormGrad"(%40, %17, %19, %41) -> (%42, %33) workspace(%43 : !ascend.buffer<512xi32, hbm>) {} cell "norm_out.norm.grad" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16xf32, hbm>, !ascend.buffer<32xf32, hbm>) -> (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<32xf32, hbm>)
      %44 = ascend.global @model.layers.0.feed_forward.w2.weight : <32x48xf32, hbm>
      %45 = ascend.alloc in frame at 134656 : <4x16x48xf32, hbm>
      ascend.launch "aclnnMatmul"(%42, %44) -> (%45) {contract_batch = false, transpose_a = false, transpose_b = false} cell "layers.0.feed_forward.w2.matmul.grad" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<32x48xf32, hbm>) -> !ascend.buffer<4x16x48xf32, hbm>
      ascend.launch "aclnnMatmul"(%42, %16) -> (%32) {contract_batch = true, transpose_a = true, transpose_b = false} cell "layers.0.feed_forward.w2.matmul.grad" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16x48xf32, hbm>) -> !ascend.buffer<32x48xf32, hbm>
      %46 = ascend.alloc in frame at 105472 : <4x16x48xf32, hbm>
      ascend.launch "mfChain"(%45, %15, %13) -> (%46) {steps = #ascend.steps<aclnnMul(in0, in1) : tensor<4x16x48xf32>, aclnnSiluBackward(t0, in2) : tensor<4x16x48xf32>>} cell "layers.0.feed_forward.w1.activation.silu.grad" : (!ascend.buffer<4x16x48xf32, hbm>, !ascend.buffer<4x16x48xf32, hbm>, !ascend.buffer<4x16x48xf32, hbm>) -> !ascend.buffer<4x16x48xf32, hbm>
      %47 = ascend.alloc in frame at 68608 : <4x16x48xf32, hbm>
      ascend.launch "aclnnMul"(%45, %14) -> (%47) {} cell "layers.0.feed_forward.mul.grad" : (!ascend.buffer<4x16x48xf32, hbm>, !ascend.buffer<4x16x48xf32, hbm>) -> !ascend.buffer<4x16x48xf32, hbm>
      %48 = ascend.global @model.layers.0.feed_forward.w3.weight : <48x32xf32, hbm>
      %49 = ascend.alloc in frame at 80896 : <4x16x32xf32, hbm>
      ascend.launch "aclnnMatmul"(%47, %48) -> (%49) {contract_batch = false, transpose_a = false, transpose_b = false} cell "layers.0.feed_forward.w3.matmul.grad" : (!ascend.buffer<4x16x48xf32, hbm>, !ascend.buffer<48x32xf32, hbm>) -> !ascend.buffer<4x16x32xf32, hbm>
      ascend.launch "aclnnMatmul"(%47, %11) -> (%31) {contract_batch = true, transpose_a = true, transpose_b = false} cell "layers.0.feed_forward.w3.matmul.grad" : (!ascend.buffer<4x16x48xf32, hbm>, !ascend.buffer<4x16x32xf32, hbm>) -> !ascend.buffer<48x32xf32, hbm>
      %50 = ascend.global @model.layers.0.feed_forward.w1.weight : <48x32xf32, hbm>
      %51 = ascend.alloc in frame at 68608 : <4x16x32xf32, hbm>
      ascend.launch "aclnnMatmul"(%46, %50) -> (%51) {contract_batch = false, transpose_a = false, transpose_b = false} cell "layers.0.feed_forward.w1.matmul.grad" : (!ascend.buffer<4x16x48xf32, hbm>, !ascend.buffer<48x32xf32, hbm>) -> !ascend.buffer<4x16x32xf32, hbm>
      ascend.launch "aclnnMatmul"(%46, %11) -> (%30) {contract_batch = true, transpose_a = true, transpose_b = false} cell "layers.0.feed_forward.w1.matmul.grad" : (!ascend.buffer<4x16x48xf32, hbm>, !ascend.buffer<4x16x32xf32, hbm>) -> !ascend.buffer<48x32xf32, hbm>
      %52 = ascend.alloc in frame at 60416 : <4x16x32xf32, hbm>
      ascend.launch "aclnnAdd"(%49, %51) -> (%52) {} cell "layers.0.feed_forward.w1.matmul.grad" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16x32xf32, hbm>) -> !ascend.buffer<4x16x32xf32, hbm>
      %53 = ascend.global @model.layers.0.ffn_norm.weight : <32xf32, hbm>
      %54 = ascend.alloc in frame at 68608 : <4x16x32xf32, hbm>
      %55 = ascend.alloc in frame at 76800 : <512xi32, hbm>
      ascend.launch "aclnnRmsNormGrad"(%52, %10, %12, %53) -> (%54, %29) workspace(%55 : !ascend.buffer<512xi32, hbm>) {} cell "layers.0.ffn_norm.norm.grad" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16xf32, hbm>, !ascend.buffer<32xf32, hbm>) -> (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<32xf32, hbm>)
      %56 = ascend.alloc in frame at 51712 : <4x16x32xf32, hbm>
      ascend.launch "aclnnAdd"(%42, %54) -> (%56) {} cell "layers.0.ffn_norm.norm.grad" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16x32xf32, hbm>) -> !ascend.buffer<4x16x32xf32, hbm>
      %57 = ascend.global @model.layers.0.attention.wo.weight : <32x32xf32, hbm>
      %58 = ascend.alloc in frame at 59904 : <4x16x32xf32, hbm>
      ascend.launch "aclnnMatmul"(%56, %57) -> (%58) {contract_batch = false, transpose_a = false, transpose_b = false} cell "layers.0.attention.wo.matmul.grad" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<32x32xf32, hbm>) -> !ascend.buffer<4x16x32xf32, hbm>
      %59 = ascend.view %9 : <4x16x4x8xf32, hbm> to <4x16x32xf32, hbm>
      ascend.launch "aclnnMatmul"(%56, %59) -> (%28) {contract_batch = true, transpose_a = true, transpose_b = false} cell "layers.0.attention.wo.matmul.grad" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16x32xf32, hbm>) -> !ascend.buffer<32x32xf32, hbm>
      %60 = ascend.view %58 : <4x16x32xf32, hbm> to <4x16x4x8xf32, hbm>
      %61 = ascend.alloc in frame at 43520 : <4x4x16x8xf32, hbm>
      ascend.launch "aclnnPermute"(%60) -> (%61) {perm = array<i64: 0, 2, 1, 3>} cell "layers.0.attention.merger_head_transpose.grad" : (!ascend.buffer<4x16x4x8xf32, hbm>) -> !ascend.buffer<4x4x16x8xf32, hbm>
      %62 = ascend.alloc in frame at 59904 : <4x4x16x8xf32, hbm>
      %63 = ascend.alloc in frame at 68096 : <4x2x16x8xf32, hbm>
      %64 = ascend.alloc in frame at 72192 : <4x2x16x8xf32, hbm>
      ascend.launch "aclnnFlashAttentionScoreGrad"(%4, %5, %3, %61, %6, %7, %8) -> (%62, %63, %64) {causal = true, scale = 0.35355339059327373 : f64} cell "layers.0.attention.flash_attention.flash_attention.grad" : (!ascend.buffer<4x4x16x8xf32, hbm>, !ascend.buffer<4x2x16x8xf32, hbm>, !ascend.buffer<4x2x16x8xf32, hbm>, !ascend.buffer<4x4x16x8xf32, hbm>, !ascend.buffer<4x4x16xf32, hbm>, !ascend.buffer<4x4x16xf32, hbm>, !ascend.buffer<4x4x16x8xf32, hbm>) -> (!ascend.buffer<4x4x16x8xf32, hbm>, !ascend.buffer<4x2x16x8xf32, hbm>, !ascend.buffer<4x2x16x8xf32, hbm>)
      %65 = ascend.global @freqs_sin : <16x8xf32, hbm>
      %66 = ascend.global @freqs_cos : <16x8xf32, hbm>
      %67 = ascend.alloc in frame at 16896 : <4x2x16x8xf32, hbm>
      ascend.launch "mfChain"(%63, %65, %66) -> (%67) {steps = #ascend.steps<aclnnMul(in0, in1) : tensor<4x2x16x8xf32>, aclnnMul(in0, in2) : tensor<4x2x16x8xf32>, aclnnSliceV2(t0) {sizes = array<i64: 4, 2, 16, 4>, starts = array<i64: 0, 0, 0, 0>} : tensor<4x2x16x4xf32>, aclnnSliceV2(t0) {sizes = array<i64: 4, 2, 16, 4>, starts = array<i64: 0, 0, 0, 4>} : tensor<4x2x16x4xf32>, aclnnNeg(t2) : tensor<4x2x16x4xf32>, aclnnConstantPadNd(t4) {high = array<i64: 0, 0, 0, 0>, low = array<i64: 0, 0, 0, 4>} : tensor<4x2x16x8xf32>, aclnnAdd(t1, t5) : tensor<4x2x16x8xf32>, aclnnConstantPadNd(t3) {high = array<i64: 0, 0, 0, 4>, low = array<i64: 0, 0, 0, 0>} : tensor<4x2x16x8xf32>, aclnnAdd(t6, t7) : tensor<4x2x16x8xf32>>} cell "layers.0.attention.apply_rotary_emb.slice.grad" : (!ascend.buffer<4x2x16x8xf32, hbm>, !ascend.buffer<16x8xf32, hbm>, !ascend.buffer<16x8xf32, hbm>) -> !ascend.buffer<4x2x16x8xf32, hbm>
      %68 = ascend.alloc in frame at 25088 : <4x4x16x8xf32, hbm>
      ascend.launch "mfChain"(%62, %65, %66) -> (%68) {steps = #ascend.steps<aclnnMul(in0, in1) : tensor<4x4x16x8xf32>, aclnnMul(in0, in2) : tensor<4x4x16x8xf32>, aclnnSliceV2(t0) {sizes = array<i64: 4, 4, 16, 4>, starts = array<i64: 0, 0, 0, 0>} : tensor<4x4x16x4xf32>, aclnnSliceV2(t0) {sizes = array<i64: 4, 4, 16, 4>, starts = array<i64: 0, 0, 0, 4>} : tensor<4x4x16x4xf32>, aclnnNeg(t2) : tensor<4x4x16x4xf32>, aclnnConstantPadNd(t4) {high = array<i64: 0, 0, 0, 0>, low = array<i64: 0, 0, 0, 4>} : tensor<4x4x16x8xf32>, aclnnAdd(t1, t5) : tensor<4x4x16x8xf32>, aclnnConstantPadNd(t3) {high = array<i64: 0, 0, 0, 4>, low = array<i64: 0, 0, 0, 0>} : tensor<4x4x16x8xf32>, aclnnAdd(t6, t7) : tensor<4x4x16x8xf32>>} cell "layers.0.attention.apply_rotary_emb.slice.grad" : (!ascend.buffer<4x4x16x8xf32, hbm>, !ascend.buffer<16x8xf32, hbm>, !ascend.buffer<16x8xf32, hbm>) -> !ascend.buffer<4x4x16x8xf32, hbm>
      %69 = ascend.alloc in frame at 33280 : <4x16x2x8xf32, hbm>
      ascend.launch "aclnnPermute"(%64) -> (%69) {perm = array<i64: 0, 2, 1, 3>} cell "layers.0.attention.transpose.grad" : (!ascend.buffer<4x2x16x8xf32, hbm>) -> !ascend.buffer<4x16x2x8xf32, hbm>
      %70 = ascend.view %69 : <4x16x2x8xf32, hbm> to <4x16x16xf32, hbm>
      %71 = ascend.alloc in frame at 41472 : <4x16x2x8xf32, hbm>
      ascend.launch "aclnnPermute"(%67) -> (%71) {perm = array<i64: 0, 2, 1, 3>} cell "layers.0.attention.transpose.grad" : (!ascend.buffer<4x2x16x8xf32, hbm>) -> !ascend.buffer<4x16x2x8xf32, hbm>
      %72 = ascend.view %71 : <4x16x2x8xf32, hbm> to <4x16x16xf32, hbm>
      %73 = ascend.alloc in frame at 16896 : <4x16x4x8xf32, hbm>
      ascend.launch "aclnnPermute"(%68) -> (%73) {perm = array<i64: 0, 2, 1, 3>} cell "layers.0.attention.transpose.grad" : (!ascend.buffer<4x4x16x8xf32, hbm>) -> !ascend.buffer<4x16x4x8xf32, hbm>
      %74 = ascend.view %73 : <4x16x4x8xf32, hbm> to <4x16x32xf32, hbm>
      %75 = ascend.global @model.layers.0.attention.wv.weight : <16x32xf32, hbm>
      %76 = ascend.alloc in frame at 25088 : <4x16x32xf32, hbm>
      ascend.launch "aclnnMatmul"(%70, %75) -> (%76) {contract_batch = false, transpose_a = false, transpose_b = false} cell "layers.0.attention.wv.matmul.grad" : (!ascend.buffer<4x16x16xf32, hbm>, !ascend.buffer<16x32xf32, hbm>) -> !ascend.buffer<4x16x32xf32, hbm>
      ascend.launch "aclnnMatmul"(%70, %1) -> (%27) {contract_batch = true, transpose_a = true, transpose_b = false} cell "layers.0.attention.wv.matmul.grad" : (!ascend.buffer<4x16x16xf32, hbm>, !ascend.buffer<4x16x32xf32, hbm>) -> !ascend.buffer<16x32xf32, hbm>
      %77 = ascend.global @model.layers.0.attention.wk.weight : <16x32xf32, hbm>
      %78 = ascend.alloc in frame at 33280 : <4x16x32xf32, hbm>
      ascend.launch "aclnnMatmul"(%72, %77) -> (%78) {contract_batch = false, transpose_a = false, transpose_b = false} cell "layers.0.attention.wk.matmul.grad" : (!ascend.buffer<4x16x16xf32, hbm>, !ascend.buffer<16x32xf32, hbm>) -> !ascend.buffer<4x16x32xf32, hbm>
      ascend.launch "aclnnMatmul"(%72, %1) -> (%26) {contract_batch = true, transpose_a = true, transpose_b = false} cell "layers.0.attention.wk.matmul.grad" : (!ascend.buffer<4x16x16xf32, hbm>, !ascend.buffer<4x16x32xf32, hbm>) -> !ascend.buffer<16x32xf32, hbm>
      %79 = ascend.alloc in frame at 41472 : <4x16x32xf32, hbm>
      ascend.launch "aclnnAdd"(%76, %78) -> (%79) {} cell "layers.0.attention.wk.matmul.grad" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16x32xf32, hbm>) -> !ascend.buffer<4x16x32xf32, hbm>
      %80 = ascend.global @model.layers.0.attention.wq.weight : <32x32xf32, hbm>
      %81 = ascend.alloc in frame at 25088 : <4x16x32xf32, hbm>
      ascend.launch "aclnnMatmul"(%74, %80) -> (%81) {contract_batch = false, transpose_a = false, transpose_b = false} cell "layers.0.attention.wq.matmul.grad" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<32x32xf32, hbm>) -> !ascend.buffer<4x16x32xf32, hbm>
      ascend.launch "aclnnMatmul"(%74, %1) -> (%25) {contract_batch = true, transpose_a = true, transpose_b = false} cell "layers.0.attention.wq.matmul.grad" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16x32xf32, hbm>) -> !ascend.buffer<32x32xf32, hbm>
      %82 = ascend.alloc in frame at 8704 : <4x16x32xf32, hbm>
      ascend.launch "aclnnAdd"(%79, %81) -> (%82) {} cell "layers.0.attention.wq.matmul.grad" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16x32xf32, hbm>) -> !ascend.buffer<4x16x32xf32, hbm>
      %83 = ascend.global @model.layers.0.attention_norm.weight : <32xf32, hbm>
      %84 = ascend.alloc in frame at 16896 : <4x16x32xf32, hbm>
      %85 = ascend.alloc in frame at 25088 : <512xi32, hbm>
      ascend.launch "aclnnRmsNormGrad"(%82, %0, %2, %83) -> (%84, %24) workspace(%85 : !ascend.buffer<512xi32, hbm>) {} cell "layers.0.attention_norm.norm.grad" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16xf32, hbm>, !ascend.buffer<32xf32, hbm>) -> (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<32xf32, hbm>)
      %86 = ascend.alloc in frame at 0 : <4x16x32xf32, hbm>
      ascend.launch "aclnnAdd"(%56, %84) -> (%86) {} cell "layers.0.attention_norm.norm.grad" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16x32xf32, hbm>) -> !ascend.buffer<4x16x32xf32, hbm>
      ascend.launch "aclnnEmbeddingDenseBackward"(%86, %arg1) -> (%23) {} cell "embedding.tok_embeddings.gather.grad" : (!ascend.buffer<4x16x32xf32, hbm>, !ascend.buffer<4x16xi32, hbm>) -> !ascend.buffer<256x32xf32, hbm>
    }
    ascend.routine @update(%arg0: !ascend.buffer<f32, hbm>, %arg1: !ascend.buffer<f32, hbm>) attributes {updates_parameters} {
      %0 = ascend.alloc in scratch at 0 : <12xf32, hbm>
      ascend.launch "aclnnInplaceZero"() -> (%0) {} : () -> !ascend.buffer<12xf32, hbm>
      %1 = ascend.global @gradient.model.tok_embeddings.embedding_weight : <256x32xf32, hbm>
      %2 = ascend.view %0 : <12xf32, hbm> to <f32, hbm>
      %3 = ascend.alloc in scratch at 512 : <1xi32, hbm>
      ascend.launch "aclnnForeachNorm"(%1) -> (%2) workspace(%3 : !ascend.buffer<1xi32, hbm>) {} : (!ascend.buffer<256x32xf32, hbm>) -> !ascend.buffer<f32, hbm>
      %4 = ascend.global @gradient.model.layers.0.attention_norm.weight : <32xf32, hbm>
      %5 = ascend.view %0 {byte_offset = 4 : i64} : <12xf32, hbm> to <f32, hbm>
      %6 = ascend.alloc in scratch at 512 : <1xi32, hbm>
      ascend.launch "aclnnForeachNorm"(%4) -> (%5) workspace(%6 : !ascend.buffer<1xi32, hbm>) {} : (!ascend.buffer<32xf32, hbm>) -> !ascend.buffer<f32, hbm>
      %7 = ascend.global @gradient.model.layers.0.attention.wq.weight : <32x32xf32, hbm>
      %8 = ascend.view %0 {byte_offset = 8 : i64} : <12xf32, hbm> to <f32, hbm>
      %9 = ascend.alloc in scratch at 512 : <1xi32, hbm>
      ascend.launch "aclnnForeachNorm"(%7) -> (%8) workspace(%9 : !ascend.buffer<1xi32, hbm>) {} : (!ascend.buffer<32x32xf32, hbm>) -> !ascend.buffer<f32, hbm>
      %10 = ascend.global @gradient.model.layers.0.attention.wk.weight : <16x32xf32, hbm>
      %11 = ascend.view %0 {byte_offset = 12 : i64} : <12xf32, hbm> to <f32, hbm>
      %12 = ascend.alloc in scratch at 512 : <1xi32, hbm>
      ascend.launch "aclnnForeachNorm"(%10) -> (%11) workspace(%12 : !ascend.buffer<1xi32, hbm>) {} : (!ascend.buffer<16x32xf32, hbm>) -> !ascend.buffer<f32, hbm>
      %13 = ascend.global @gradient.model.layers.0.attention.wv.weight : <16x32xf32, hbm>
      %14 = ascend.view %0 {byte_offset = 16 : i64} : <12xf32, hbm> to <f32, hbm>
      %15 = ascend.alloc in scratch at 512 : <1xi32, hbm>
      ascend.launch "aclnnForeachNorm"(%13) -> (%14) workspace(%15 : !ascend.buffer<1xi32, hbm>) {} : (!ascend.buffer<16x32xf32, hbm>) -> !ascend.buffer<f32, hbm>
      %16 = ascend.global @gradient.model.layers.0.attention.wo.weight : <32x32xf32, hbm>
      %17 = ascend.view %0 {byte_offset = 20 : i64} : <12xf32, hbm> to <f32, hbm>
      %18 = ascend.alloc in scratch at 512 : <1xi32, hbm>
      ascend.launch "aclnnForeachNorm"(%16) -> (%17) workspace(%18 : !ascend.buffer<1xi32, hbm>) {} : (!ascend.buffer<32x32xf32, hbm>) -> !ascend.buffer<f32, hbm>
      %19 = ascend.global @gradient.model.layers.0.ffn_norm.weight : <32xf32, hbm>
      %20 = ascend.view %0 {byte_offset = 24 : i64} : <12xf32, hbm> to <f32, hbm>
      %21 = ascend.alloc in scratch at 512 : <1xi32, hbm>
      ascend.launch "aclnnForeachNorm"(%19) -> (%20) workspace(%21 : !ascend.buffer<1xi32, hbm>) {} : (!ascend.buffer<32xf32, hbm>) -> !ascend.buffer<f32, hbm>
      %22 = ascend.global @gradient.model.layers.0.feed_forward.w1.weight : <48x32xf32, hbm>
      %23 = ascend.view %0 {byte_offset = 28 : i64} : <12xf32, hbm> to <f32, hbm>
      %24 = ascend.alloc in scratch at 512 : <1xi32, hbm>
      ascend.launch "aclnnForeachNorm"(%22) -> (%23) workspace(%24 : !ascend.buffer<1xi32, hbm>) {} : (!ascend.buffer<48x32xf32, hbm>) -> !ascend.buffer<f32, hbm>
      %25 = ascend.global @gradient.model.layers.0.feed_forward.w3.weight : <48x32xf32, hbm>
      %26 = ascend.view %0 {byte_offset = 32 : i64} : <12xf32, hbm> to <f32, hbm>
      %27 = ascend.alloc in scratch at 512 : <1xi32, hbm>
      ascend.launch "aclnnForeachNorm"(%25) -> (%26) workspace(%27 : !ascend.buffer<1xi32, hbm>) {} : (!ascend.buffer<48x32xf32, hbm>) -> !ascend.buffer<f32, hbm>
      %28 = ascend.global @gradient.model.layers.0.feed_forward.w2.weight : <32x48xf32, hbm>
      %29 = ascend.view %0 {byte_offset = 36 : i64} : <12xf32, hbm> to <f32, hbm>
      %30 = ascend.alloc in scratch at 512 : <1xi32, hbm>
      ascend.launch "aclnnForeachNorm"(%28) -> (%29) workspace(%30 : !ascend.buffer<1xi32, hbm>) {} : (!ascend.buffer<32x48xf32, hbm>) -> !ascend.buffer<f32, hbm>
      %31 = ascend.global @gradient.model.norm_out.weight : <32xf32, hbm>
      %32 = ascend.view %0 {byte_offset = 40 : i64} : <12xf32, hbm> to <f32, hbm>
      %33 = ascend.alloc in scratch at 512 : <1xi32, hbm>
      ascend.launch "aclnnForeachNorm"(%31) -> (%32) workspace(%33 : !ascend.buffer<1xi32, hbm>) {} : (!ascend.buffer<32xf32, hbm>) -> !ascend.buffer<f32, hbm>
      %34 = ascend.global @gradient.lm_head.weight : <256x32xf32, hbm>
      %35 = ascend.view %0 {byte_offset = 44 : i64} : <12xf32, hbm> to <f32, hbm>
      %36 = ascend.alloc in scratch at 512 : <1xi32, hbm>
      ascend.launch "aclnnForeachNorm"(%34) -> (%35) workspace(%36 : !ascend.buffer<1xi32, hbm>) {} : (!ascend.buffer<256x32xf32, hbm>) -> !ascend.buffer<f32, hbm>
      %37 = ascend.alloc in scratch at 512 : <12xf32, hbm>
      ascend.launch "aclnnMul"(%0, %0) -> (%37) {} : (!ascend.buffer<12xf32, hbm>, !ascend.buffer<12xf32, hbm>) -> !ascend.buffer<12xf32, hbm>
      %38 = ascend.alloc in scratch at 0 : <f32, hbm>
      ascend.launch "aclnnReduceSum"(%37) -> (%38) {axes = array<i64: 0>} : (!ascend.buffer<12xf32, hbm>) -> !ascend.buffer<f32, hbm>
      %39 = ascend.alloc in scratch at 512 : <f32, hbm>
      ascend.launch "aclnnSqrt"(%38) -> (%39) {} : (!ascend.buffer<f32, hbm>) -> !ascend.buffer<f32, hbm>
      %40 = ascend.alloc in scratch at 0 : <f32, hbm>
      ascend.launch "aclnnInplaceZero"() -> (%40) {} : () -> !ascend.buffer<f32, hbm>
      ascend.launch "mfNonFiniteCheck"(%39) -> (%40) {} : (!ascend.buffer<f32, hbm>) -> !ascend.buffer<f32, hbm>
      %41 = ascend.global @report.overflow : <f32, hbm>
      ascend.launch "aclnnInplaceCopy"(%40) -> (%41) {} : (!ascend.buffer<f32, hbm>) -> !ascend.buffer<f32, hbm>
      %42 = ascend.global @report.global_norm : <f32, hbm>
      ascend.launch "aclnnInplaceCopy"(%39) -> (%42) {} : (!ascend.buffer<f32, hbm>) -> !ascend.buffer<f32, hbm>
      %43 = ascend.alloc in scratch at 1024 : <f32, hbm>
      ascend.launch "mfChain"(%39) -> (%43) {steps = #ascend.steps<aclnnClampMin(in0) {value = 1.000000e+00 : f64} : tensor<f32>, aclnnAdds(t0) {value = 9.9999999999999995E-7 : f64} : tensor<f32>, aclnnReciprocal(t1) : tensor<f32>, aclnnMuls(t2) {value = 1.000000e+00 : f64} : tensor<f32>, aclnnClampMax(t3) {value = 1.000000e+00 : f64} : tensor<f32>>} : (!ascend.buffer<f32, hbm>) -> !ascend.buffer<f32, hbm>
      %44 = ascend.global @model.tok_embeddings.embedding_weight : <256x32xf32, hbm>
      %45 = ascend.global @first_moment.model.tok_embeddings.embedding_weight : <256x32xf32, hbm>
      %46 = ascend.global @second_moment.model.tok_embeddings.embedding_weight : <256x32xf32, hbm>
      ascend.launch "aclnnApplyAdamWV2"(%1, %arg1, %arg0, %40, %43) -> (%44, %45, %46) {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, bias_correction = true, eps = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64} : (!ascend.buffer<256x32xf32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>) -> (!ascend.buffer<256x32xf32, hbm>, !ascend.buffer<256x32xf32, hbm>, !ascend.buffer<256x32xf32, hbm>)
      %47 = ascend.global @model.layers.0.attention_norm.weight : <32xf32, hbm>
      %48 = ascend.global @first_moment.model.layers.0.attention_norm.weight : <32xf32, hbm>
      %49 = ascend.global @second_moment.model.layers.0.attention_norm.weight : <32xf32, hbm>
      ascend.launch "aclnnApplyAdamWV2"(%4, %arg1, %arg0, %40, %43) -> (%47, %48, %49) {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, bias_correction = true, eps = 1.000000e-08 : f64, weight_decay = 0.000000e+00 : f64} : (!ascend.buffer<32xf32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>) -> (!ascend.buffer<32xf32, hbm>, !ascend.buffer<32xf32, hbm>, !ascend.buffer<32xf32, hbm>)
      %50 = ascend.global @model.layers.0.attention.wq.weight : <32x32xf32, hbm>
      %51 = ascend.global @first_moment.model.layers.0.attention.wq.weight : <32x32xf32, hbm>
      %52 = ascend.global @second_moment.model.layers.0.attention.wq.weight : <32x32xf32, hbm>
      ascend.launch "aclnnApplyAdamWV2"(%7, %arg1, %arg0, %40, %43) -> (%50, %51, %52) {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, bias_correction = true, eps = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64} : (!ascend.buffer<32x32xf32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>) -> (!ascend.buffer<32x32xf32, hbm>, !ascend.buffer<32x32xf32, hbm>, !ascend.buffer<32x32xf32, hbm>)
      %53 = ascend.global @model.layers.0.attention.wk.weight : <16x32xf32, hbm>
      %54 = ascend.global @first_moment.model.layers.0.attention.wk.weight : <16x32xf32, hbm>
      %55 = ascend.global @second_moment.model.layers.0.attention.wk.weight : <16x32xf32, hbm>
      ascend.launch "aclnnApplyAdamWV2"(%10, %arg1, %arg0, %40, %43) -> (%53, %54, %55) {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, bias_correction = true, eps = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64} : (!ascend.buffer<16x32xf32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>) -> (!ascend.buffer<16x32xf32, hbm>, !ascend.buffer<16x32xf32, hbm>, !ascend.buffer<16x32xf32, hbm>)
      %56 = ascend.global @model.layers.0.attention.wv.weight : <16x32xf32, hbm>
      %57 = ascend.global @first_moment.model.layers.0.attention.wv.weight : <16x32xf32, hbm>
      %58 = ascend.global @second_moment.model.layers.0.attention.wv.weight : <16x32xf32, hbm>
      ascend.launch "aclnnApplyAdamWV2"(%13, %arg1, %arg0, %40, %43) -> (%56, %57, %58) {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, bias_correction = true, eps = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64} : (!ascend.buffer<16x32xf32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>) -> (!ascend.buffer<16x32xf32, hbm>, !ascend.buffer<16x32xf32, hbm>, !ascend.buffer<16x32xf32, hbm>)
      %59 = ascend.global @model.layers.0.attention.wo.weight : <32x32xf32, hbm>
      %60 = ascend.global @first_moment.model.layers.0.attention.wo.weight : <32x32xf32, hbm>
      %61 = ascend.global @second_moment.model.layers.0.attention.wo.weight : <32x32xf32, hbm>
      ascend.launch "aclnnApplyAdamWV2"(%16, %arg1, %arg0, %40, %43) -> (%59, %60, %61) {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, bias_correction = true, eps = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64} : (!ascend.buffer<32x32xf32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>) -> (!ascend.buffer<32x32xf32, hbm>, !ascend.buffer<32x32xf32, hbm>, !ascend.buffer<32x32xf32, hbm>)
      %62 = ascend.global @model.layers.0.ffn_norm.weight : <32xf32, hbm>
      %63 = ascend.global @first_moment.model.layers.0.ffn_norm.weight : <32xf32, hbm>
      %64 = ascend.global @second_moment.model.layers.0.ffn_norm.weight : <32xf32, hbm>
      ascend.launch "aclnnApplyAdamWV2"(%19, %arg1, %arg0, %40, %43) -> (%62, %63, %64) {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, bias_correction = true, eps = 1.000000e-08 : f64, weight_decay = 0.000000e+00 : f64} : (!ascend.buffer<32xf32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>) -> (!ascend.buffer<32xf32, hbm>, !ascend.buffer<32xf32, hbm>, !ascend.buffer<32xf32, hbm>)
      %65 = ascend.global @model.layers.0.feed_forward.w1.weight : <48x32xf32, hbm>
      %66 = ascend.global @first_moment.model.layers.0.feed_forward.w1.weight : <48x32xf32, hbm>
      %67 = ascend.global @second_moment.model.layers.0.feed_forward.w1.weight : <48x32xf32, hbm>
      ascend.launch "aclnnApplyAdamWV2"(%22, %arg1, %arg0, %40, %43) -> (%65, %66, %67) {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, bias_correction = true, eps = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64} : (!ascend.buffer<48x32xf32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>) -> (!ascend.buffer<48x32xf32, hbm>, !ascend.buffer<48x32xf32, hbm>, !ascend.buffer<48x32xf32, hbm>)
      %68 = ascend.global @model.layers.0.feed_forward.w3.weight : <48x32xf32, hbm>
      %69 = ascend.global @first_moment.model.layers.0.feed_forward.w3.weight : <48x32xf32, hbm>
      %70 = ascend.global @second_moment.model.layers.0.feed_forward.w3.weight : <48x32xf32, hbm>
      ascend.launch "aclnnApplyAdamWV2"(%25, %arg1, %arg0, %40, %43) -> (%68, %69, %70) {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, bias_correction = true, eps = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64} : (!ascend.buffer<48x32xf32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>) -> (!ascend.buffer<48x32xf32, hbm>, !ascend.buffer<48x32xf32, hbm>, !ascend.buffer<48x32xf32, hbm>)
      %71 = ascend.global @model.layers.0.feed_forward.w2.weight : <32x48xf32, hbm>
      %72 = ascend.global @first_moment.model.layers.0.feed_forward.w2.weight : <32x48xf32, hbm>
      %73 = ascend.global @second_moment.model.layers.0.feed_forward.w2.weight : <32x48xf32, hbm>
      ascend.launch "aclnnApplyAdamWV2"(%28, %arg1, %arg0, %40, %43) -> (%71, %72, %73) {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, bias_correction = true, eps = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64} : (!ascend.buffer<32x48xf32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>) -> (!ascend.buffer<32x48xf32, hbm>, !ascend.buffer<32x48xf32, hbm>, !ascend.buffer<32x48xf32, hbm>)
      %74 = ascend.global @model.norm_out.weight : <32xf32, hbm>
      %75 = ascend.global @first_moment.model.norm_out.weight : <32xf32, hbm>
      %76 = ascend.global @second_moment.model.norm_out.weight : <32xf32, hbm>
      ascend.launch "aclnnApplyAdamWV2"(%31, %arg1, %arg0, %40, %43) -> (%74, %75, %76) {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, bias_correction = true, eps = 1.000000e-08 : f64, weight_decay = 0.000000e+00 : f64} : (!ascend.buffer<32xf32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>) -> (!ascend.buffer<32xf32, hbm>, !ascend.buffer<32xf32, hbm>, !ascend.buffer<32xf32, hbm>)
      %77 = ascend.global @lm_head.weight : <256x32xf32, hbm>
      %78 = ascend.global @first_moment.lm_head.weight : <256x32xf32, hbm>
      %79 = ascend.global @second_moment.lm_head.weight : <256x32xf32, hbm>
      ascend.launch "aclnnApplyAdamWV2"(%34, %arg1, %arg0, %40, %43) -> (%77, %78, %79) {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, bias_correction = true, eps = 1.000000e-08 : f64, weight_decay = 1.000000e-01 : f64} : (!ascend.buffer<256x32xf32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>) -> (!ascend.buffer<256x32xf32, hbm>, !ascend.buffer<256x32xf32, hbm>, !ascend.buffer<256x32xf32, hbm>)
    }
    ascend.routine @begin() {
      %0 = ascend.global @loss : <f32, hbm>
      ascend.launch "aclnnInplaceZero"() -> (%0) {} : () -> !ascend.buffer<f32, hbm>
    }
    ascend.routine @finish() {
      %0 = ascend.global @loss : <f32, hbm>
      %1 = ascend.global @report.loss : <f32, hbm>
      ascend.launch "aclnnMuls"(%0) -> (%1) {value = 1.000000e+00 : f64} : (!ascend.buffer<f32, hbm>) -> !ascend.buffer<f32, hbm>
    }
    ascend.step attributes {computes = {loss_gradient = -3196023491366509877 : i64, results = [["first_moment.lm_head.weight", 2782409823780242339], ["first_moment.model.layers.0.attention.wk.weight", -2097233770715631063], ["first_moment.model.layers.0.attention.wo.weight", -7834704931567806694], ["first_moment.model.layers.0.attention.wq.weight", -7177993945841361393], ["first_moment.model.layers.0.attention.wv.weight", 2201265828613798859], ["first_moment.model.layers.0.attention_norm.weight", -5885062561415086398], ["first_moment.model.layers.0.feed_forward.w1.weight", -5646111250073674273], ["first_moment.model.layers.0.feed_forward.w2.weight", -6474722218225711611], ["first_moment.model.layers.0.feed_forward.w3.weight", 9203129924791198500], ["first_moment.model.layers.0.ffn_norm.weight", 4923960622838806260], ["first_moment.model.norm_out.weight", -3420265813334433199], ["first_moment.model.tok_embeddings.embedding_weight", -3037307243460133888], ["host.report.global_norm", 3445411366218727663], ["host.report.loss", 5473686689189328010], ["host.report.overflow", 246480963544673008], ["lm_head.weight", -889733500427007921], ["model.layers.0.attention.wk.weight", -5844197033116014012], ["model.layers.0.attention.wo.weight", 4816785681817201695], ["model.layers.0.attention.wq.weight", -526747042833855142], ["model.layers.0.attention.wv.weight", -2275939441877473839], ["model.layers.0.attention_norm.weight", 3902995501088376396], ["model.layers.0.feed_forward.w1.weight", 5854053150965884123], ["model.layers.0.feed_forward.w2.weight", 828344627702617459], ["model.layers.0.feed_forward.w3.weight", 7613414995308119091], ["model.layers.0.ffn_norm.weight", -215026384581689349], ["model.norm_out.weight", -4767821053960681472], ["model.tok_embeddings.embedding_weight", -3137706937789193282], ["second_moment.lm_head.weight", -3027597410369914102], ["second_moment.model.layers.0.attention.wk.weight", -3491347881741323344], ["second_moment.model.layers.0.attention.wo.weight", -7775473370887969414], ["second_moment.model.layers.0.attention.wq.weight", 6497965412914021308], ["second_moment.model.layers.0.attention.wv.weight", -4903563835697102828], ["second_moment.model.layers.0.attention_norm.weight", 4779643267559691339], ["second_moment.model.layers.0.feed_forward.w1.weight", -913576745880384698], ["second_moment.model.layers.0.feed_forward.w2.weight", -1701386414835891988], ["second_moment.model.layers.0.feed_forward.w3.weight", -1719661321127505256], ["second_moment.model.layers.0.ffn_norm.weight", -8451088127363404131], ["second_moment.model.norm_out.weight", -8204021803727832923], ["second_moment.model.tok_embeddings.embedding_weight", -2087921702650476759]]}} {
      %0 = ascend.frame @chunk0.residuals micro_batch 0 at 297984 : <@chunk0.residuals>
      %1 = ascend.message at 499200 : <4x16xi32, hbm>
      %2 = ascend.message at 499712 : <4x16xi32, hbm>
      %3 = ascend.global @loss_gradient : <f32, hbm>
      %4 = ascend.global @learning_rate : <f32, hbm>
      %5 = ascend.global @step_number : <f32, hbm>
      %6 = ascend.global @host.tokens : <1x4x16xi32, host>
      %7 = ascend.view %6 : <1x4x16xi32, host> to <4x16xi32, host>
      %8 = ascend.copy %7 to %1 on @h2d : <4x16xi32, host> to <4x16xi32, hbm> -> !ascend.event
      %9 = ascend.global @host.labels : <1x4x16xi32, host>
      %10 = ascend.view %9 : <1x4x16xi32, host> to <4x16xi32, host>
      %11 = ascend.copy %10 to %2 on @h2d : <4x16xi32, host> to <4x16xi32, hbm> -> !ascend.event
      ascend.call @begin() : () -> ()
      ascend.call @chunk0.forward(%1, %2) frame %0 : !ascend.frame<@chunk0.residuals> micro_batch 0 scratch at 500224 after %8, %11 : (!ascend.buffer<4x16xi32, hbm>, !ascend.buffer<4x16xi32, hbm>) -> ()
      %12 = ascend.global @host.learning_rate : <f32, host>
      %13 = ascend.copy %12 to %4 on @h2d : <f32, host> to <f32, hbm> -> !ascend.event
      %14 = ascend.global @host.step_number : <f32, host>
      %15 = ascend.copy %14 to %5 on @h2d : <f32, host> to <f32, hbm> -> !ascend.event
      ascend.call @chunk0.backward(%3, %1, %2) frame %0 : !ascend.frame<@chunk0.residuals> micro_batch 0 scratch at 500224 : (!ascend.buffer<f32, hbm>, !ascend.buffer<4x16xi32, hbm>, !ascend.buffer<4x16xi32, hbm>) -> ()
      ascend.call @update(%4, %5) scratch at 297984 after %15 : (!ascend.buffer<f32, hbm>, !ascend.buffer<f32, hbm>) -> ()
      ascend.call @finish() : () -> ()
      %16 = ascend.record @compute
      ascend.wait @d2h for %16
      %17 = ascend.global @report.overflow : <f32, hbm>
      %18 = ascend.global @host.report.overflow : <f32, host>
      ascend.copy %17 to %18 on @d2h : <f32, hbm> to <f32, host>
      %19 = ascend.global @report.global_norm : <f32, hbm>
      %20 = ascend.global @host.report.global_norm : <f32, host>
      ascend.copy %19 to %20 on @d2h : <f32, hbm> to <f32, host>
      %21 = ascend.global @report.loss : <f32, hbm>
      %22 = ascend.global @host.report.loss : <f32, host>
      ascend.copy %21 to %22 on @d2h : <f32, hbm> to <f32, host>
    }
  }
}

