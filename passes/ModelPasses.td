//===- ModelPasses.td - Configuration, adapters and fusions *- tablegen -*-===//

#ifndef MF_PASSES_MODELPASSES_TD
#define MF_PASSES_MODELPASSES_TD

include "mlir/Pass/PassBase.td"

def ReadConfig : Pass<"mf-read-config", "::mlir::ModuleOp"> {
  let summary = "Read a training YAML into a typed attribute of the model";
  let description = [{
    Reads `file`, an unmodified MindSpore Transformers YAML or one with only
    some of its sections, and sets the model's `training` attribute; what the
    file does not say takes MindSpore Transformers' default. Errors and warnings
    name file, line and column. A parallel_config of several ranks gives the
    module their mesh, whose axes come in factors where expert_parallel ends
    within one; `ep` in the model's cuts and attributes becomes these axes. The
    dynamic graph's file also gives each parameter `mf.sharing`: the axes whose
    ranks share it out, and whether backward gathers it again.

    ```mlir
    mf.model @two_layers attributes {micro_batch_size = 1 : i64, ...} { ... }
    // becomes
    mf.model @two_layers attributes {micro_batch_size = 1 : i64, ...,
        training = #mf.training<
        parallel = <stages = 2, interleave = 1, micro_batches = 2, ...>,
        recompute = <recompute = false, select = true, ...>, ...>, ...} { ... }
    ```
  }];
  let options = [
    Option<"file", "file", "std::string", /*default=*/"",
           "YAML file to read; `-` is standard input">,
    Option<"gradientAccumulationSteps", "gradient-accumulation-steps",
           "int64_t", /*default=*/"0",
           "replaces runner_config.gradient_accumulation_steps; 0 keeps it">,
    Option<"schedule", "schedule", "std::string", /*default=*/"",
           "replaces the schedule that pipeline_scheduler asks for, by its name "
           "in mf/Pipeline/Policy.h; empty keeps it">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def InsertAdapters : Pass<"mf-insert-adapters", "::mf::ir::ModelOp"> {
  let summary = "Give linear layers low-rank adapters and freeze the rest";
  let description = [{
    Where the model's `lora` asks for it, the linear layers that its target
    matches get a low-rank path (Hu et al., 2022), under MindSpore Transformers'
    names and with its initial values: A uniform between -1/sqrt(in) and
    1/sqrt(in), B zero. All other weights become `untrained`, but for those that
    the freeze lists keep. `lora` is then `inserted`, and the pass changes
    nothing more.

    Names are matched as MindSpore Transformers does, Cell by Cell from the
    backbone on and each from its start; a Cell that matches and is no linear
    layer is not looked into, and the head never gets adapters. A target that
    matches nothing is an error that names near layers. Where the adapters have
    a `compute_type` of their own, the whole linear layer is computed in it.

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
           "print which layers get adapters, what is trained, and how many "
           "elements that is, on standard error">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

class FusionPass<string argument> : Pass<argument, "::mf::ir::ModelOp"> {
  let options = [
    Option<"printPlan", "print-plan", "bool", /*default=*/"false",
           "print what becomes one operator, and what stays, on standard error">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def FuseRotary : FusionPass<"mf-fuse-rotary"> {
  let summary = "Make rotary embedding one operator";
  let description = [{
    Slices of both halves, the negation of one, their concatenation and two
    products with tables and their sum become a `mf.rotary_position_embedding`,
    named `rope` in the Cell of the sum, where `use_fused_rope` or
    `apply_rope_fusion` asks for it. Conversions around it stay. In fp32 the
    result and its gradient have the same bits. Neither form keeps anything for
    backward but its tables; one operator in place of seven moves fewer bytes.

    Here as in the other fusions, a model without `training` is fused whatever
    there is, and a key that asks for what no layer has is a warning.

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
    What `chunk_loss_num` of the model asks for: logits stay whole in the compute
    type; of their n pieces of S // n tokens each, the last with the rest, one
    after the other becomes fp32, and the losses of the pieces, each divided by
    what counts in the whole sequence, are added in their order. Backward makes
    the fp32 logits of a piece again and puts the gradients of all together. So
    there are never fp32 logits of more than a piece. A sequence of fewer tokens
    has as many pieces. The losses of other depths are cut too.

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
           "pieces of the sequence; 0 for what the model's attribute says">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def FuseSwiGlu : FusionPass<"mf-fuse-swiglu"> {
  let summary = "Make SiLU and its product one operator";
  let description = [{
    silu(gate) * up becomes a `mf.swiglu` where `use_fused_swiglu` or
    `bias_swiglu_fusion` asks for it. It takes gate and up as one value:

    - of two products the `w13_concat` of both, each with a dimension more
      (`expand_dims`);
    - where both are halves of one product, a view of it; where they alternate,
      its transpose.

    Backward then needs that value, and no longer gate, up projection and
    silu(gate) each: two thirds of the bytes. In fp32 all has the same bits.

    Halves of an expert's one weight always become one operator, as MindSpore
    Transformers has no other form of them. In classic layer classes dense layers
    beside layers with experts stay as they are.

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
    `mf.expert_matmul` becomes `mf.grouped_matmul`, and so do its two gradients,
    which are made of it. The kernel computes all of a rank's experts together and
    not one after another, with the same bits. It is done unless the YAML says
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
    Where `use_fused_ops_permute` or `moe_permute_fusion` asks for it, an
    `mf.sort` of ids with an `mf.gather_rows` by its indices becomes an
    `mf.token_permute`, and what puts the rows back, a sort of these indices and
    a gather by that one's, an `mf.token_unpermute`. Both work in bf16, so other
    types are converted on the way: with fp32 the result differs. Backward needs
    one array of places in place of two. A sort whose indices something else
    reads stays, as the one of all choices in front of the exchange does.

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
    Where `use_fused_ops_topkrouter` asks for it, what gives the choices of
    tokens places in experts of limited capacity, two dozen operators on tensors
    [rows, choices, experts], becomes an `mf.top_k_router`. Which choices have a
    place follows from its second result. These are integers, and the same.

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

#endif // MF_PASSES_MODELPASSES_TD
