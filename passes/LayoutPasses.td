//===- LayoutPasses.td - Stages, pieces, layouts and marks -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_LAYOUTPASSES_TD
#define MF_PASSES_LAYOUTPASSES_TD

include "mlir/Pass/PassBase.td"

def Partition : Pass<"mf-partition", "::mf::ir::ModelOp"> {
  let summary = "Place layers on pipeline stages and chunks";
  let description = [{
    Gives every layer a `placement`, from which all later passes take the stage
    and chunk of the layer. Body layers are distributed by the rules of MindSpore
    Transformers for pipeline_stage, offset and pp_interleave_num, chunk by chunk.
    A chunk visits the stages in the order that the policy of the schedule defines
    (`scheduler` of `#mf.parallel`). The embedding is on the stage that is visited
    first. Norm, head and loss are on the stage that is visited last.

    ```mlir
    mf.layer @layers.1 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> attributes {settings = ...} { ... }
    // becomes, with two stages of one layer each,
    mf.layer @layers.1 body (%x: tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
        attributes {placement = #mf.placement<stage = 1, chunk = 0>, settings = ...} { ... }
    ```
  }];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def SplitSequence : Pass<"mf-split-sequence", "::mf::ir::ModelOp"> {
  let summary = "Replace each layer by one layer per piece of the sequence";
  let description = [{
    If a micro-batch runs in `sequence_pieces` pieces of its sequence, each layer
    becomes one layer per piece. The operators' rules (`getShardingRule`) define
    which dimensions are cut. Pieces take their parts of tables and step inputs.
    Keys and values, which causal attention of later pieces reads, become
    additional results of a layer. The layers of later pieces take them as
    arguments and put them before their own. Losses are divided by the number of
    tokens of the whole sequence. An operator that reads the whole sequence in any
    other way is an error.

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
           "print on standard error which values operators read from other "
           "pieces, and of which they take a part">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def InterleaveRows : Pass<"mf-interleave-rows", "::mf::ir::ModelOp"> {
  let summary = "Run norms and projections of layers on blocks of rows";
  let description = [{
    With `row_blocks` above 1 (fine_grain_interleave), a body layer passes one
    value per block of rows to the next one. Operators that work on each row
    independently run once per block. Operators that mix rows, such as attention,
    get all blocks together. The first layer splits the rows, and the last layer
    joins them. So each collective becomes several smaller ones, and those of one
    block can run concurrently with the products of another. Values do not change,
    except that gradients of weights are sums over blocks.

    The operators' rules (`getShardingRule`) define which operators these are.
    Before an operator that mixes rows, they are all operators up to the last one
    that reads a weight. After it, they are all from the first one that reads a
    weight. Context-parallel ranks have rows of each block. Each copy of an
    operator keeps the operator's marks.

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
  let summary = "Decide the layout of each tensor on the ranks of the mesh";
  let description = [{
    Gives all tensors of layers an `#mf.layout`, and inserts `mf.reshard` where a
    reader requires another layout. Parameters have the layout of their `cuts`.
    The residual stream is cut over dp and cp, and with `sequence_parallel` also
    over mp between body layers. The operators' rules (`getShardingRule`) define
    all other layouts. A partial sum becomes whole, or is cut like the residual
    stream, right after its operator. If an operator needs a whole dimension,
    ranks exchange its parts for parts of a dimension further out if that is
    divisible, and gather the dimension otherwise. Therefore tokens move to the
    ranks of their experts by an all-to-all, while the weights of experts do not
    move, and sums over parts of an expert return in the same way. All layers of a
    chunk get the same part of the tokens, and layers that need a smaller part
    slice it at their start. A size that is not divisible is an error that names
    the dimension, the axis and the key of the YAML. The pass does not change a
    model on a mesh that only has stages, or a model that already has collectives.

    For each change of layout a remark states the bytes of the tensor on a rank,
    before or after the change, whichever is more.

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
           "print layouts of parameters, arguments and results, and all changes "
           "of layout, on standard error">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def LowerReshards : Pass<"mf-lower-reshards", "::mf::ir::ModelOp"> {
  let summary = "Make each change of layout a collective, a local part or a view";
  let description = [{
    A partial sum becomes an all-reduce or a reduce-scatter. A cut dimension is
    gathered, and a cut that moves to another dimension becomes an all-to-all. For
    a replicated value a rank takes its own part. A replicated value whose
    gradient is a sum over ranks gets an `mf.mirror`.

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
  let summary = "Mark the operators that the YAML selects for recompute or swap";
  let description = [{
    Sets `recompute` on operators of placed layers from the model's `training`
    attribute, whose numbers count the layers of each stage and chunk. All
    operators of a fully recomputed layer get `full`, except the one that computes
    its result. Operators and Cells that a pattern names get `select`, where a
    Cell's own results are kept. Those that an exclude pattern names get
    `excluded`. Next to the Cell of dropless experts, patterns can use the names
    `level0` (the operators that bring tokens to experts, and those between the
    two products of an expert) and `level1` (also the first product and shared
    experts). Sets `swap` with the prefetch distance in kernels from layer_swap
    and op_swap. Recompute takes precedence, also if the operator that reads the
    swapped result is recomputed.

    Collectives that sharding inserted have the names of the operators that they
    are next to. A sum over ranks has the mark of the operator that computes its
    summands. A collective that brings a value to its readers is marked if
    select_comm_recompute names an operator next to it, or if its readers or its
    producer are in a recomputed Cell. `mp_comm_recompute: False` and
    select_comm_recompute_exclude make it `excluded`. A collective of a swapped
    value is swapped. With recompute_slice_activation the input of a recomputed
    layer gets an `mf.keep_part` if several ranks have the same input.

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
           "do not print `INFO` lines about the settings of each layer on "
           "standard error">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def Localize : Pass<"mf-localize", "::mf::ir::ModelOp"> {
  let summary = "Replace the types of whole tensors by those of a rank's parts";
  let description = [{
    Replaces the types of whole tensors with layouts by the types of a rank's
    parts, without layouts. A parameter keeps its whole type and gets its
    `layout`. Operators with attributes about whole tensors change these
    themselves (`localize`). An operator that needs the position of a rank's part
    reads it from a table that is cut like the dimension.

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
