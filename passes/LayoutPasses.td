//===- LayoutPasses.td - Stages, pieces, layouts and marks -*- tablegen -*-===//

#ifndef MF_PASSES_LAYOUTPASSES_TD
#define MF_PASSES_LAYOUTPASSES_TD

include "mlir/Pass/PassBase.td"

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
    operators' rules (`getShardingRule`), of tables and step inputs
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

    Which operators these are, their rules say (`getShardingRule`): in
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
    (`getShardingRule`) what follows. A sum that is cut becomes whole, or
    cut like the stream, right behind the operator. Where an operator needs all
    of a dimension, ranks exchange its parts for parts of one further out, if
    that divides, and gather it only if not. So tokens move with an all-to-all
    to the ranks of their experts, whose weights stay where they are; sums over
    parts of an expert go back as the tokens came. Layers of a chunk get the
    same part of the tokens, and those that read less of them take it out at
    their begin. What does not divide is an
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
    Beside the Cell of experts that take all of their tokens patterns know the
    names `level0` (what brings tokens to experts, and what stands between their
    two products) and `level1` (the first product and shared experts as well).
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

#endif // MF_PASSES_LAYOUTPASSES_TD
