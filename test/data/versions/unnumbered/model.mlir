module {
  mf.model @llama_tiny attributes {family = "llama", micro_batch_size = 4 : i64, sequence_length = 16 : i64, vocab_size = 256 : i64} {
    mf.param @freqs_cos : tensor<16x8xf32> init <rotary_cos, value = 1.000000e+04> {frozen}
    mf.param @freqs_sin : tensor<16x8xf32> init <rotary_sin, value = 1.000000e+04> {frozen}
    mf.cell_tree @cells ["cast", "shape", "reshape", "add", "ffn_norm.norm", "ffn_norm.cast", "ffn_norm.rcast", "attention_norm.norm", "attention_norm.cast", "attention_norm.rcast", "attention.shape", "attention.reshape", "attention.cast", "attention.transpose", "attention.merger_head_transpose", "attention.batch_matmul", "attention.batch_matmul_q_k", "attention.mul", "attention.add", "attention.softmax", "attention.cast_attn", "attention.tile_kv", "attention.wq.matmul", "attention.wq.cast", "attention.wq.reshape", "attention.wq.shape", "attention.wk.matmul", "attention.wk.cast", "attention.wk.reshape", "attention.wk.shape", "attention.wv.matmul", "attention.wv.cast", "attention.wv.reshape", "attention.wv.shape", "attention.wo.matmul", "attention.wo.cast", "attention.wo.reshape", "attention.wo.shape", "attention.apply_rotary_emb.add", "attention.apply_rotary_emb.bmm_swap", "attention.apply_rotary_emb.mul", "attention.apply_rotary_emb.mul_inc", "attention.apply_rotary_emb.mul_with_batch_freqs", "attention.apply_rotary_emb.neg", "attention.apply_rotary_emb.slice", "attention.apply_rotary_emb.concat", "attention.apply_rotary_emb.shape", "attention.apply_rotary_emb.cast", "attention.flash_attention.flash_attention", "feed_forward.mul", "feed_forward.cast", "feed_forward.reshape", "feed_forward.w13_concat", "feed_forward.w1.matmul", "feed_forward.w1.cast", "feed_forward.w1.reshape", "feed_forward.w1.shape", "feed_forward.w1.activation.silu", "feed_forward.w2.matmul", "feed_forward.w2.cast", "feed_forward.w2.reshape", "feed_forward.w2.shape", "feed_forward.w3.matmul", "feed_forward.w3.cast", "feed_forward.w3.reshape", "feed_forward.w3.shape"]
    mf.param @model.tok_embeddings.embedding_weight : tensor<256x32xf32> init <normal, value = 2.000000e-02> {parallel_optimizer = false}
    mf.layer @embedding embedding (%arg0: tensor<4x16xi32>) -> tensor<4x16x32xf32> {
      %0 = mf.get_param @model.tok_embeddings.embedding_weight : tensor<256x32xf32>
      %1 = mf.embedding %0, %arg0 {name = "tok_embeddings.gather"} : (tensor<256x32xf32>, tensor<4x16xi32>) -> tensor<4x16x32xf32>
      mf.return %1 : tensor<4x16x32xf32>
    }
    mf.param @model.layers.0.attention_norm.weight : tensor<32xf32> init <ones> {parallel_optimizer = false}
    mf.param @model.layers.0.attention.wq.weight : tensor<32x32xf32> init <normal, value = 2.000000e-02> {cuts = [["mp"], []]}
    mf.param @model.layers.0.attention.wk.weight : tensor<16x32xf32> init <normal, value = 2.000000e-02> {cuts = [["mp"], []]}
    mf.param @model.layers.0.attention.wv.weight : tensor<16x32xf32> init <normal, value = 2.000000e-02> {cuts = [["mp"], []]}
    mf.param @model.layers.0.attention.wo.weight : tensor<32x32xf32> init <normal, value = 2.000000e-02> {cuts = [[], ["mp"]]}
    mf.param @model.layers.0.ffn_norm.weight : tensor<32xf32> init <ones> {parallel_optimizer = false}
    mf.param @model.layers.0.feed_forward.w1.weight : tensor<48x32xf32> init <normal, value = 2.000000e-02> {cuts = [["mp"], []]}
    mf.param @model.layers.0.feed_forward.w3.weight : tensor<48x32xf32> init <normal, value = 2.000000e-02> {cuts = [["mp"], []]}
    mf.param @model.layers.0.feed_forward.w2.weight : tensor<32x48xf32> init <normal, value = 2.000000e-02> {cuts = [[], ["mp"]]}
    mf.layer @layers.0 body (%arg0: tensor<4x16x32xf32>) -> tensor<4x16x32xf32> attributes {cell_tree = @cells} {
      %0 = mf.get_param @model.layers.0.attention_norm.weight : tensor<32xf32>
      %result, %rstd = mf.rms_norm %arg0, %0 {epsilon = 1.000000e-05 : f64, name = "attention_norm.norm"} : (tensor<4x16x32xf32>, tensor<32xf32>) -> (tensor<4x16x32xf32>, tensor<4x16xf32>)
      %1 = mf.get_param @model.layers.0.attention.wq.weight : tensor<32x32xf32>
      %2 = mf.matmul %result, %1 {name = "attention.wq.matmul", transpose_b = true} : (tensor<4x16x32xf32>, tensor<32x32xf32>) -> tensor<4x16x32xf32>
      %3 = mf.get_param @model.layers.0.attention.wk.weight : tensor<16x32xf32>
      %4 = mf.matmul %result, %3 {name = "attention.wk.matmul", transpose_b = true} : (tensor<4x16x32xf32>, tensor<16x32xf32>) -> tensor<4x16x16xf32>
      %5 = mf.get_param @model.layers.0.attention.wv.weight : tensor<16x32xf32>
      %6 = mf.matmul %result, %5 {name = "attention.wv.matmul", transpose_b = true} : (tensor<4x16x32xf32>, tensor<16x32xf32>) -> tensor<4x16x16xf32>
      %7 = mf.reshape %2 {name = "attention.reshape"} : (tensor<4x16x32xf32>) -> tensor<4x16x4x8xf32>
      %8 = mf.transpose %7 {name = "attention.transpose", perm = array<i64: 0, 2, 1, 3>} : (tensor<4x16x4x8xf32>) -> tensor<4x4x16x8xf32>
      %9 = mf.reshape %4 {name = "attention.reshape"} : (tensor<4x16x16xf32>) -> tensor<4x16x2x8xf32>
      %10 = mf.transpose %9 {name = "attention.transpose", perm = array<i64: 0, 2, 1, 3>} : (tensor<4x16x2x8xf32>) -> tensor<4x2x16x8xf32>
      %11 = mf.reshape %6 {name = "attention.reshape"} : (tensor<4x16x16xf32>) -> tensor<4x16x2x8xf32>
      %12 = mf.transpose %11 {name = "attention.transpose", perm = array<i64: 0, 2, 1, 3>} : (tensor<4x16x2x8xf32>) -> tensor<4x2x16x8xf32>
      %13 = mf.get_param @freqs_cos : tensor<16x8xf32>
      %14 = mf.get_param @freqs_sin : tensor<16x8xf32>
      %15 = mf.slice %8 {name = "attention.apply_rotary_emb.slice", sizes = array<i64: 4, 4, 16, 4>, starts = array<i64: 0, 0, 0, 0>} : (tensor<4x4x16x8xf32>) -> tensor<4x4x16x4xf32>
      %16 = mf.slice %8 {name = "attention.apply_rotary_emb.slice", sizes = array<i64: 4, 4, 16, 4>, starts = array<i64: 0, 0, 0, 4>} : (tensor<4x4x16x8xf32>) -> tensor<4x4x16x4xf32>
      %17 = mf.neg %16 {name = "attention.apply_rotary_emb.neg"} : (tensor<4x4x16x4xf32>) -> tensor<4x4x16x4xf32>
      %18 = mf.concat %17, %15 {axis = 3 : i64, name = "attention.apply_rotary_emb.concat"} : (tensor<4x4x16x4xf32>, tensor<4x4x16x4xf32>) -> tensor<4x4x16x8xf32>
      %19 = mf.mul %8, %13 {name = "attention.apply_rotary_emb.mul"} : (tensor<4x4x16x8xf32>, tensor<16x8xf32>) -> tensor<4x4x16x8xf32>
      %20 = mf.mul %18, %14 {name = "attention.apply_rotary_emb.mul"} : (tensor<4x4x16x8xf32>, tensor<16x8xf32>) -> tensor<4x4x16x8xf32>
      %21 = mf.add %19, %20 {name = "attention.apply_rotary_emb.add"} : (tensor<4x4x16x8xf32>, tensor<4x4x16x8xf32>) -> tensor<4x4x16x8xf32>
      %22 = mf.get_param @freqs_cos : tensor<16x8xf32>
      %23 = mf.get_param @freqs_sin : tensor<16x8xf32>
      %24 = mf.slice %10 {name = "attention.apply_rotary_emb.slice", sizes = array<i64: 4, 2, 16, 4>, starts = array<i64: 0, 0, 0, 0>} : (tensor<4x2x16x8xf32>) -> tensor<4x2x16x4xf32>
      %25 = mf.slice %10 {name = "attention.apply_rotary_emb.slice", sizes = array<i64: 4, 2, 16, 4>, starts = array<i64: 0, 0, 0, 4>} : (tensor<4x2x16x8xf32>) -> tensor<4x2x16x4xf32>
      %26 = mf.neg %25 {name = "attention.apply_rotary_emb.neg"} : (tensor<4x2x16x4xf32>) -> tensor<4x2x16x4xf32>
      %27 = mf.concat %26, %24 {axis = 3 : i64, name = "attention.apply_rotary_emb.concat"} : (tensor<4x2x16x4xf32>, tensor<4x2x16x4xf32>) -> tensor<4x2x16x8xf32>
      %28 = mf.mul %10, %22 {name = "attention.apply_rotary_emb.mul"} : (tensor<4x2x16x8xf32>, tensor<16x8xf32>) -> tensor<4x2x16x8xf32>
      %29 = mf.mul %27, %23 {name = "attention.apply_rotary_emb.mul"} : (tensor<4x2x16x8xf32>, tensor<16x8xf32>) -> tensor<4x2x16x8xf32>
      %30 = mf.add %28, %29 {name = "attention.apply_rotary_emb.add"} : (tensor<4x2x16x8xf32>, tensor<4x2x16x8xf32>) -> tensor<4x2x16x8xf32>
      %softmax_max, %softmax_sum, %result_0 = mf.flash_attention %21, %30, %12 {name = "attention.flash_attention.flash_attention", scale = 0.35355339059327373 : f64} : (tensor<4x4x16x8xf32>, tensor<4x2x16x8xf32>, tensor<4x2x16x8xf32>) -> (tensor<4x4x16xf32>, tensor<4x4x16xf32>, tensor<4x4x16x8xf32>)
      %31 = mf.transpose %result_0 {name = "attention.merger_head_transpose", perm = array<i64: 0, 2, 1, 3>} : (tensor<4x4x16x8xf32>) -> tensor<4x16x4x8xf32>
      %32 = mf.reshape %31 {name = "attention.reshape"} : (tensor<4x16x4x8xf32>) -> tensor<4x16x32xf32>
      %33 = mf.get_param @model.layers.0.attention.wo.weight : tensor<32x32xf32>
      %34 = mf.matmul %32, %33 {name = "attention.wo.matmul", transpose_b = true} : (tensor<4x16x32xf32>, tensor<32x32xf32>) -> tensor<4x16x32xf32>
      %35 = mf.add %arg0, %34 {name = "add"} : (tensor<4x16x32xf32>, tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
      %36 = mf.get_param @model.layers.0.ffn_norm.weight : tensor<32xf32>
      %result_1, %rstd_2 = mf.rms_norm %35, %36 {epsilon = 1.000000e-05 : f64, name = "ffn_norm.norm"} : (tensor<4x16x32xf32>, tensor<32xf32>) -> (tensor<4x16x32xf32>, tensor<4x16xf32>)
      %37 = mf.get_param @model.layers.0.feed_forward.w1.weight : tensor<48x32xf32>
      %38 = mf.matmul %result_1, %37 {name = "feed_forward.w1.matmul", transpose_b = true} : (tensor<4x16x32xf32>, tensor<48x32xf32>) -> tensor<4x16x48xf32>
      %39 = mf.silu %38 {name = "feed_forward.w1.activation.silu"} : (tensor<4x16x48xf32>) -> tensor<4x16x48xf32>
      %40 = mf.get_param @model.layers.0.feed_forward.w3.weight : tensor<48x32xf32>
      %41 = mf.matmul %result_1, %40 {name = "feed_forward.w3.matmul", transpose_b = true} : (tensor<4x16x32xf32>, tensor<48x32xf32>) -> tensor<4x16x48xf32>
      %42 = mf.mul %39, %41 {name = "feed_forward.mul"} : (tensor<4x16x48xf32>, tensor<4x16x48xf32>) -> tensor<4x16x48xf32>
      %43 = mf.get_param @model.layers.0.feed_forward.w2.weight : tensor<32x48xf32>
      %44 = mf.matmul %42, %43 {name = "feed_forward.w2.matmul", transpose_b = true} : (tensor<4x16x48xf32>, tensor<32x48xf32>) -> tensor<4x16x32xf32>
      %45 = mf.add %35, %44 {name = "add"} : (tensor<4x16x32xf32>, tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
      mf.return %45 : tensor<4x16x32xf32>
    }
    mf.param @model.norm_out.weight : tensor<32xf32> init <ones> {parallel_optimizer = false}
    mf.layer @norm_out head (%arg0: tensor<4x16x32xf32>) -> tensor<4x16x32xf32> {
      %0 = mf.get_param @model.norm_out.weight : tensor<32xf32>
      %result, %rstd = mf.rms_norm %arg0, %0 {epsilon = 1.000000e-05 : f64, name = "norm"} : (tensor<4x16x32xf32>, tensor<32xf32>) -> (tensor<4x16x32xf32>, tensor<4x16xf32>)
      mf.return %result : tensor<4x16x32xf32>
    }
    mf.param @lm_head.weight : tensor<256x32xf32> init <normal, value = 2.000000e-02>
    mf.layer @lm_head head (%arg0: tensor<4x16x32xf32>, %arg1: tensor<4x16xi32>) -> tensor<f32> {
      %0 = mf.get_param @lm_head.weight : tensor<256x32xf32>
      %1 = mf.matmul %arg0, %0 {name = "matmul", transpose_b = true} : (tensor<4x16x32xf32>, tensor<256x32xf32>) -> tensor<4x16x256xf32>
      %2 = mf.reshape %1 {name = "reshape"} : (tensor<4x16x256xf32>) -> tensor<64x256xf32>
      %3 = mf.reshape %arg1 {name = "reshape"} : (tensor<4x16xi32>) -> tensor<64xi32>
      %loss, %logsumexp, %count = mf.cross_entropy %2, %3 {name = "loss"} : (tensor<64x256xf32>, tensor<64xi32>) -> (tensor<f32>, tensor<64xf32>, tensor<f32>)
      mf.return %loss : tensor<f32>
    }
  }
}

