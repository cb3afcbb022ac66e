// Two residual streams: what a layer reads of them, and what it adds to them.
mf.model @streams attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @embedding.weight : tensor<16x8xf32> init <normal, value = 0.3>
  mf.param @layers.0.attn_hc.rms_weight : tensor<8xf32> init <ones> {frozen}
  mf.param @layers.0.attn_hc.mapping_proj.weight : tensor<8x8xf32> init <normal, value = 0.5>
  mf.param @layers.0.attn_hc.bias : tensor<8xf32> init <normal, value = 0.5>
  mf.param @layers.0.attn_hc.alpha_pre : tensor<1xf32> init <constant, value = 0.5>
  mf.param @layers.0.attn_hc.alpha_post : tensor<1xf32> init <constant, value = 0.5>
  mf.param @layers.0.attn_hc.alpha_res : tensor<1xf32> init <constant, value = 0.5>
  mf.param @lm_head.weight : tensor<16x8xf32> init <normal, value = 0.3>
  mf.layer @embedding embedding (%tokens: tensor<1x4xi32>) -> tensor<1x4x8xf32> {
    %table = mf.get_param @embedding.weight : tensor<16x8xf32>
    %x = mf.embedding %table, %tokens {name = "gather"} : (tensor<16x8xf32>, tensor<1x4xi32>) -> tensor<1x4x8xf32>
    mf.return %x : tensor<1x4x8xf32>
  }
  mf.layer @layers.0 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
    %streams = mf.reshape %x {name = "attn_hc.reshape"} : (tensor<1x4x8xf32>) -> tensor<1x4x2x4xf32>
    %gamma = mf.get_param @layers.0.attn_hc.rms_weight : tensor<8xf32>
    %n, %rstd = mf.rms_norm %x, %gamma {epsilon = 0.125 : f64, name = "attn_hc.norm"} : (tensor<1x4x8xf32>, tensor<8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4xf32>)
    %w = mf.get_param @layers.0.attn_hc.mapping_proj.weight : tensor<8x8xf32>
    %h = mf.matmul %n, %w {name = "attn_hc.mapping_proj.matmul", transpose_b = true} : (tensor<1x4x8xf32>, tensor<8x8xf32>) -> tensor<1x4x8xf32>
    %bias = mf.get_param @layers.0.attn_hc.bias : tensor<8xf32>
    %h0 = mf.slice %h {name = "attn_hc.slice", sizes = array<i64: 1, 4, 2>, starts = array<i64: 0, 0, 0>} : (tensor<1x4x8xf32>) -> tensor<1x4x2xf32>
    %pre = mf.get_param @layers.0.attn_hc.alpha_pre : tensor<1xf32>
    %h1 = mf.mul %h0, %pre {name = "attn_hc.mul"} : (tensor<1x4x2xf32>, tensor<1xf32>) -> tensor<1x4x2xf32>
    %b0 = mf.slice %bias {name = "attn_hc.slice", sizes = array<i64: 2>, starts = array<i64: 0>} : (tensor<8xf32>) -> tensor<2xf32>
    %h2 = mf.add %h1, %b0 {name = "attn_hc.add"} : (tensor<1x4x2xf32>, tensor<2xf32>) -> tensor<1x4x2xf32>
    %h3 = mf.sigmoid %h2 {name = "attn_hc.sigmoid"} : (tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
    %reads = mf.add_scalar %h3 {name = "attn_hc.add", value = 0.125 : f64} : (tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
    %row = mf.reshape %reads {name = "attn_hc.reshape"} : (tensor<1x4x2xf32>) -> tensor<1x4x1x2xf32>
    %pool = mf.matmul %row, %streams {name = "attn_hc.pool"} : (tensor<1x4x1x2xf32>, tensor<1x4x2x4xf32>) -> tensor<1x4x1x4xf32>
    %flat = mf.reshape %pool {name = "attn_hc.reshape"} : (tensor<1x4x1x4xf32>) -> tensor<1x4x4xf32>
    %s0 = mf.slice %h {name = "attn_hc.slice", sizes = array<i64: 1, 4, 2>, starts = array<i64: 0, 0, 2>} : (tensor<1x4x8xf32>) -> tensor<1x4x2xf32>
    %post = mf.get_param @layers.0.attn_hc.alpha_post : tensor<1xf32>
    %s1 = mf.mul %s0, %post {name = "attn_hc.mul"} : (tensor<1x4x2xf32>, tensor<1xf32>) -> tensor<1x4x2xf32>
    %b1 = mf.slice %bias {name = "attn_hc.slice", sizes = array<i64: 2>, starts = array<i64: 2>} : (tensor<8xf32>) -> tensor<2xf32>
    %s2 = mf.add %s1, %b1 {name = "attn_hc.add"} : (tensor<1x4x2xf32>, tensor<2xf32>) -> tensor<1x4x2xf32>
    %s3 = mf.sigmoid %s2 {name = "attn_hc.sigmoid"} : (tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
    %shares = mf.scale %s3 {name = "attn_hc.mul", value = 2.0 : f64} : (tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
    %m0 = mf.slice %h {name = "attn_hc.slice", sizes = array<i64: 1, 4, 4>, starts = array<i64: 0, 0, 4>} : (tensor<1x4x8xf32>) -> tensor<1x4x4xf32>
    %res = mf.get_param @layers.0.attn_hc.alpha_res : tensor<1xf32>
    %m1 = mf.mul %m0, %res {name = "attn_hc.mul"} : (tensor<1x4x4xf32>, tensor<1xf32>) -> tensor<1x4x4xf32>
    %b2 = mf.slice %bias {name = "attn_hc.slice", sizes = array<i64: 4>, starts = array<i64: 4>} : (tensor<8xf32>) -> tensor<4xf32>
    %m2 = mf.add %m1, %b2 {name = "attn_hc.add"} : (tensor<1x4x4xf32>, tensor<4xf32>) -> tensor<1x4x4xf32>
    %m3 = mf.reshape %m2 {name = "attn_hc.reshape"} : (tensor<1x4x4xf32>) -> tensor<1x4x2x2xf32>
    %mixing = mf.sinkhorn %m3 {epsilon = 0.125 : f64, iterations = 3 : i64, name = "attn_hc._sinkhorn_op.sinkhorn"} : (tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32>
    %result = mf.silu %flat {name = "attention"} : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
    %mix = mf.matmul %mixing, %streams {name = "attn_hc.output_cell.mix", transpose_a = true} : (tensor<1x4x2x2xf32>, tensor<1x4x2x4xf32>) -> tensor<1x4x2x4xf32>
    %r1 = mf.reshape %result {name = "attn_hc.output_cell.reshape"} : (tensor<1x4x4xf32>) -> tensor<1x4x1x4xf32>
    %column = mf.reshape %shares {name = "attn_hc.output_cell.reshape"} : (tensor<1x4x2xf32>) -> tensor<1x4x2x1xf32>
    %share = mf.matmul %column, %r1 {name = "attn_hc.output_cell.share"} : (tensor<1x4x2x1xf32>, tensor<1x4x1x4xf32>) -> tensor<1x4x2x4xf32>
    %sum = mf.add %mix, %share {name = "attn_hc.output_cell.add"} : (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>) -> tensor<1x4x2x4xf32>
    %z0 = mf.reshape %sum {name = "attn_hc.output_cell.reshape"} : (tensor<1x4x2x4xf32>) -> tensor<1x4x8xf32>
    mf.return %z0 : tensor<1x4x8xf32>
  }
  mf.layer @lm_head head (%x: tensor<1x4x8xf32>, %labels: tensor<4xi32>) -> tensor<f32> {
    %w = mf.get_param @lm_head.weight : tensor<16x8xf32>
    %l = mf.matmul %x, %w {name = "matmul", transpose_b = true} : (tensor<1x4x8xf32>, tensor<16x8xf32>) -> tensor<1x4x16xf32>
    %logits = mf.reshape %l {name = "reshape"} : (tensor<1x4x16xf32>) -> tensor<4x16xf32>
    %loss, %logsumexp, %count = mf.cross_entropy %logits, %labels {name = "loss"} : (tensor<4x16xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>, tensor<f32>)
    mf.return %loss : tensor<f32>
  }
}
