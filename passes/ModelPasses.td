//===- ModelPasses.td - Configuration, adapters and fusions *- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_MODELPASSES_TD
#define MF_PASSES_MODELPASSES_TD

include "mlir/Pass/PassBase.td"

def ReadConfig : Pass<"mf-read-config", "::mlir::ModuleOp"> {
  let summary = "Read a training YAML into attributes of the model and its layers";
  let description = [{
    Reads `file`, an unmodified MindSpore Transformers YAML or one with only
    some of its sections, and sets the model's `training` attribute and the
    `settings` of its body layers. Missing keys have MindSpore Transformers'
    defaults. Errors and warnings state file, line
    and column. If parallel_config has several ranks, the module gets their mesh.
    An axis is represented by several factors if the ranks of expert_parallel end
    within it, and these axes replace `ep` in the model's cuts and attributes.
    The dynamic graph's file also gives each parameter the attribute `mf.sharing`:
    the axes whose ranks shard the parameter, and whether backward gathers it
    again.

    ```mlir
    mf.layer @layers.1 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> { ... }
    // becomes
    mf.layer @layers.1 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> attributes {settings =
        #mf.layer_settings<number = 1, ..., requests = [select_recompute "feed_forward\\.mul" unnamed ...]>} { ... }
    ```
  }];
  let options = [
    Option<"file", "file", "std::string", /*default=*/"",
           "YAML file to read; `-` is standard input">,
    Option<"gradientAccumulationSteps", "gradient-accumulation-steps",
           "int64_t", /*default=*/"0",
           "replaces runner_config.gradient_accumulation_steps; 0 keeps it">,
    Option<"schedule", "schedule", "std::string", /*default=*/"",
           "the name in mf/Pipeline/Policy.h of a schedule that replaces that of "
           "pipeline_scheduler; empty keeps it">,
    Option<"quiet", "quiet", "bool", /*default=*/"true",
           "do not print `INFO` lines about the settings of all layers on "
           "standard error">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def InsertAdapters : Pass<"mf-insert-adapters", "::mf::ir::ModelOp"> {
  let summary = "Give linear layers low-rank adapters and freeze the rest";
  let description = [{
    The linear layers that the target of the model's `lora` matches get a
    low-rank path (Hu et al., 2022) with the names and initial values that `lora`
    gives. Weights become `untrained`, except those that the freeze lists keep. An
    `untrained` weight of which ranks would keep a narrower copy (`mf.kept`) has
    the narrower type itself. Then the pass sets `inserted` in `lora`, so that a
    second run changes nothing.

    Names are matched as in MindSpore Transformers, Cell by Cell from the
    backbone on, each from its start, or with `matches_paths` anywhere in the
    path. Without it, Cells inside of a Cell that matches but is no linear layer
    are not searched. A head beside the backbone never gets adapters. A target
    that matches nothing is an error that suggests similar layers. With
    `matches_paths` the products of routed experts get low-rank paths of each
    expert. If the adapters have their own `compute_type`, the whole linear layer
    is computed in it.

    ```mlir
    mf.param @model.layers.0.w1.weight : tensor<8x6xf32> init <normal, value = 2.000000e-02>
    ...
    %y = mf.matmul %x, %w {name = "w1.matmul", transpose_b = true} : (tensor<1x4x6xf32>, tensor<8x6xf32>) -> tensor<1x4x8xf32>
    // becomes, for rank 2, alpha 8 and no dropout,
    mf.param @model.layers.0.w1.weight : tensor<8x6xf32> init <normal, value = 2.000000e-02> {untrained}
    mf.param @model.layers.0.w1.mindpet_delta_lora_a : tensor<2x6xf32> init <uniform, value = 0.40824829046386307>
    mf.param @model.layers.0.w1.mindpet_delta_lora_b : tensor<8x2xf32> init <zeros>
    ...
    %y = mf.matmul %x, %w {name = "w1.matmul", transpose_b = true} : ...
    %a = mf.get_param @model.layers.0.w1.mindpet_delta_lora_a : tensor<2x6xf32>
    %u = mf.matmul %x, %a {name = "w1.lora_a_matmul", transpose_b = true} : ...
    %b = mf.get_param @model.layers.0.w1.mindpet_delta_lora_b : tensor<8x2xf32>
    %v = mf.matmul %u, %b {name = "w1.lora_b_matmul", transpose_b = true} : ...
    %z = mf.scale %v {name = "w1.mul", value = 4.000000e+00 : f64} : ...
    %s = mf.add %y, %z {name = "w1.add"} : ...
    ```
  }];
  let options = [
    Option<"printPlan", "print-plan", "bool", /*default=*/"false",
           "print on standard error which layers get adapters, which weights are "
           "trained, and their numbers of elements">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

class FusionPass<string argument> : Pass<argument, "::mf::ir::ModelOp"> {
  let options = [
    Option<"printPlan", "print-plan", "bool", /*default=*/"false",
           "print on standard error which operators are fused, and which are not">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def FuseRotary : FusionPass<"mf-fuse-rotary"> {
  let summary = "Make rotary embedding one operator";
  let description = [{
    Rotary embedding in seven operators (slices of both halves, the negation of
    one, their concatenation, two products with tables and their sum) becomes one
    `mf.rotary_position_embedding`, named `rope` in the Cell of the sum, if
    `use_fused_rope` or `apply_rope_fusion` is True. Conversions around it stay.
    In fp32 the result and its gradient have the same bits. Both forms keep only
    their tables for backward. One operator moves fewer bytes than seven.

    All fusions are applied to a model without `training`. For a model with
    `training`, a key that selects a fusion for which no layer has operators is a
    warning.

    ```mlir
    %a = mf.slice %x {name = "attention.apply_rotary_emb.slice", sizes = array<i64: 1, 2, 4, 2>, starts = array<i64: 0, 0, 0, 0>} : ...
    %b = mf.slice %x {name = "attention.apply_rotary_emb.slice", sizes = array<i64: 1, 2, 4, 2>, starts = array<i64: 0, 0, 0, 2>} : ...
    %n = mf.neg %b {name = "attention.apply_rotary_emb.neg"} : ...
    %r = mf.concat %n, %a {axis = 3 : i64, name = "attention.apply_rotary_emb.concat"} : ...
    %c = mf.mul %x, %cos {name = "attention.apply_rotary_emb.mul"} : ...
    %s = mf.mul %r, %sin {name = "attention.apply_rotary_emb.mul"} : ...
    %y = mf.add %c, %s {name = "attention.apply_rotary_emb.add"} : ...
    // becomes
    %y = mf.rotary_position_embedding %x, %cos, %sin {name = "attention.apply_rotary_emb.rope"} : ...
    ```
  }];
}

def ChunkLoss : Pass<"mf-chunk-loss", "::mf::ir::ModelOp"> {
  let summary = "Compute the loss by pieces of the sequence";
  let description = [{
    Splits the loss along the sequence, as `chunk_loss_num` of the model requests.
    The logits stay whole in the compute type. They are split into n pieces of
    S // n tokens each, where the last piece has the remainder. One piece after
    the other is converted to fp32. The losses of the pieces, each divided by the
    number of tokens that count in the whole sequence, are added in order.
    Backward computes the fp32 logits of a piece again and concatenates the
    gradients of all pieces. Therefore never more than one piece of logits is in
    memory in fp32. A sequence with fewer than n tokens has one piece per token.
    The losses of multi-token prediction are split too.

    ```mlir
    %f = mf.cast %l {name = "cast"} : (tensor<1x6x8xbf16>) -> tensor<1x6x8xf32>
    %r = mf.reshape %f {name = "reshape"} : (tensor<1x6x8xf32>) -> tensor<6x8xf32>
    %loss, %logsumexp, %count = mf.cross_entropy %r, %y {name = "loss"} : (tensor<6x8xf32>, tensor<6xi32>) -> (tensor<f32>, tensor<6xf32>, tensor<f32>)
    // becomes, for chunks=2
    %s:2 = mf.split %l {axis = 1 : i64, name = "loss.split"} : (tensor<1x6x8xbf16>) -> (tensor<1x3x8xbf16>, tensor<1x3x8xbf16>)
    %f0 = mf.cast %s#0 {name = "loss.cast", recompute = #mf.recompute<preset>} : (tensor<1x3x8xbf16>) -> tensor<1x3x8xf32>
    ...
    %loss0, %logsumexp0, %count0 = mf.cross_entropy %r0, %y0 of %y {name = "loss"} : (tensor<3x8xf32>, tensor<3xi32>, tensor<6xi32>) -> (tensor<f32>, tensor<3xf32>, tensor<f32>)
    ...
    %loss = mf.add %loss0, %loss1 {name = "loss.add"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
    ```
  }];
  let options = [
    Option<"chunks", "chunks", "int64_t", /*default=*/"0",
           "number of pieces of the sequence; 0 takes that of the model's attribute">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def FuseSwiGlu : FusionPass<"mf-fuse-swiglu"> {
  let summary = "Make SiLU and its product one operator";
  let description = [{
    silu(gate) * up becomes an `mf.swiglu` if `use_fused_swiglu` or
    `bias_swiglu_fusion` is True. Its operand holds gate and up:

    - if they are two products, `w13_concat` of both, each with an additional
      dimension (`expand_dims`);
    - if they are halves of one product, a view of the product; if they
      alternate in it, its transpose.

    Backward then needs this operand instead of gate, up projection and
    silu(gate): two thirds of the bytes. In fp32 all results have the same bits.

    Halves of the one weight of an expert always become one operator, because
    MindSpore Transformers has no other form. In classic layer classes, dense
    layers of a model that also has layers with experts are not fused.

    ```mlir
    %a = mf.silu %g {name = "feed_forward.w1.activation.silu"} : ...
    %y = mf.mul %a, %u {name = "feed_forward.mul"} : ...
    // becomes
    %g1 = mf.reshape %g {name = "feed_forward.expand_dims"} : (tensor<1x4x6xf32>) -> tensor<1x4x1x6xf32>
    %u1 = mf.reshape %u {name = "feed_forward.expand_dims"} : (tensor<1x4x6xf32>) -> tensor<1x4x1x6xf32>
    %gu = mf.concat %g1, %u1 {axis = 2 : i64, name = "feed_forward.w13_concat"} : ...
    %y = mf.swiglu %gu {name = "feed_forward.swiglu"} : (tensor<1x4x2x6xf32>) -> tensor<1x4x6xf32>
    ```
  }];
}

def GroupMatmuls : FusionPass<"mf-group-matmuls"> {
  let summary = "Make the products of all experts one kernel";
  let description = [{
    `mf.expert_matmul` becomes `mf.grouped_matmul`, and so do its two gradients.
    The kernel computes all experts of a rank together instead of one after
    another, with the same bits. The pass changes nothing if the YAML has
    `use_gmm: False` or `moe_grouped_gemm: False`.

    ```mlir
    %y = mf.expert_matmul %x, %w, %counts {name = "ffn.hook_ffn_forward"} : ...
    // becomes
    %y = mf.grouped_matmul %x, %w, %counts {name = "ffn.hook_ffn_forward"} : ...
    ```
  }];
}

def FuseTokenPermute : FusionPass<"mf-fuse-token-permute"> {
  let summary = "Make sorting tokens by expert one operator";
  let description = [{
    If `use_fused_ops_permute` or `moe_permute_fusion` is True, an `mf.sort` of
    expert ids with an `mf.gather_rows` by its indices becomes an
    `mf.token_permute`. The operators that restore the order of rows, a sort of
    these indices and a gather by the indices of that sort, become an
    `mf.token_unpermute`. Both operators compute in bf16, and other types are
    converted, so that results in fp32 differ. Backward needs one array of places
    instead of two. A sort whose indices have other readers is not fused, such as
    the sort of all choices before the exchange.

    ```mlir
    %ids_sorted, %order = mf.sort %ids {name = "ffn.hook_ffn_forward"} : ...
    %y = mf.gather_rows %x, %order {name = "ffn.hook_ffn_forward"} : ...
    ...
    %keys = mf.cast %order {name = "cast"} : ...
    %keys_sorted, %places = mf.sort %keys {name = "ffn.hook_ffn_forward"} : ...
    %w = mf.gather_rows %z, %places {name = "ffn.hook_ffn_forward"} : ...
    // becomes
    %y, %places = mf.token_permute %x, %ids {name = "ffn.hook_ffn_forward"} : ...
    ...
    %w = mf.token_unpermute %z, %places {name = "ffn.hook_ffn_forward"} : ...
    ```
  }];
}

def FuseTopKRouter : FusionPass<"mf-fuse-top-k-router"> {
  let summary = "Make the places of tokens in their experts one operator";
  let description = [{
    If `use_fused_ops_topkrouter` is True, the operators that give the choices of
    tokens places in experts of limited capacity become an `mf.top_k_router`. They
    are about 24 operators on tensors [rows, choices, experts]. Its second result
    also tells which choices have a place. All of these are integers, so that
    results are equal.

    ```mlir
    %mask = mf.one_hot %flat {name = "feed_forward.router.router.onehot_2d"} : ...
    %sums = mf.cumsum %mask {axis = 1 : i64, name = "feed_forward.router.router.cumsum"} : ...
    // becomes
    %dispatch, %combine = mf.top_k_router %chosen {k_major = true, name = "feed_forward.router.router.topkrouter"} : ...
    ...
    %kept = mf.compare_scalar %place {comparison = #mf.comparison<not_equal>, name = "feed_forward.router.router.not_equal", value = 0.000000e+00 : f64} : ...
    ```
  }];
}

def FuseHyperConnections : FusionPass<"mf-fuse-hyper-connections"> {
  let summary = "Make the two parts of a site of residual streams one operator each";
  let description = [{
    If `use_fused_mhc` is True, the operators around attention or a feed forward that
    read and mix several residual streams (about 30, in fp32) become an `mf.mhc_pre`,
    named `mhc_pre` in the Cell of the norm, and an `mf.mhc_post`, named `mhc_post` in
    the Cell of the matrix product that mixes the streams. The norm's weight is
    multiplied into that of the projection.

    Backward then needs the streams in their own type, and small tensors, instead of
    the streams and the normalised streams in fp32. Sums have another order, so that
    results in fp32 differ by rounding.

    ```mlir
    %wide = mf.cast %x {name = "attn_hc.cast"} : (tensor<1x4x8xbf16>) -> tensor<1x4x8xf32>
    ...
    %n, %rstd = mf.rms_norm %wide, %gamma {epsilon = 1.250000e-01 : f64, name = "attn_hc.norm"} : ...
    ...
    %h = mf.matmul %n, %w {name = "attn_hc.mapping_proj.matmul", transpose_b = true} : ...
    ...
    // becomes
    %w1 = mf.mul %w, %gamma {name = "attn_hc.mul"} : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
    %factors = mf.concat %pre, %post, %res {axis = 0 : i64, name = "attn_hc.cat"} : ...
    %y, %shares, %mixing, %reads, %projected, %rstd1, %sums, %matrices = mf.mhc_pre %x, %w1, %factors, %bias {count = 2 : i64, epsilon = 1.250000e-01 : f64, iterations = 3 : i64, least = 1.250000e-01 : f64, name = "attn_hc.mhc_pre"} : ...
    ...
    %z = mf.mhc_post %x, %mixing, %result, %shares {name = "attn_hc.output_cell.mhc_post"} : ...
    ```
  }];
}

#endif // MF_PASSES_MODELPASSES_TD
