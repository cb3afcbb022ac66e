//===- Passes.td - All passes, in pipeline order ---------------*- tablegen -*-===//
//
// Examples are excerpts of the passes' output for examples/two_layers.mlir;
// test/docs/check_definitions.py says how they are written and checks them.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_TD
#define MF_PASSES_TD

include "mlir/Pass/PassBase.td"

def ReadConfig : Pass<"mf-read-config", "::mlir::ModuleOp"> {
  let summary = "Read a training YAML into a typed attribute of the model";
  let description = [{
    Reads `file`, an unmodified MindSpore Transformers YAML or one with only
    some of its sections, and sets the model's `training` attribute; what the
    file does not say takes MindSpore Transformers' default. Errors and warnings
    name file, line and column. A parallel_config of several ranks gives the
    module their mesh, whose axes come in factors where expert_parallel ends
    within one; `ep` in the model's cuts and attributes becomes these axes.

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

def Partition : Pass<"mf-partition", "::mf::ir::ModelOp"> {
  let summary = "Place layers on pipeline stages and chunks";
  let description = [{
    Gives every layer a `placement`, which all later passes go by. Body layers
    are dealt as MindSpore Transformers does from pipeline_stage, offset and
    pp_interleave_num, chunk by chunk; a chunk visits the stages in the order
    that the policy of the schedule wants (`scheduler` of `#mf.parallel`). The
    embedding is on the stage visited first; norm, head and loss are on the one
    visited last.

    ```mlir
    mf.layer @layers.1 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> { ... }
    // becomes, with two stages of one layer each,
    mf.layer @layers.1 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
        attributes {placement = #mf.placement<stage = 1, chunk = 0>} { ... }
    ```
  }];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def SplitSequence : Pass<"mf-split-sequence", "::mf::ir::ModelOp"> {
  let summary = "Make of each layer one for every piece of the sequence";
  let description = [{
    Where a micro-batch runs in `sequence_pieces` pieces of its sequence, a layer
    becomes as many, each for tokens of its own: what is cut follows from the
    operators' rules (`ShardingRuleOpInterface`), of tables and step inputs
    pieces take their parts. What causal attention reads of the tokens before
    its own, keys and values, a layer returns behind its results, and those of
    later pieces take it and put it in front of their own. Losses divide by the
    number of tokens of the whole. An operator that reads the whole sequence at
    once is an error.

    ```mlir
    mf.layer @layers.0 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
        attributes {placement = #mf.placement<stage = 0, chunk = 0>} { ... }
    // becomes, in two pieces,
    mf.layer @layers.0 body (%x: tensor<1x2x8xf32>)
        -> (tensor<1x2x8xf32>, tensor<1x2x2x4xf32>)
        attributes {future = 1 : i64, placement = #mf.placement<stage = 0, chunk = 0>} { ... }
    ...
    mf.layer @layers.0.piece1 body (%x: tensor<1x2x8xf32>, %keys: tensor<1x2x2x4xf32>)
        -> tensor<1x2x8xf32>
        attributes {past = 1 : i64, placement = #mf.placement<stage = 0, chunk = 0, piece = 1>} { ... }
    ```
  }];
  let options = [
    Option<"printPlan", "print-plan", "bool", /*default=*/"false",
           "print what operators read of other pieces, and of what they take "
           "their part, on standard error">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def InterleaveRows : Pass<"mf-interleave-rows", "::mf::ir::ModelOp"> {
  let summary = "Run norms and projections of layers block by block of rows";
  let description = [{
    With `row_blocks` above 1 (fine_grain_interleave), body layers hand on as
    many values, each a block of the rows of every sequence, and what works on
    each row by itself runs once per block; what mixes rows, as attention does,
    gets all of them together. The first layer takes whole rows and the last one
    gives them. So each collective becomes as many smaller ones, and those of one
    block can run beside the products of another. Values stay as they are, but
    gradients of weights are sums over blocks.

    Which operators these are, their rules say (`ShardingRuleOpInterface`): in
    front of what mixes rows all up to the last that reads a weight, behind it
    all from the first that does. Context-parallel ranks have rows of each block.
    A mark stays on each copy.

    ```mlir
    %n, %r = mf.rms_norm %x, %g {..., name = "ffn_norm.norm"} : ...
    %h = mf.matmul %n, %w {name = "feed_forward.w1.matmul"} : ...
    // becomes, for two blocks,
    %n0, %r0 = mf.rms_norm %x0, %g {..., name = "ffn_norm.norm"} : ...
    %h0 = mf.matmul %n0, %w {name = "feed_forward.w1.matmul"} : ...
    %n1, %r1 = mf.rms_norm %x1, %g {..., name = "ffn_norm.norm"} : ...
    %h1 = mf.matmul %n1, %w {name = "feed_forward.w1.matmul"} : ...
    ```
  }];
  let options = [
    Option<"printPlan", "print-plan", "bool", /*default=*/"false",
           "print which operators run by blocks on standard error">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def PropagateLayouts : Pass<"mf-propagate-layouts", "::mf::ir::ModelOp"> {
  let summary = "Decide how each tensor lies on the ranks of the mesh";
  let description = [{
    Gives all tensors of layers an `#mf.layout`, and puts `mf.reshard` where a
    value must lie otherwise for its reader. Parameters lie as their `cuts` say,
    the residual stream is cut over dp and cp, with `sequence_parallel` between
    body layers over mp too; operators say by their rules
    (`ShardingRuleOpInterface`) what follows. A sum that is cut becomes whole, or
    cut like the stream, right behind the operator. Where an operator needs all
    of a dimension, ranks exchange its parts for parts of one further out, if
    that divides, and gather it only if not. So tokens move with an all-to-all
    to the ranks of their experts, whose weights stay where they are; sums over
    parts of an expert go back as the tokens came. What does not divide is an
    error that names the dimension, the axis and the key of the YAML. A model on
    a mesh of stages alone, or with collectives of its own, stays as it is.

    A remark says of each change of layout the bytes that a rank has of the
    tensor before or after it, whichever is more.

    ```mlir
    %y = mf.matmul %x, %w {name = "attention.wo.matmul", transpose_b = true} : ...
    // becomes, with the weight cut by columns,
    %y = mf.matmul %x, %w {name = "attention.wo.matmul", transpose_b = true}
        : ... -> tensor<1x4x8xf32, #mf.layout<[[], [], []], partial = [mp]>>
    %z = mf.reshard %y {name = "attention.wo.matmul"}
        : tensor<1x4x8xf32, #mf.layout<[[], [], []], partial = [mp]>>
        -> tensor<1x4x8xf32, #mf.layout<[[], [], []]>>
    ```
  }];
  let options = [
    Option<"printPlan", "print-plan", "bool", /*default=*/"false",
           "print layouts of parameters, arguments and results, and what is "
           "resharded, on standard error">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def LowerReshards : Pass<"mf-lower-reshards", "::mf::ir::ModelOp"> {
  let summary = "Make each change of layout a collective, a local part or a view";
  let description = [{
    A partial sum is reduced to all ranks or scattered, a cut dimension gathered,
    a cut moved to another dimension by an all-to-all; a rank takes its own part
    of what is replicated, and where its gradient will be a sum over ranks, a
    `mf.mirror` says so.

    ```mlir
    %z = mf.reshard %y {name = "attention.wo.matmul"}
        : tensor<1x4x8xf32, #mf.layout<[[], [], []], partial = [mp]>>
        -> tensor<1x4x8xf32, #mf.layout<[[], [], []]>>
    // becomes
    %z = mf.all_reduce %y over ["mp"] {name = "attention.wo.matmul"}
        : tensor<1x4x8xf32, #mf.layout<[[], [], []], partial = [mp]>>
        -> tensor<1x4x8xf32, #mf.layout<[[], [], []]>>
    ```
  }];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def MarkMemory : Pass<"mf-mark-memory", "::mf::ir::ModelOp"> {
  let summary = "Mark the operators that the YAML wants recomputed or swapped";
  let description = [{
    Sets `recompute` on operators of placed layers from the model's `training`
    attribute, whose counts are of the layers that have their placement on a
    stage and chunk: `full` on all operators of a fully recomputed layer but the one
    that makes its result, `select` on operators and Cells that a pattern names
    (a Cell's own results are kept), `excluded` where an exclude pattern says so.
    Sets `swap`, with the number of kernels to prefetch ahead, where layer_swap
    or op_swap says so; recompute wins, also where it reads the operator's
    result.

    What sharding has put between operators has their names. A sum over ranks
    follows the operator that makes its parts; what brings a value to its
    readers is marked where select_comm_recompute names an operator next to it
    or its readers or producer are in a recomputed Cell. `mp_comm_recompute:
    False` and select_comm_recompute_exclude make it `excluded`. A collective of
    a swapped value is swapped. With recompute_slice_activation a `mf.keep_part`
    is put in front of the input of a recomputed layer that several ranks have.

    ```mlir
    %a = mf.silu %h {name = "feed_forward.w1.activation.silu"} : ...
    // becomes
    %a = mf.silu %h {name = "feed_forward.w1.activation.silu",
        recompute = #mf.recompute<select>} : ...
    // or, swapped,
    %a = mf.silu %h {name = "feed_forward.w1.activation.silu",
        swap = #mf.swap<distance = 2>} : ...
    ```
  }];
  let options = [
    Option<"quiet", "quiet", "bool", /*default=*/"true",
           "no `INFO` lines about what each layer got on standard error">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def Localize : Pass<"mf-localize", "::mf::ir::ModelOp"> {
  let summary = "Make the types of whole tensors those of a rank's parts";
  let description = [{
    Layouts become local shapes and are gone. A parameter keeps its whole type
    and gets its `layout`. Operators that say something about whole tensors
    change it themselves; where a rank must know which part is its own, it reads
    a table that is cut like the dimension.

    ```mlir
    mf.param @layers.0.attention.wo.weight : tensor<8x8xf32> init <normal, ...> {cuts = [[], ["mp"]]}
    ...
    %z = mf.all_reduce %y over ["mp"] {name = "attention.wo.matmul"}
        : tensor<1x4x8xf32, #mf.layout<[[], [], []], partial = [mp]>>
        -> tensor<1x4x8xf32, #mf.layout<[[], [], []]>>
    // becomes
    mf.param @layers.0.attention.wo.weight : tensor<8x8xf32> init <normal, ...>
        layout <[[], [mp]]> {cuts = [[], ["mp"]]}
    ...
    %z = mf.all_reduce %y over ["mp"] {name = "attention.wo.matmul"}
        : tensor<1x4x8xf32> -> tensor<1x4x8xf32>
    ```
  }];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def BuildBackward : Pass<"mf-build-backward", "::mf::ir::ModelOp"> {
  let summary = "Turn placed layers into joint forward and backward chunks";
  let description = [{
    Inlines the layers of each stage and chunk into one `mf.chunk`, and appends
    the gradients of every operator in reverse order behind an `mf.cut`. Each
    operator says how it differentiates (`DifferentiableOpInterface`).
    Gradients that meet are added in the reverse order of their uses.

    With `copies` above 1 (micro_batch_interleave_num) each layer is there as
    often, each copy with hidden inputs, tokens and labels of its own and a loss
    of its own; they share what is made of parameters alone. The gradient of a
    parameter is the sum over copies, in their order.

    ```mlir
    mf.layer @layers.0 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> ... {
      ...
      %a = mf.silu %h {name = "feed_forward.w1.activation.silu", ...} : ...
      %g = mf.mul %a, %h {name = "feed_forward.mul", ...} : ...
      %y = mf.add %x, %g {name = "add"} : ...
      mf.return %y : tensor<1x4x8xf32>
    }
    // becomes
    mf.chunk @chunk0 (%tokens: tensor<1x4xi32>) -> ... {
      ...
      %y = mf.add %x, %g {name = "layers.0.add"} : ...
      %dy = mf.cut %y : tensor<1x4x8xf32>
      %da = mf.mul %dy, %h {name = "layers.0.feed_forward.mul.grad"} : ...
      %dh = mf.mul %dy, %a {name = "layers.0.feed_forward.mul.grad"} : ...
      ...
      mf.return %dembedding, %dnorm, %dw1 : ...
    }
    ```
  }];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def InsertRecompute : Pass<"mf-insert-recompute", "::mf::ir::ChunkOp"> {
  let summary = "Clone marked operators into backward";
  let description = [{
    Where backward uses the result of an operator marked for recompute, it uses
    a clone behind the cut instead. The clone's inputs that are kept pass
    through `mf.barrier`, which nothing folds and which comes after a gradient
    of backward, so the clone stays where it is. Clones are shared by all their
    users and stand right before the first of them.

    ```mlir
    %a = mf.silu %h {name = ..., recompute = #mf.recompute<select>} : ...
    ...
    %dy = mf.cut %y : ...
    %da = mf.mul %dy, %h {...} : ...
    %dh = mf.mul %dy, %a {...} : ...
    // becomes
    %a = mf.silu %h {name = "layers.0.feed_forward.w1.activation.silu"} : ...
    ...
    %dy = mf.cut %y : ...
    %da = mf.mul %dy, %h {...} : ...
    %h1 = mf.barrier %h, %dy {name = "layers.0.feed_forward.w1.matmul"} : ...
    %a1 = mf.silu %h1 {name = "layers.0.feed_forward.w1.activation.silu"} : ...
    %dh = mf.mul %dy, %a1 {...} : ...
    ```
  }];
  let options = [
    Option<"printPlan", "print-plan", "bool", /*default=*/"false",
           "print which operators run again, on standard error">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def OverlapCopies : Pass<"mf-overlap-copies", "::mf::ir::ChunkOp"> {
  let summary = "Order operators so that copies compute while others communicate";
  let description = [{
    Where a chunk has several copies of the model (`copies`) or blocks of rows
    (`row_blocks`), an operator that reads the result of a collective that has
    just begun waits, with all that need it, and what does not need it runs
    first: the other copies, up to collectives of their own. Then that of them
    goes on whose collective began first. Forward and backward are ordered each
    for itself. What is made of parameters alone stands right before its first
    reader. Values stay as they are.

    ```mlir
    %s0 = mf.all_reduce %p0 over ["mp"] : ...
    %y0 = mf.add %x0, %s0 : ...
    %p1 = mf.matmul %a1, %w : ...
    %s1 = mf.all_reduce %p1 over ["mp"] : ...
    // becomes
    %s0 = mf.all_reduce %p0 over ["mp"] : ...
    %p1 = mf.matmul %a1, %w : ...
    %s1 = mf.all_reduce %p1 over ["mp"] : ...
    %y0 = mf.add %x0, %s0 : ...
    ```
  }];
  let options = [
    Option<"printPlan", "print-plan", "bool", /*default=*/"false",
           "print the new order on standard error">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def InsertSwap : Pass<"mf-insert-swap", "::mf::ir::ChunkOp"> {
  let summary = "Move marked activations to host memory between their uses";
  let description = [{
    A value that an operator marked `swap` makes and that backward reads is
    copied to host memory right behind its operator, and back before its first
    reader in backward: one pair per value. Left alone, with a remark that says
    why: what backward does not read, what is made of parameters alone, and what
    an operator that is recomputed reads.

    ```mlir
    %a = mf.silu %h {..., swap = #mf.swap<distance = 2>} : ...
    ...
    %dy = mf.cut %y : ...
    %da = mf.mul %dy, %h {...} : ...
    %dh = mf.mul %dy, %a {...} : ...
    // becomes
    %a = mf.silu %h {name = "layers.0.feed_forward.w1.activation.silu"} : ...
    %c = mf.offload %a {distance = 2 : i64, ...} : tensor<1x4x8xf32>
    ...
    %dy = mf.cut %y : ...
    %da = mf.mul %dy, %h {...} : ...
    %a1 = mf.prefetch %c {distance = 2 : i64, ...} : tensor<1x4x8xf32>
    %dh = mf.mul %dy, %a1 {...} : ...
    ```
  }];
  let options = [
    Option<"printPlan", "print-plan", "bool", /*default=*/"false",
           "print what is swapped and what is not, on standard error">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def SplitChunks : Pass<"mf-split-chunks", "::mf::ir::ModelOp"> {
  let summary = "Split chunks into forward and backward with residuals";
  let description = [{
    Everything before the cut becomes `mf.forward`, everything behind it
    `mf.backward`. Values of forward that backward uses become results of the
    one and arguments of the other: the residuals. What costs nothing or comes
    from parameters alone (views, casts of weights) is made again in backward
    rather than kept.

    Where the schedule splits backward (zero-bubble schedules do), operators that
    reach no gradient of a hidden input become a third function,
    `mf.backward_weights`, which may run later; in a chunk without hidden input
    those that reach one gradient alone. What both halves need is made in
    `mf.backward` and kept, except for swapped values, which each half copies
    back. The third function is there even if it has nothing to do.

    ```mlir
    mf.chunk @chunk0 (%tokens: tensor<1x4xi32>) -> ... {
      ...
      %h = mf.matmul %n, %w1 {...} : ...
      ...
      %dy = mf.cut %y : tensor<1x4x8xf32>
      %da = mf.mul %dy, %h {...} : ...
      ...
    }
    // becomes
    mf.forward @chunk0.forward (%tokens: tensor<1x4xi32>) -> ... {
      ...
      %h = mf.matmul %n, %w1 {...} : ...
      ...
      mf.return %y, %x, %n, %rstd, %h : ...
    }
    mf.backward @chunk0.backward (%dy: tensor<1x4x8xf32>, ...,
        %kept: tensor<1x4x8xf32>) -> ... {
      %da = mf.mul %dy, %kept {...} : ...
      ...
    }
    ```
  }];
  let options = [
    Option<"splitBackward", "split-backward", "::mf::passes::SplitBackward",
           /*default=*/"::mf::passes::SplitBackward::Auto",
           "whether backward becomes two functions: auto, as the model's schedule "
           "says, always or never",
           [{::llvm::cl::values(
             clEnumValN(::mf::passes::SplitBackward::Auto, "auto", "as the schedule says"),
             clEnumValN(::mf::passes::SplitBackward::Always, "always", "split"),
             clEnumValN(::mf::passes::SplitBackward::Never, "never", "do not split"))}]>
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def ShardOptimizer : Pass<"mf-shard-optimizer", "::mf::ir::ModelOp"> {
  let summary = "Share the storage of parameters out among ranks";
  let description = [{
    With enable_parallel_optimizer, ranks that have the same part of a parameter
    each store a piece of it, and of its moments: `stored`. That is so for
    parameters that are opted in, have parallel_optimizer_threshold KB as a
    whole, and a first dimension that divides; each decision is a remark.

    On levels 1 and 2 the step's begin gathers each parameter once, in the type
    that its readers convert it to; that lives through the step. Gradients are
    reduced into the stored pieces at the step's end, on level 2 already by
    micro-batch (`scatter_gradients`). With one micro-batch on one stage a layer
    gathers in forward, and what it has gathered is kept for backward, whose
    gradient is the reduce-scatter. On level 3 a layer gathers in forward, and
    again in backward.

    ```mlir
    mf.param @w : tensor<16x8xf32> init <zeros> layout <[[mp], []], reduced = [dp]>
    ...
    %w = mf.get_param @w : tensor<8x8xf32>
    %c = mf.cast %w {name = "cast"} : (tensor<8x8xf32>) -> tensor<8x8xbf16>
    // becomes, on level 1,
    mf.param @w : tensor<16x8xf32> init <zeros> layout <[[mp], []], reduced = [dp]>
        stored <[[mp, dp], []]> {gathered = tensor<8x8xbf16>}
    ...
    %c = mf.get_param @w : tensor<8x8xbf16>
    ```
  }];
  let options = [
    Option<"printPlan", "print-plan", "bool", /*default=*/"false",
           "print on standard error which parameters are shared out, or why not">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def ReduceInBackward : Pass<"mf-reduce-in-backward", "::mf::ir::ModelOp"> {
  let summary = "Let backward sum gradients over ranks where it can";
  let description = [{
    With one micro-batch, in one piece, on one stage a gradient is complete where
    backward makes it, so the ranks that have summands sum them up there, and the
    whole gradient dies: parameters become `reduced_in_backward`, and what reads
    one stands behind an `mf.mirror`, whose gradient is an all_reduce, unless it
    stands behind an `mf.all_gather` over the same axes, whose gradient is a
    reduce_scatter. Both stand behind the conversion that a reader begins with,
    so both sum what backward has made, before it is converted.

    With several micro-batches, or pieces of the sequence, gradients are summed
    over these first, and over ranks by `mf.reduce_gradient` of the update.

    ```mlir
    mf.param @w : tensor<16x8xf32> init <zeros> layout <[[], []], reduced = [dp]>
    ...
    %w = mf.get_param @w : tensor<16x8xf32>
    %c = mf.cast %w {name = "cast"} : (tensor<16x8xf32>) -> tensor<16x8xbf16>
    // becomes
    mf.param @w : tensor<16x8xf32> init <zeros> layout <[[], []], reduced = [dp]>
        {reduced_in_backward}
    ...
    %w = mf.get_param @w : tensor<16x8xf32>
    %c = mf.cast %w {name = "cast"} : (tensor<16x8xf32>) -> tensor<16x8xbf16>
    %m = mf.mirror %c over ["dp"] {name = "w.mirror"} : tensor<16x8xbf16> -> tensor<16x8xbf16>
    ```
  }];
  let options = [
    Option<"printPlan", "print-plan", "bool", /*default=*/"false",
           "print on standard error where the gradient of each parameter is summed">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def InsertOptimizer : Pass<"mf-insert-optimizer", "::mf::ir::ModelOp"> {
  let summary = "Build each stage's clipping and AdamW";
  let description = [{
    Makes one `mf.update` per stage: reduces each gradient over the ranks that
    have summands of it, in the model's order, sums those of tied parameters over
    all stages that hold one, divides by the step's loss scale, clips by the
    global norm over all stages (every gradient times
    min(1, max_norm / (max(norm, max_norm) + 1e-6)), as MindSpore Transformers'
    ClipGradNorm), and one `mf.adamw` per parameter, which changes nothing if a
    gradient is not finite. Squares of a parameter that ranks have parts of are
    summed over exactly the axes that cut it, so that each element counts once.

    ```mlir
    mf.update @update1 (%lr: tensor<f32>, %step: tensor<f32>)
        attributes {stage = 1 : i64} {
      %own = mf.gradient_norms [@layers.1.norm.weight, @layers.1.w1.weight,
          @lm_head.weight] at [3, 4, 5] : tensor<6xf32>
      %squares = mf.mul %own, %own : ...
      %all = mf.all_reduce %squares over ["pp"] : tensor<6xf32> -> tensor<6xf32>
      ...
      %norm = mf.sqrt %sum : ...
      %overflow = mf.non_finite %norm : tensor<f32> -> tensor<f32>
      ...
      mf.scale_gradients [@layers.1.norm.weight, ...] by %factor : tensor<f32>
      mf.adamw @layers.1.norm.weight, %lr, %step, %overflow {...} : ...
      ...
    }
    ```
  }];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def FoldGradientScales : Pass<"mf-fold-gradient-scales", "::mf::ir::ModelOp"> {
  let summary = "Multiply gradients where they are read";
  let description = [{
    Each `mf.scale_gradients` reads and writes every gradient of its stage. Where
    all that use these gradients behind it are readers that can multiply
    (`GradientReaderOpInterface`), its factor becomes theirs and the operator
    goes: the step reads gradients once for the norm and once to update, and
    writes them no more. Readers round each product to the gradient's type, so
    no bit changes. Gradients in memory stay as backward left them.

    ```mlir
    %factor = mf.clamp_max %quotient {...} : ...
    mf.scale_gradients [@layers.1.norm.weight, ...] by %factor : tensor<f32>
    mf.adamw @layers.1.norm.weight, %lr, %step, %overflow {...} : ...
    // becomes
    %factor = mf.clamp_max %quotient {...} : ...
    mf.adamw @layers.1.norm.weight, %lr, %step, %overflow times %factor : tensor<f32> {...} : ...
    ```
  }];
  let options = [
    Option<"printPlan", "print-plan", "bool", /*default=*/"false",
           "print on standard error where gradients are multiplied">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def BuildSchedule : Pass<"mf-build-schedule", "::mf::ir::ModelOp"> {
  let summary = "Order each stage's forward and backward runs";
  let description = [{
    Makes one `mf.schedule` per stage, in the order of the policy that
    `scheduler` of `#mf.parallel` names (mf/Pipeline/Policy.h): `1f1b`, which is
    gradient accumulation on one stage and `interleaved` where stages have
    several chunks, `gpipe`, `interleaved-low-memory`, or one that splits
    backward, `zero-bubble-h1` and `zero-bubble-v`. Chunks run in the order of
    their forward functions, on the stages of their placements. Adds loads, sends
    and receives (with the schedule's `ahead` and `behind`) and the update; what
    a chunk hands to the next one on the same stage is an operand. All stages are
    proven to run through, with rendezvous transfers, before anything is made.

    ```mlir
    mf.schedule stage 0 {
      %t = mf.load tokens micro_batch 0 : tensor<1x4xi32>
      %y, %f = mf.run_forward @chunk0.forward micro_batch 0(%t) : ...
      mf.send %y to 1 channel "forward.0" micro_batch 0 : tensor<1x4x8xf32>
      ...
      %dy = mf.receive from 1 channel "backward.1" micro_batch 0 : tensor<1x4x8xf32>
      mf.run_backward @chunk0.backward micro_batch 0 frame %f(%dy, %t) : ...
      ...
      mf.run_update @update0
    }
    ```
  }];
  let options = [
    Option<"printPlan", "print-plan", "bool", /*default=*/"false",
           "print the order of runs of each stage, on standard error">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def LowerToAscend : Pass<"mf-lower-to-ascend", "::mlir::ModuleOp"> {
  let summary = "Lower schedules to one ascend program per stage";
  let description = [{
    Functions become routines of kernel launches on buffers, residuals become
    slots of a frame, schedules become calls, copies, sends and receives on
    streams, ordered by events. Replaces the model. The schedules of all stages
    are verified together first: every run once, values and messages between the
    right runs, no stages that wait for one another.

    Collectives run on streams of their own, from where their input is made to
    where their result is read. What gathers a parameter is issued earlier, and
    what reads the sum of a gradient over ranks runs later, by `in-flight` such
    collectives; so that is how many hold their memory beside what computes.

    A gradient in bf16 of a parameter in fp32 is converted, then added to its
    accumulator. With `fuse-accumulation` one launch reads bf16 and adds to fp32:
    the same bits without the memory of the converted gradient.

    ```mlir
    %n, %rstd = mf.rms_norm %x, %gamma {...} : ...
    %w1 = mf.get_param @layers.0.w1.weight : ...
    %h = mf.matmul %n, %w1 {name = "layers.0.feed_forward.w1.matmul",
        transpose_b = true} : ...
    %a = mf.silu %h {name = "layers.0.feed_forward.w1.activation.silu"} : ...
    // becomes, as backward reads %h but not %a,
    ascend.routine @chunk0.forward(...) attributes {layout = @chunk0.residuals} {
      ...
      %h = ascend.slot 3 : <1x4x8xf32, hbm>
      ...
      %w1 = ascend.global @layers.0.w1.weight : <8x8xf32, hbm>
      ascend.launch "aclnnMatmul"(%n, %w1) -> (%h) {..., transpose_b = true}
          cell "layers.0.feed_forward.w1.matmul" : ...
      %a = ascend.alloc : <1x4x8xf32, hbm>
      ascend.launch "aclnnSilu"(%h) -> (%a) ...
      ...
    }
    ```
  }];
  let options = [
    Option<"inFlight", "in-flight", "int64_t", /*default=*/"8",
           "how many gathers of parameters a routine issues ahead of their "
           "readers, and how many sums of gradients before it waits for the first">,
    Option<"fuseAccumulation", "fuse-accumulation", "bool", /*default=*/"false",
           "add a gradient to its accumulator in the type that backward makes it "
           "in, without a copy of it in the accumulator's">
  ];
  let dependentDialects = ["::mf::ir::MfDialect", "::mf::ascend::AscendDialect"];
}

def FuseElementwise : Pass<"ascend-fuse-elementwise", "::mf::ascend::ProgramOp"> {
  let summary = "Run chains of elementwise kernels as one";
  let description = [{
    Launches that make each row of one result of the same rows of their operands,
    and whose results nothing reads but launches of the same chain, become one
    `mfChain`: it runs step by step on a few rows at a time, so what is between
    lies in on-chip memory and needs no buffer. Which kernels may be steps is said
    by their records (AscendKernels.td). Each step rounds to its own type: the
    bits stay the same.

    A value that is kept for backward, read by something else, or seen by another
    stream stays. Chains pass no event, no wait and no launch that uses the same
    memory, and no moment of a routine has more bytes alive than before. On a
    target a chain takes the sum of its steps, as MindSpore fuses by itself
    (`graph_kernel_fusion`).

    ```mlir
    %a = ascend.alloc : <1x4x8xf32, hbm>
    ascend.launch "aclnnSilu"(%h) -> (%a) {} cell "layers.0.feed_forward.w1.activation.silu" : ...
    %g = ascend.alloc : <1x4x8xf32, hbm>
    ascend.launch "aclnnMul"(%a, %h) -> (%g) {} cell "layers.0.feed_forward.mul" : ...
    ascend.launch "aclnnAdd"(%x, %g) -> (%arg1) {} cell "layers.0.add" : ...
    // becomes
    ascend.launch "mfChain"(%h, %x) -> (%arg1) {steps = #ascend.steps<
        aclnnSilu(in0) : tensor<1x4x8xf32>,
        aclnnMul(t0, in0) : tensor<1x4x8xf32>,
        aclnnAdd(in1, t1) : tensor<1x4x8xf32>>} cell "layers.0.add" : ...
    ```
  }];
  let options = [
    Option<"printPlan", "print-plan", "bool", /*default=*/"false",
           "print how many chains of which kernels there are on standard error">
  ];
  let dependentDialects = ["::mf::ascend::AscendDialect"];
}

def CastOnce : Pass<"ascend-cast-once", "::mf::ascend::ProgramOp"> {
  let summary = "Convert parameters once per step where memory allows";
  let description = [{
    Where parameters are stored in another type than layers compute in, each
    forward, recomputation and backward of each micro-batch converts them again.
    This converts a parameter in the step's begin instead, to a copy that lives
    up to its last reader in the step: the same bits for the memory of the copy.
    Copies are made in the order of bytes that are not moved per byte that is
    kept, as long as the stage's peak and all copies are within its limit of
    device memory. Says, as a remark, how many parameters are copied, how many
    conversions a step that saves, and the bytes that are kept; with `apply` =
    false it says what it would save, and changes nothing.

    ```mlir
    ascend.static @layers.0.w1.weight parameter of "layers.0.w1.weight" : ...
    ...
    ascend.routine @chunk0.forward(...) ... {
      ...
      %w1 = ascend.global @layers.0.w1.weight : <8x8xf32, hbm>
      ...
      %c = ascend.alloc : <8x8xbf16, hbm>
      ascend.launch "aclnnCast"(%w1) -> (%c) {} cell "layers.0.feed_forward.w1.cast" : ...
      ...
      ascend.launch "aclnnMatmul"(%x, %c) -> ...
    // becomes
    ascend.static @layers.0.w1.weight parameter of "layers.0.w1.weight" : ...
    ascend.static @cast.layers.0.w1.weight gathered of "layers.0.w1.weight" : !ascend.buffer<8x8xbf16, hbm>
    ...
    ascend.routine @chunk0.forward(...) ... {
      ...
      %c = ascend.global @cast.layers.0.w1.weight : <8x8xbf16, hbm>
      ...
      ascend.launch "aclnnMatmul"(%x, %c) -> ...
      ...
    ascend.routine @begin() {
      ...
      ascend.launch "aclnnCast"(%w1) -> (%begun) {} cell "layers.0.feed_forward.w1.cast" : ...
    ```
  }];
  let options = [
    Option<"apply", "apply", "bool", /*default=*/"true",
           "make the copies, rather than say what they would save">,
    Option<"hbm", "hbm", "std::string", /*default=*/"",
           "device memory per rank, as 54GB, or none for no limit; empty takes "
           "the program's hbm_limit_bytes, and no limit without it">,
    Option<"printPlan", "print-plan", "bool", /*default=*/"false",
           "print on standard error which parameters are copied, or why not">
  ];
  let dependentDialects = ["::mf::ascend::AscendDialect"];
}

def PlanMemory : Pass<"ascend-plan-memory", "::mf::ascend::ProgramOp"> {
  let summary = "Give every buffer of a program an offset in one arena";
  let description = [{
    Computes lifetimes over the whole step and across streams, and places
    parameters, gradients and optimizer state, messages between tasks, frames
    of residuals, temporaries and kernels' workspaces. What HCCL, the driver and
    CANN keep on the device is no buffer of the program and not in the plan, nor
    in `hbm`: leave room for it. Fails if the arena exceeds `hbm` or the
    program's own limit, naming what is alive at the peak.

    ```mlir
    ascend.static @layers.0.w1.weight parameter of "layers.0.w1.weight"
        : !ascend.buffer<8x8xf32, hbm> {...}
    ...
    %a = ascend.alloc : <1x4x8xf32, hbm>
    // becomes
    ascend.static @layers.0.w1.weight parameter of "layers.0.w1.weight"
        : !ascend.buffer<8x8xf32, hbm> at ... {...}
    ...
    %a = ascend.alloc in scratch at ... : <1x4x8xf32, hbm>
    ```
  }];
  let options = [
    Option<"hbm", "hbm", "std::string", /*default=*/"",
           "device memory per rank, as `54GB` or bytes, or `none` for no limit; "
           "empty takes the YAML's">
  ];
  let dependentDialects = ["::mf::ascend::AscendDialect"];
}

def PrintMemory : Pass<"ascend-print-memory", "::mlir::ModuleOp"> {
  let summary = "Print what a planned program spends memory on";
  let description = [{
    Prints, per program, the arena and its lower bound, how many elements of
    parameters a rank keeps, the stage's ranks, bytes of static buffers by role,
    the residuals that one micro-batch keeps per layer, and what a rank exchanges
    in a step: collectives and transfers by kind, ranks and size, their number,
    the bytes of the whole tensor and those of all. Changes nothing.

    ```mlir
    ascend.program @stage0 stage 0 attributes {arena_bytes = ..., ...} { ... }
    // prints
    // stage 0: arena ... bytes, max-live ... bytes, pinned host ... bytes, parameters per rank 200, rank 0
    //   parameter                          800
    //   gradient                           800
    //   ...
    //   chunk0.residuals of one micro-batch
    //     embedding                        128
    //     layers.0                         272
    //     total                            400
    //   exchanges of a rank per step                count   bytes of one    bytes in all
    //     all_reduce     pp                               1             24              24
    //     receive        pp = 1                           2            128             256
    //     send           pp = 1                           2            128             256
    ```
  }];
  let options = [Option<"json", "json", "bool", "false",
                        "print one line of JSON">];
}

def VerifyProgram : Pass<"ascend-verify-program", "::mlir::ModuleOp"> {
  let summary = "Prove that a step has no races and ranks do their parts of it";
  let description = [{
    Expands the step of every planned program and follows streams, events and
    memory: reads find what was written last as the same buffer, conflicting
    accesses are ordered, statics keep their values, and ranks do not wait for
    each other for ever. An error names the buffer, both operators and what is
    missing. Changes nothing; takes microseconds per expanded instruction.

    Then it proves that ranks together compute what one would. Each static says
    over which axes it is cut, each kernel what it makes of parts
    (generated/kernels.md), each collective over which axes it is; so it follows
    for every buffer, along every axis, whether ranks hold the same, parts or
    summands. Summands go into nothing that is not linear, operands are cut
    alike, only summands are summed up over ranks, and every static ends as it is
    declared; of reports each rank may have a part. What shapes leave open, as
    where a rank has one row, is followed both ways. All ranks of a stage are
    looked at once. A remark says what was proven.

    ```mlir
    %done = ascend.collective all_reduce %own to %all over <pp> channel "pp"
        on @collective.pp after %ready : ...
    ...
    ascend.wait @compute for %done  // removed
    // fails:
    // aclnnReduceSum (task 'update', stream 'compute') reads temporary ..., but no
    // event orders this after all_reduce (channel 'pp', task 'update', stream
    // 'collective.pp'), which writes it
    ```
  }];
  let options = [Option<"ranks", "ranks", "bool", "true",
                        "prove also that ranks together compute what one would, "
                        "which programs need not that are written by hand">];
}

def PrintSchedule : Pass<"ascend-print-schedule", "::mlir::ModuleOp"> {
  let summary = "Print what the stages of a planned program do when";
  let description = [{
    Puts the kernels, events and exchanges of every program's step on the lines
    of the simulator (mf/Perf/EventEngine/Lines.h), a line for each stream: kernels take as
    long as they have floating-point operations, messages `transfer-time`, copies
    and collectives nothing. Prints a timeline, with the tasks found from the
    calls and their frames, its end and its bubble (idle time in the time of the
    kernels; `ideal` is (P-1)/(v M) for P stages of v chunks and M micro-batches),
    and of each stage the time of its kernels, its arena and the most bytes of
    residuals at once. A unit of time is a longest forward. The update is left
    out. Changes nothing.

    ```mlir
    ascend.program @stage0 stage 0 attributes {arena_bytes = ..., ...} { ... }
    // prints
    // stage 0: F0 F1 .  .  .  .  .  .  .  B0--- .  .  .  .  .  .  B1---
    // stage 1: .  F0------ B0------------ F1------ B1------------
    // end ... of ... FLOPs
    // bubble 0.7261: ideal 0.5000, imbalance 0.2261
    // stage 0: busy ..., arena ... bytes, activations 800 bytes
    // stage 1: busy ..., arena ... bytes, activations 676 bytes
    ```
  }];
  let options = [
    Option<"flopsPerUnit", "flops-per-unit", "double", /*default=*/"0",
           "floating-point operations in a unit of time; 0 takes those of the "
           "longest forward">,
    Option<"transferTime", "transfer-time", "double", /*default=*/"0",
           "time of a message between stages, in units">,
    Option<"timeline", "timeline", "bool", /*default=*/"true",
           "print what each stage runs when">
  ];
}

#endif // MF_PASSES_TD
