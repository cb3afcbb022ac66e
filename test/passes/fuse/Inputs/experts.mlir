// Rows of three tokens, of which each chooses two of three experts. In the first layer, behind rotary embedding, experts
// take all tokens, which are sorted twice, first in descending order; in the second each has one place in a row.
mf.model @experts attributes {micro_batch_size = 1 : i64, sequence_length = 6 : i64, vocab_size = 16 : i64} {
  mf.param @embedding.weight : tensor<16x4xf32> init <normal, value = 0.3>
  mf.param @freqs_cos : tensor<6x2xf32> init <rotary_cos, value = 1.0e4> {frozen}
  mf.param @freqs_sin : tensor<6x2xf32> init <rotary_sin, value = 1.0e4> {frozen}
  mf.param @layers.0.feed_forward.router_dense.weight : tensor<3x4xf32> init <normal, value = 0.3>
  mf.param @layers.0.feed_forward.ffn.w1 : tensor<3x4x8xf32> init <normal, value = 0.3>
  mf.param @layers.0.feed_forward.ffn.w2 : tensor<3x4x4xf32> init <normal, value = 0.3>
  mf.param @layers.1.feed_forward.router.dense.weight : tensor<3x4xf32> init <normal, value = 0.3>
  mf.param @layers.1.feed_forward.ffn.w1.weight : tensor<3x4x4xf32> init <normal, value = 0.3>
  mf.param @layers.1.feed_forward.ffn.w2.weight : tensor<3x4x4xf32> init <normal, value = 0.3>
  mf.param @layers.1.feed_forward.ffn.w3.weight : tensor<3x4x4xf32> init <normal, value = 0.3>
  mf.param @lm_head.weight : tensor<16x4xf32> init <normal, value = 0.3>
  mf.layer @embedding embedding (%tokens: tensor<1x6xi32>) -> tensor<1x6x4xf32> {
    %table = mf.get_param @embedding.weight : tensor<16x4xf32>
    %x = mf.embedding %table, %tokens {name = "gather"} : (tensor<16x4xf32>, tensor<1x6xi32>) -> tensor<1x6x4xf32>
    mf.return %x : tensor<1x6x4xf32>
  }
  mf.layer @layers.0 body (%x: tensor<1x6x4xf32>) -> tensor<1x6x4xf32> {
    %v0 = mf.reshape %x {name = "attention.reshape"} : (tensor<1x6x4xf32>) -> tensor<1x6x2x2xf32>
    %v1 = mf.transpose %v0 {name = "attention.transpose", perm = array<i64: 0, 2, 1, 3>} : (tensor<1x6x2x2xf32>) -> tensor<1x2x6x2xf32>
    %v2 = mf.get_param @freqs_cos : tensor<6x2xf32>
    %v3 = mf.get_param @freqs_sin : tensor<6x2xf32>
    %v4 = mf.slice %v1 {name = "attention.apply_rotary_emb.slice", sizes = array<i64: 1, 2, 6, 1>, starts = array<i64: 0, 0, 0, 0>} : (tensor<1x2x6x2xf32>) -> tensor<1x2x6x1xf32>
    %v5 = mf.slice %v1 {name = "attention.apply_rotary_emb.slice", sizes = array<i64: 1, 2, 6, 1>, starts = array<i64: 0, 0, 0, 1>} : (tensor<1x2x6x2xf32>) -> tensor<1x2x6x1xf32>
    %v6 = mf.neg %v5 {name = "attention.apply_rotary_emb.neg"} : (tensor<1x2x6x1xf32>) -> tensor<1x2x6x1xf32>
    %v7 = mf.concat %v6, %v4 {axis = 3 : i64, name = "attention.apply_rotary_emb.concat"} : (tensor<1x2x6x1xf32>, tensor<1x2x6x1xf32>) -> tensor<1x2x6x2xf32>
    %v8 = mf.mul %v1, %v2 {name = "attention.apply_rotary_emb.mul"} : (tensor<1x2x6x2xf32>, tensor<6x2xf32>) -> tensor<1x2x6x2xf32>
    %v9 = mf.mul %v7, %v3 {name = "attention.apply_rotary_emb.mul"} : (tensor<1x2x6x2xf32>, tensor<6x2xf32>) -> tensor<1x2x6x2xf32>
    %v10 = mf.add %v8, %v9 {name = "attention.apply_rotary_emb.add"} : (tensor<1x2x6x2xf32>, tensor<1x2x6x2xf32>) -> tensor<1x2x6x2xf32>
    %v11 = mf.transpose %v10 {name = "attention.transpose", perm = array<i64: 0, 2, 1, 3>} : (tensor<1x2x6x2xf32>) -> tensor<1x6x2x2xf32>
    %v12 = mf.reshape %v11 {name = "attention.reshape"} : (tensor<1x6x2x2xf32>) -> tensor<1x6x4xf32>
    %v13 = mf.reshape %v12 {name = "feed_forward.reshape"} : (tensor<1x6x4xf32>) -> tensor<2x3x4xf32>
    %v14 = mf.get_param @layers.0.feed_forward.router_dense.weight : tensor<3x4xf32>
    %v15 = mf.matmul %v13, %v14 {name = "feed_forward.dense.matmul", transpose_b = true} : (tensor<2x3x4xf32>, tensor<3x4xf32>) -> tensor<2x3x3xf32>
    %v16 = mf.softmax %v15 {name = "feed_forward.gating_activation"} : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
    %v17, %v18 = mf.top_k %v16 {k = 2 : i64, name = "feed_forward.topk"} : (tensor<2x3x3xf32>) -> (tensor<2x3x2xf32>, tensor<2x3x2xi32>)
    %v19 = mf.transpose %v18 {name = "feed_forward.transpose_3d", perm = array<i64: 0, 2, 1>} : (tensor<2x3x2xi32>) -> tensor<2x2x3xi32>
    %v20 = mf.reshape %v19 {name = "feed_forward.reshape"} : (tensor<2x2x3xi32>) -> tensor<2x6xi32>
    %v21 = mf.cast %v20 {name = "feed_forward.cast"} : (tensor<2x6xi32>) -> tensor<2x6xf32>
    %descending = mf.scale %v21 {name = "feed_forward.sort", value = -1.0 : f64} : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %sorted, %v23 = mf.sort %descending {name = "feed_forward.sort"} : (tensor<2x6xf32>) -> (tensor<2x6xf32>, tensor<2x6xi32>)
    %v22 = mf.scale %sorted {name = "feed_forward.sort", value = -1.0 : f64} : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %v24 = mf.cast %v23 {name = "feed_forward.cast"} : (tensor<2x6xi32>) -> tensor<2x6xf32>
    %v25 = mf.remainder %v24 {name = "feed_forward.mod", value = 3.0 : f64} : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %v26 = mf.cast %v25 {name = "feed_forward.cast"} : (tensor<2x6xf32>) -> tensor<2x6xi32>
    %v27 = mf.gather_rows %v13, %v26 {name = "feed_forward.gather_sort"} : (tensor<2x3x4xf32>, tensor<2x6xi32>) -> tensor<2x6x4xf32>
    %v28 = mf.one_hot %v20 {name = "feed_forward.onehot"} : (tensor<2x6xi32>) -> tensor<2x6x3xf32>
    %v29 = mf.reduce_sum %v28 {axes = array<i64: 1>, name = "feed_forward.onehot"} : (tensor<2x6x3xf32>) -> tensor<2x3xf32>
    %v30, %v31 = mf.sort %v24 {name = "feed_forward.sort"} : (tensor<2x6xf32>) -> (tensor<2x6xf32>, tensor<2x6xi32>)
    %v32 = mf.reshape %v31 {name = "feed_forward.reshape"} : (tensor<2x6xi32>) -> tensor<2x2x3xi32>
    %v33 = mf.transpose %v32 {name = "feed_forward.transpose_unsort_map", perm = array<i64: 0, 2, 1>} : (tensor<2x2x3xi32>) -> tensor<2x3x2xi32>
    %v34 = mf.reshape %v33 {name = "feed_forward.reshape"} : (tensor<2x3x2xi32>) -> tensor<2x6xi32>
    %v35 = mf.cast %v27 {name = "feed_forward.ffn.cast"} : (tensor<2x6x4xf32>) -> tensor<2x6x4xbf16>
    %v36 = mf.reshape %v35 {name = "feed_forward.ffn.hook_ffn_forward"} : (tensor<2x6x4xbf16>) -> tensor<2x1x6x4xbf16>
    %v37 = mf.reshape %v22 {name = "feed_forward.ffn.hook_ffn_forward"} : (tensor<2x6xf32>) -> tensor<2x1x6xf32>
    %v38 = mf.reshape %v29 {name = "feed_forward.ffn.hook_ffn_forward"} : (tensor<2x3xf32>) -> tensor<2x1x3xf32>
    %v39, %v40 = mf.sort %v37 {name = "feed_forward.ffn.hook_ffn_forward"} : (tensor<2x1x6xf32>) -> (tensor<2x1x6xf32>, tensor<2x1x6xi32>)
    %v41 = mf.gather_rows %v36, %v40 {name = "feed_forward.ffn.hook_ffn_forward"} : (tensor<2x1x6x4xbf16>, tensor<2x1x6xi32>) -> tensor<2x1x6x4xbf16>
    %rows = mf.cast %v41 {name = "feed_forward.ffn.cast"} : (tensor<2x1x6x4xbf16>) -> tensor<2x1x6x4xf32>
    %v42 = mf.get_param @layers.0.feed_forward.ffn.w1 : tensor<3x4x8xf32>
    %v44 = mf.reshape %v42 {name = "feed_forward.ffn.hook_ffn_forward"} : (tensor<3x4x8xf32>) -> tensor<1x3x4x8xf32>
    %v45 = mf.get_param @layers.0.feed_forward.ffn.w2 : tensor<3x4x4xf32>
    %v47 = mf.reshape %v45 {name = "feed_forward.ffn.hook_ffn_forward"} : (tensor<3x4x4xf32>) -> tensor<1x3x4x4xf32>
    %v48 = mf.expert_matmul %rows, %v44, %v38 {name = "feed_forward.ffn.hook_ffn_forward"} : (tensor<2x1x6x4xf32>, tensor<1x3x4x8xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x8xf32>
    %v49 = mf.slice %v48 {name = "feed_forward.ffn.hook_ffn_forward", sizes = array<i64: 2, 1, 6, 4>, starts = array<i64: 0, 0, 0, 0>} : (tensor<2x1x6x8xf32>) -> tensor<2x1x6x4xf32>
    %v50 = mf.slice %v48 {name = "feed_forward.ffn.hook_ffn_forward", sizes = array<i64: 2, 1, 6, 4>, starts = array<i64: 0, 0, 0, 4>} : (tensor<2x1x6x8xf32>) -> tensor<2x1x6x4xf32>
    %v51 = mf.silu %v49 {name = "feed_forward.ffn.hook_ffn_forward"} : (tensor<2x1x6x4xf32>) -> tensor<2x1x6x4xf32>
    %v52 = mf.mul %v51, %v50 {name = "feed_forward.ffn.hook_ffn_forward"} : (tensor<2x1x6x4xf32>, tensor<2x1x6x4xf32>) -> tensor<2x1x6x4xf32>
    %v53 = mf.expert_matmul %v52, %v47, %v38 {name = "feed_forward.ffn.hook_ffn_forward"} : (tensor<2x1x6x4xf32>, tensor<1x3x4x4xf32>, tensor<2x1x3xf32>) -> tensor<2x1x6x4xf32>
    %made = mf.cast %v53 {name = "feed_forward.ffn.cast"} : (tensor<2x1x6x4xf32>) -> tensor<2x1x6x4xbf16>
    %v54 = mf.cast %v40 {name = "feed_forward.cast"} : (tensor<2x1x6xi32>) -> tensor<2x1x6xf32>
    %v55, %v56 = mf.sort %v54 {name = "feed_forward.ffn.hook_ffn_forward"} : (tensor<2x1x6xf32>) -> (tensor<2x1x6xf32>, tensor<2x1x6xi32>)
    %v57 = mf.gather_rows %made, %v56 {name = "feed_forward.ffn.hook_ffn_forward"} : (tensor<2x1x6x4xbf16>, tensor<2x1x6xi32>) -> tensor<2x1x6x4xbf16>
    %v58 = mf.reshape %v57 {name = "feed_forward.ffn.hook_ffn_forward"} : (tensor<2x1x6x4xbf16>) -> tensor<2x6x4xbf16>
    %v59 = mf.gather_rows %v58, %v34 {name = "feed_forward.gather_unsort"} : (tensor<2x6x4xbf16>, tensor<2x6xi32>) -> tensor<2x6x4xbf16>
    %v60 = mf.cast %v59 {name = "feed_forward.cast"} : (tensor<2x6x4xbf16>) -> tensor<2x6x4xf32>
    %v61 = mf.reshape %v60 {name = "feed_forward.reshape"} : (tensor<2x6x4xf32>) -> tensor<2x3x2x4xf32>
    %v62 = mf.reshape %v17 {name = "feed_forward.reshape"} : (tensor<2x3x2xf32>) -> tensor<2x3x2x1xf32>
    %v63 = mf.mul %v61, %v62 {name = "feed_forward.mul_router_coeff"} : (tensor<2x3x2x4xf32>, tensor<2x3x2x1xf32>) -> tensor<2x3x2x4xf32>
    %v64 = mf.reduce_sum %v63 {axes = array<i64: 2>, name = "feed_forward.sum_router_coeff"} : (tensor<2x3x2x4xf32>) -> tensor<2x3x4xf32>
    %v65 = mf.reshape %v64 {name = "feed_forward.reshape"} : (tensor<2x3x4xf32>) -> tensor<1x6x4xf32>
    %v66 = mf.add %x, %v65 {name = "add"} : (tensor<1x6x4xf32>, tensor<1x6x4xf32>) -> tensor<1x6x4xf32>
    mf.return %v66 : tensor<1x6x4xf32>
  }
  mf.layer @layers.1 body (%x: tensor<1x6x4xf32>) -> tensor<1x6x4xf32> {
    %v0 = mf.reshape %x {name = "feed_forward.reshape"} : (tensor<1x6x4xf32>) -> tensor<2x3x4xf32>
    %v1 = mf.get_param @layers.1.feed_forward.router.dense.weight : tensor<3x4xf32>
    %v2 = mf.matmul %v0, %v1 {name = "feed_forward.router.router.dense.matmul", transpose_b = true} : (tensor<2x3x4xf32>, tensor<3x4xf32>) -> tensor<2x3x3xf32>
    %v3 = mf.softmax %v2 {name = "feed_forward.router.router.gating_activation"} : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
    %v4, %v5 = mf.top_k %v3 {k = 2 : i64, name = "feed_forward.router.router.topk"} : (tensor<2x3x3xf32>) -> (tensor<2x3x2xf32>, tensor<2x3x2xi32>)
    %v6 = mf.transpose %v5 {name = "feed_forward.router.router.transpose_3d", perm = array<i64: 0, 2, 1>} : (tensor<2x3x2xi32>) -> tensor<2x2x3xi32>
    %v7 = mf.reshape %v6 {name = "feed_forward.router.router.reshape"} : (tensor<2x2x3xi32>) -> tensor<2x6xi32>
    %v8 = mf.one_hot %v7 {name = "feed_forward.router.router.onehot_2d"} : (tensor<2x6xi32>) -> tensor<2x6x3xf32>
    %v9 = mf.cumsum %v8 {axis = 1 : i64, name = "feed_forward.router.router.cumsum"} : (tensor<2x6x3xf32>) -> tensor<2x6x3xf32>
    %v10 = mf.mul %v9, %v8 {name = "feed_forward.router.router.mul_3d"} : (tensor<2x6x3xf32>, tensor<2x6x3xf32>) -> tensor<2x6x3xf32>
    %v11 = mf.compare_scalar %v10 {comparison = #mf.comparison<less>, value = 2.0 : f64, name = "feed_forward.router.router.less"} : (tensor<2x6x3xf32>) -> tensor<2x6x3xf32>
    %v12 = mf.mul %v10, %v11 {name = "feed_forward.router.router.mul_3d"} : (tensor<2x6x3xf32>, tensor<2x6x3xf32>) -> tensor<2x6x3xf32>
    %v13 = mf.reduce_sum %v12 {axes = array<i64: 2>, name = "feed_forward.router.router.reduce_sum"} : (tensor<2x6x3xf32>) -> tensor<2x6xf32>
    %v14 = mf.cast %v7 {name = "feed_forward.router.router.cast"} : (tensor<2x6xi32>) -> tensor<2x6xf32>
    %v15 = mf.scale %v14 {name = "feed_forward.router.router.mul_2d_1d", value = 2.0 : f64} : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %v16 = mf.add %v15, %v13 {name = "feed_forward.router.router.add_2d"} : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
    %v17 = mf.reshape %v13 {name = "feed_forward.router.router.reshape"} : (tensor<2x6xf32>) -> tensor<2x2x3xf32>
    %v18 = mf.transpose %v17 {name = "feed_forward.router.router.transpose_3d", perm = array<i64: 0, 2, 1>} : (tensor<2x2x3xf32>) -> tensor<2x3x2xf32>
    %v19 = mf.compare_scalar %v18 {comparison = #mf.comparison<greater>, value = 0.0 : f64, name = "feed_forward.router.router.gt"} : (tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
    %v20 = mf.reshape %v16 {name = "feed_forward.router.router.reshape"} : (tensor<2x6xf32>) -> tensor<2x2x3xf32>
    %v21 = mf.transpose %v20 {name = "feed_forward.router.router.transpose_3d", perm = array<i64: 0, 2, 1>} : (tensor<2x2x3xf32>) -> tensor<2x3x2xf32>
    %v22 = mf.cast %v21 {name = "feed_forward.router.router.cast"} : (tensor<2x3x2xf32>) -> tensor<2x3x2xi32>
    %v23 = mf.reshape %v22 {name = "feed_forward.router.router.reshape"} : (tensor<2x3x2xi32>) -> tensor<2x6xi32>
    %v24 = mf.transpose %v8 {name = "feed_forward.router.router.transpose_3d", perm = array<i64: 0, 2, 1>} : (tensor<2x6x3xf32>) -> tensor<2x3x6xf32>
    %v25 = mf.compare_scalar %v13 {comparison = #mf.comparison<at_least>, value = 0.0 : f64, name = "feed_forward.router.router.slice_range"} : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %v26 = mf.cumsum %v25 {axis = 1 : i64, name = "feed_forward.router.router.slice_range"} : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %v27 = mf.add_scalar %v26 {name = "feed_forward.router.router.slice_range", value = -1.0 : f64} : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %v28 = mf.reshape %v27 {name = "feed_forward.router.router.reshape"} : (tensor<2x6xf32>) -> tensor<2x1x6xf32>
    %v29 = mf.add_scalar %v28 {name = "feed_forward.router.router.add_range", value = 12.0 : f64} : (tensor<2x1x6xf32>) -> tensor<2x1x6xf32>
    %v30 = mf.compare_scalar %v24 {comparison = #mf.comparison<less>, value = 1.0 : f64, name = "feed_forward.router.router.sub_range"} : (tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
    %v31 = mf.mul %v24, %v28 {name = "feed_forward.router.router.mul_range"} : (tensor<2x3x6xf32>, tensor<2x1x6xf32>) -> tensor<2x3x6xf32>
    %v32 = mf.mul %v30, %v29 {name = "feed_forward.router.router.mul_range"} : (tensor<2x3x6xf32>, tensor<2x1x6xf32>) -> tensor<2x3x6xf32>
    %v33 = mf.add %v31, %v32 {name = "feed_forward.router.router.add_3d"} : (tensor<2x3x6xf32>, tensor<2x3x6xf32>) -> tensor<2x3x6xf32>
    %v34, %v35 = mf.sort %v33 {name = "feed_forward.router.router.sort_range"} : (tensor<2x3x6xf32>) -> (tensor<2x3x6xf32>, tensor<2x3x6xi32>)
    %v36 = mf.slice %v34 {name = "feed_forward.router.router.slice", sizes = array<i64: 2, 3, 1>, starts = array<i64: 0, 0, 0>} : (tensor<2x3x6xf32>) -> tensor<2x3x1xf32>
    %v37 = mf.compare_scalar %v36 {comparison = #mf.comparison<less>, value = 12.0 : f64, name = "feed_forward.router.router.less"} : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
    %v38 = mf.remainder %v36 {name = "feed_forward.router.router.mod", value = 3.0 : f64} : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
    %v39 = mf.add_scalar %v38 {name = "feed_forward.router.router.add_one", value = 1.0 : f64} : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
    %v40 = mf.mul %v39, %v37 {name = "feed_forward.router.router.mul_3d"} : (tensor<2x3x1xf32>, tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
    %v41 = mf.cast %v40 {name = "feed_forward.router.router.cast"} : (tensor<2x3x1xf32>) -> tensor<2x3x1xi32>
    %v42 = mf.reshape %v41 {name = "feed_forward.router.router.reshape"} : (tensor<2x3x1xi32>) -> tensor<2x3xi32>
    %v43 = mf.mul %v4, %v19 {name = "feed_forward.router.router.mul_3d"} : (tensor<2x3x2xf32>, tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
    %v44 = mf.pad %v0 {high = array<i64: 0, 0, 0>, low = array<i64: 0, 1, 0>, name = "feed_forward.router.router.concat_3d"} : (tensor<2x3x4xf32>) -> tensor<2x4x4xf32>
    %v45 = mf.gather_rows %v44, %v42 {name = "feed_forward.router.router.dispatch_gather"} : (tensor<2x4x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32>
    %v46 = mf.reshape %v45 {name = "feed_forward.reshape"} : (tensor<2x3x4xf32>) -> tensor<2x3x1x4xf32>
    %v47 = mf.transpose %v46 {name = "feed_forward.transpose_mp1", perm = array<i64: 1, 0, 2, 3>} : (tensor<2x3x1x4xf32>) -> tensor<3x2x1x4xf32>
    %v48 = mf.reshape %v47 {name = "feed_forward.reshape"} : (tensor<3x2x1x4xf32>) -> tensor<3x2x4xf32>
    %v49 = mf.get_param @layers.1.feed_forward.ffn.w1.weight : tensor<3x4x4xf32>
    %v50 = mf.matmul %v48, %v49 {name = "feed_forward.ffn.w1.matmul", transpose_b = true} : (tensor<3x2x4xf32>, tensor<3x4x4xf32>) -> tensor<3x2x4xf32>
    %v51 = mf.silu %v50 {name = "feed_forward.ffn.w1.activation.silu"} : (tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
    %v52 = mf.get_param @layers.1.feed_forward.ffn.w3.weight : tensor<3x4x4xf32>
    %v53 = mf.matmul %v48, %v52 {name = "feed_forward.ffn.w3.matmul", transpose_b = true} : (tensor<3x2x4xf32>, tensor<3x4x4xf32>) -> tensor<3x2x4xf32>
    %v54 = mf.mul %v51, %v53 {name = "feed_forward.ffn.mul"} : (tensor<3x2x4xf32>, tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
    %v55 = mf.get_param @layers.1.feed_forward.ffn.w2.weight : tensor<3x4x4xf32>
    %v56 = mf.matmul %v54, %v55 {name = "feed_forward.ffn.w2.matmul", transpose_b = true} : (tensor<3x2x4xf32>, tensor<3x4x4xf32>) -> tensor<3x2x4xf32>
    %v57 = mf.reshape %v56 {name = "feed_forward.reshape"} : (tensor<3x2x4xf32>) -> tensor<3x2x1x4xf32>
    %v58 = mf.transpose %v57 {name = "feed_forward.transpose_mp2", perm = array<i64: 1, 0, 2, 3>} : (tensor<3x2x1x4xf32>) -> tensor<2x3x1x4xf32>
    %v59 = mf.pad %v58 {high = array<i64: 0, 0, 0, 0>, low = array<i64: 0, 0, 1, 0>, name = "feed_forward.router.router.concat"} : (tensor<2x3x1x4xf32>) -> tensor<2x3x2x4xf32>
    %v60 = mf.reshape %v59 {name = "feed_forward.reshape"} : (tensor<2x3x2x4xf32>) -> tensor<2x6x4xf32>
    %v61 = mf.gather_rows %v60, %v23 {name = "feed_forward.router.router.combine_gather"} : (tensor<2x6x4xf32>, tensor<2x6xi32>) -> tensor<2x6x4xf32>
    %v62 = mf.reshape %v61 {name = "feed_forward.router.router.reshape"} : (tensor<2x6x4xf32>) -> tensor<2x3x2x4xf32>
    %v63 = mf.reshape %v43 {name = "feed_forward.router.router.reshape"} : (tensor<2x3x2xf32>) -> tensor<2x3x2x1xf32>
    %v64 = mf.mul %v62, %v63 {name = "feed_forward.router.router.mul_router_coeff"} : (tensor<2x3x2x4xf32>, tensor<2x3x2x1xf32>) -> tensor<2x3x2x4xf32>
    %v65 = mf.reduce_sum %v64 {axes = array<i64: 2>, name = "feed_forward.router.router.sum_router_coeff"} : (tensor<2x3x2x4xf32>) -> tensor<2x3x4xf32>
    %v66 = mf.reshape %v65 {name = "feed_forward.router.router.reshape"} : (tensor<2x3x4xf32>) -> tensor<1x6x4xf32>
    %v67 = mf.add %x, %v66 {name = "add"} : (tensor<1x6x4xf32>, tensor<1x6x4xf32>) -> tensor<1x6x4xf32>
    mf.return %v67 : tensor<1x6x4xf32>
  }
  mf.layer @lm_head head (%x: tensor<1x6x4xf32>, %labels: tensor<6xi32>) -> tensor<f32> {
    %w = mf.get_param @lm_head.weight : tensor<16x4xf32>
    %l = mf.matmul %x, %w {name = "matmul", transpose_b = true} : (tensor<1x6x4xf32>, tensor<16x4xf32>) -> tensor<1x6x16xf32>
    %logits = mf.reshape %l {name = "reshape"} : (tensor<1x6x16xf32>) -> tensor<6x16xf32>
    %loss, %logsumexp, %count = mf.cross_entropy %logits, %labels {name = "loss"} : (tensor<6x16xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>, tensor<f32>)
    mf.return %loss : tensor<f32>
  }
}
