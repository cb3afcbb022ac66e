// A layer with rotary embedding and a feed forward, and one with experts: what the descriptions of the fusions are about.
mf.model @one_layer attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @freqs_cos : tensor<4x4xf32> init <rotary_cos, value = 1.0e4> {frozen}
  mf.param @freqs_sin : tensor<4x4xf32> init <rotary_sin, value = 1.0e4> {frozen}
  mf.layer @layers.0 body (%x: tensor<1x2x4x4xf32>, %g: tensor<1x4x6xf32>, %u: tensor<1x4x6xf32>)
      -> (tensor<1x2x4x4xf32>, tensor<1x4x6xf32>) {
    %cos = mf.get_param @freqs_cos : tensor<4x4xf32>
    %sin = mf.get_param @freqs_sin : tensor<4x4xf32>
    %a = mf.slice %x {name = "attention.apply_rotary_emb.slice", sizes = array<i64: 1, 2, 4, 2>, starts = array<i64: 0, 0, 0, 0>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x2xf32>
    %b = mf.slice %x {name = "attention.apply_rotary_emb.slice", sizes = array<i64: 1, 2, 4, 2>, starts = array<i64: 0, 0, 0, 2>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x2xf32>
    %n = mf.neg %b {name = "attention.apply_rotary_emb.neg"} : (tensor<1x2x4x2xf32>) -> tensor<1x2x4x2xf32>
    %r = mf.concat %n, %a {axis = 3 : i64, name = "attention.apply_rotary_emb.concat"} : (tensor<1x2x4x2xf32>, tensor<1x2x4x2xf32>) -> tensor<1x2x4x4xf32>
    %c = mf.mul %x, %cos {name = "attention.apply_rotary_emb.mul"} : (tensor<1x2x4x4xf32>, tensor<4x4xf32>) -> tensor<1x2x4x4xf32>
    %s = mf.mul %r, %sin {name = "attention.apply_rotary_emb.mul"} : (tensor<1x2x4x4xf32>, tensor<4x4xf32>) -> tensor<1x2x4x4xf32>
    %y = mf.add %c, %s {name = "attention.apply_rotary_emb.add"} : (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
    %act = mf.silu %g {name = "feed_forward.w1.activation.silu"} : (tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
    %z = mf.mul %act, %u {name = "feed_forward.mul"} : (tensor<1x4x6xf32>, tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
    mf.return %y, %z : tensor<1x2x4x4xf32>, tensor<1x4x6xf32>
  }
}
// Two rows of three tokens, of which each chooses two of three experts; an expert has two places.
mf.model @experts attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @layers.0.feed_forward.ffn.w1 : tensor<1x3x4x8xf32> init <normal, value = 0.02>
  mf.layer @layers.0 body (%tokens: tensor<2x1x6x4xbf16>, %ids: tensor<2x1x6xf32>, %scores: tensor<2x3x3xf32>, %counts: tensor<2x1x3xf32>, %rows: tensor<2x1x6x4xf32>)
      -> (tensor<2x1x6x4xbf16>, tensor<2x3x2xf32>, tensor<2x3x2xf32>, tensor<2x3x2xf32>, tensor<2x1x6x8xf32>) {
    %w1 = mf.get_param @layers.0.feed_forward.ffn.w1 : tensor<1x3x4x8xf32>
    %products = mf.expert_matmul %rows, %w1, %counts {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x8xf32>
    %sorted, %order = mf.sort %ids {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6xf32>) -> (tensor<2x1x6xf32>, tensor<2x1x6xi32>)
    %forth = mf.gather_rows %tokens, %order {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6x4xbf16>, tensor<2x1x6xi32>) -> tensor<2x1x6x4xbf16>
    %made = mf.scale %forth {name = "ffn.hook_ffn_forward", value = 2.0 : f64} : (tensor<2x1x6x4xbf16>) -> tensor<2x1x6x4xbf16>
    %keys = mf.cast %order {name = "cast"} : (tensor<2x1x6xi32>) -> tensor<2x1x6xf32>
    %keys_sorted, %places = mf.sort %keys {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6xf32>) -> (tensor<2x1x6xf32>, tensor<2x1x6xi32>)
    %back = mf.gather_rows %made, %places {name = "ffn.hook_ffn_forward"} : (tensor<2x1x6x4xbf16>, tensor<2x1x6xi32>) -> tensor<2x1x6x4xbf16>

    %best, %chosen = mf.top_k %scores {k = 2 : i64, name = "feed_forward.router.router.topk"} : (tensor<2x3x3xf32>) -> (tensor<2x3x2xf32>, tensor<2x3x2xi32>)
    %turned = mf.transpose %chosen {name = "feed_forward.router.router.transpose_3d", perm = array<i64: 0, 2, 1>} : (tensor<2x3x2xi32>) -> tensor<2x2x3xi32>
    %flat = mf.reshape %turned {name = "feed_forward.router.router.reshape"} : (tensor<2x2x3xi32>) -> tensor<2x6xi32>
    %mask = mf.one_hot %flat {name = "feed_forward.router.router.onehot_2d"} : (tensor<2x6xi32>) -> tensor<2x6x3xf32>
    %sums = mf.cumsum %mask {axis = 1 : i64, name = "feed_forward.router.router.cumsum"} : (tensor<2x6x3xf32>) -> tensor<2x6x3xf32>
    %numbers = mf.mul %sums, %mask {name = "feed_forward.router.router.mul_3d"} : (tensor<2x6x3xf32>, tensor<2x6x3xf32>) -> tensor<2x6x3xf32>
    %within = mf.compare_scalar %numbers {comparison = #mf.comparison<less>, name = "feed_forward.router.router.less", value = 3.0 : f64} : (tensor<2x6x3xf32>) -> tensor<2x6x3xf32>
    %limited = mf.mul %numbers, %within {name = "feed_forward.router.router.mul_3d"} : (tensor<2x6x3xf32>, tensor<2x6x3xf32>) -> tensor<2x6x3xf32>
    %place = mf.reduce_sum %limited {axes = array<i64: 2>, name = "feed_forward.router.router.reduce_sum"} : (tensor<2x6x3xf32>) -> tensor<2x6xf32>

    %experts = mf.cast %flat {name = "feed_forward.router.router.cast"} : (tensor<2x6xi32>) -> tensor<2x6xf32>
    %base = mf.scale %experts {name = "feed_forward.router.router.mul_2d_1d", value = 3.0 : f64} : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %index = mf.add %base, %place {name = "feed_forward.router.router.add_2d"} : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
    %place_3d = mf.reshape %place {name = "feed_forward.router.router.reshape"} : (tensor<2x6xf32>) -> tensor<2x2x3xf32>
    %place_k = mf.transpose %place_3d {name = "feed_forward.router.router.transpose_3d", perm = array<i64: 0, 2, 1>} : (tensor<2x2x3xf32>) -> tensor<2x3x2xf32>
    %kept = mf.compare_scalar %place_k {comparison = #mf.comparison<greater>, name = "feed_forward.router.router.gt", value = 0.0 : f64} : (tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
    %index_3d = mf.reshape %index {name = "feed_forward.router.router.reshape"} : (tensor<2x6xf32>) -> tensor<2x2x3xf32>
    %index_k = mf.transpose %index_3d {name = "feed_forward.router.router.transpose_3d", perm = array<i64: 0, 2, 1>} : (tensor<2x2x3xf32>) -> tensor<2x3x2xf32>
    %combine = mf.cast %index_k {name = "feed_forward.router.router.cast"} : (tensor<2x3x2xf32>) -> tensor<2x3x2xi32>

    %selected = mf.transpose %mask {name = "feed_forward.router.router.transpose_3d", perm = array<i64: 0, 2, 1>} : (tensor<2x6x3xf32>) -> tensor<2x3x6xf32>
    %ones = mf.compare_scalar %place {comparison = #mf.comparison<at_least>, name = "feed_forward.router.router.slice_range", value = 0.0 : f64} : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %counted = mf.cumsum %ones {axis = 1 : i64, name = "feed_forward.router.router.slice_range"} : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %range = mf.add_scalar %counted {name = "feed_forward.router.router.slice_range", value = -1.0 : f64} : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %range_3d = mf.reshape %range {name = "feed_forward.router.router.reshape"} : (tensor<2x6xf32>) -> tensor<2x1x6xf32>
    %large = mf.add_scalar %range_3d {name = "feed_forward.router.router.add_range", value = 12.0 : f64} : (tensor<2x1x6xf32>) -> tensor<2x1x6xf32>
    %others = mf.compare_scalar %selected {comparison = #mf.comparison<less>, name = "feed_forward.router.router.sub_range", value = 1.0 : f64} : (tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
    %own = mf.mul %selected, %range_3d {name = "feed_forward.router.router.mul_range"} : (tensor<2x3x6xf32>, tensor<2x1x6xf32>) -> tensor<2x3x6xf32>
    %rest = mf.mul %others, %large {name = "feed_forward.router.router.mul_range"} : (tensor<2x3x6xf32>, tensor<2x1x6xf32>) -> tensor<2x3x6xf32>
    %raw = mf.add %own, %rest {name = "feed_forward.router.router.add_3d"} : (tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
    %choices, %unused = mf.sort %raw {name = "feed_forward.router.router.sort_range"} : (tensor<2x3x6xf32>) -> (tensor<2x3x6xf32>, tensor<2x3x6xi32>)
    %first = mf.slice %choices {name = "feed_forward.router.router.slice", sizes = array<i64: 2, 3, 2>, starts = array<i64: 0, 0, 0>} : (tensor<2x3x6xf32>) -> tensor<2x3x2xf32>
    %is_choice = mf.compare_scalar %first {comparison = #mf.comparison<less>, name = "feed_forward.router.router.less", value = 12.0 : f64} : (tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
    %token = mf.remainder %first {name = "feed_forward.router.router.mod", value = 3.0 : f64} : (tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
    %token_1 = mf.add_scalar %token {name = "feed_forward.router.router.add_one", value = 1.0 : f64} : (tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
    %filled = mf.mul %token_1, %is_choice {name = "feed_forward.router.router.mul_3d"} : (tensor<2x3x2xf32>, tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
    %dispatch = mf.cast %filled {name = "feed_forward.router.router.cast"} : (tensor<2x3x2xf32>) -> tensor<2x3x2xi32>
    %dispatched = mf.cast %dispatch : (tensor<2x3x2xi32>) -> tensor<2x3x2xf32>
    %combined = mf.cast %combine : (tensor<2x3x2xi32>) -> tensor<2x3x2xf32>
    mf.return %back, %dispatched, %combined, %kept, %products : tensor<2x1x6x4xbf16>, tensor<2x3x2xf32>, tensor<2x3x2xf32>, tensor<2x3x2xf32>, tensor<2x1x6x8xf32>
  }
}
// A site of two residual streams.
mf.model @streams attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.param @layers.0.attn_hc.rms_weight : tensor<8xf32> init <ones> {frozen}
  mf.param @layers.0.attn_hc.mapping_proj.weight : tensor<8x8xf32> init <normal, value = 0.5>
  mf.param @layers.0.attn_hc.bias : tensor<8xf32> init <normal, value = 0.5>
  mf.param @layers.0.attn_hc.alpha_pre : tensor<1xf32> init <constant, value = 0.5>
  mf.param @layers.0.attn_hc.alpha_post : tensor<1xf32> init <constant, value = 0.5>
  mf.param @layers.0.attn_hc.alpha_res : tensor<1xf32> init <constant, value = 0.5>
  mf.layer @layers.0 body (%x: tensor<1x4x8xbf16>) -> tensor<1x4x8xbf16> {
    %wide = mf.cast %x {name = "attn_hc.cast"} : (tensor<1x4x8xbf16>) -> tensor<1x4x8xf32>
    %streams = mf.reshape %wide {name = "attn_hc.reshape"} : (tensor<1x4x8xf32>) -> tensor<1x4x2x4xf32>
    %gamma = mf.get_param @layers.0.attn_hc.rms_weight : tensor<8xf32>
    %n, %rstd = mf.rms_norm %wide, %gamma {epsilon = 0.125 : f64, name = "attn_hc.norm"} : (tensor<1x4x8xf32>, tensor<8xf32>) -> (tensor<1x4x8xf32>, tensor<1x4xf32>)
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
    %input = mf.cast %flat {name = "attn_hc.cast"} : (tensor<1x4x4xf32>) -> tensor<1x4x4xbf16>
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
    %result = mf.silu %input {name = "attention"} : (tensor<1x4x4xbf16>) -> tensor<1x4x4xbf16>
    %mix = mf.matmul %mixing, %streams {name = "attn_hc.output_cell.mix", transpose_a = true} : (tensor<1x4x2x2xf32>, tensor<1x4x2x4xf32>) -> tensor<1x4x2x4xf32>
    %r0 = mf.cast %result {name = "attn_hc.output_cell.cast"} : (tensor<1x4x4xbf16>) -> tensor<1x4x4xf32>
    %r1 = mf.reshape %r0 {name = "attn_hc.output_cell.reshape"} : (tensor<1x4x4xf32>) -> tensor<1x4x1x4xf32>
    %column = mf.reshape %shares {name = "attn_hc.output_cell.reshape"} : (tensor<1x4x2xf32>) -> tensor<1x4x2x1xf32>
    %share = mf.matmul %column, %r1 {name = "attn_hc.output_cell.share"} : (tensor<1x4x2x1xf32>, tensor<1x4x1x4xf32>) -> tensor<1x4x2x4xf32>
    %sum = mf.add %mix, %share {name = "attn_hc.output_cell.add"} : (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>) -> tensor<1x4x2x4xf32>
    %z0 = mf.reshape %sum {name = "attn_hc.output_cell.reshape"} : (tensor<1x4x2x4xf32>) -> tensor<1x4x8xf32>
    %z = mf.cast %z0 {name = "attn_hc.output_cell.cast"} : (tensor<1x4x8xf32>) -> tensor<1x4x8xbf16>
    mf.return %z : tensor<1x4x8xbf16>
  }
}
