//===- StepPasses.td - From chunks of layers to a schedule -*- tablegen -*-===//

#ifndef MF_PASSES_STEPPASSES_TD
#define MF_PASSES_STEPPASSES_TD

include "mlir/Pass/PassBase.td"

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

    Backward ends with the first chunk that has something to train: it returns
    no gradients of its hidden inputs, and nothing stands behind the cut of the
    chunks before it. mf-split-chunks makes no backward of these, and
    mf-build-schedule no backward tasks and messages.

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

def Certify : Pass<"mf-certify", "::mf::ir::ModelOp"> {
  let summary = "Write down what each chunk has to compute";
  let description = [{
    Gives each value of a chunk a term: a hash of the kernel that makes it, its
    attributes and shapes, and the terms of what it reads, down to the chunk's
    arguments, parameters and the gradients of its outputs. `mf.computes` has
    the terms of all that the chunk gives to others for one micro-batch: outputs,
    what is added to the loss, gradients of its inputs and of parameters. Takes
    time linear in the number of operators.

    The attribute goes with the chunk's forward function and, as `computes`, with
    the layout of its frames. `ascend-verify-program` and `mf-run` run the
    routines of the lowered chunk on terms and compare. A term is the same
    wherever a value lies, when and how often it is made, whether kernels run as
    a chain and whether parameters are converted once; it is another if an
    operator is left out, repeated, has another attribute or other operands.
    Where recompute makes a value of its saved form, `equal` has the term of
    what is made and that of the value.

    ```mlir
    mf.chunk @chunk0 (%tokens: tensor<1x4xi32>) -> ... attributes {...} {
      ...
    }
    // becomes
    mf.chunk @chunk0 (%tokens: tensor<1x4xi32>) -> ... attributes {...,
        mf.computes = {arguments = 1 : i64, ...}, ...} {
      ...
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

    Where recompute is a task (`recompute-tasks`, or a schedule that says so),
    what backward computes again of forward without reading a gradient becomes
    `mf.recompute`, which may run before the gradient arrives. Its results are
    kept for both halves of backward. If the schedule recomputes a chunk for some
    micro-batches alone, the functions of a second version, at a placement that
    `keeps`, keep all that backward reads.

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
             clEnumValN(::mf::passes::SplitBackward::Never, "never", "do not split"))}]>,
    Option<"recomputeTasks", "recompute-tasks", "::mf::passes::RecomputeTasks",
           /*default=*/"::mf::passes::RecomputeTasks::Auto",
           "whether recompute becomes a function of its own: auto, as the model's "
           "schedule says, always or never",
           [{::llvm::cl::values(
             clEnumValN(::mf::passes::RecomputeTasks::Auto, "auto", "as the schedule says"),
             clEnumValN(::mf::passes::RecomputeTasks::Always, "always", "apart"),
             clEnumValN(::mf::passes::RecomputeTasks::Never, "never", "in backward"))}]>
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def ShardOptimizer : Pass<"mf-shard-optimizer", "::mf::ir::ModelOp"> {
  let summary = "Share the storage of parameters out among ranks";
  let description = [{
    With enable_parallel_optimizer, ranks that have the same part of a parameter
    each store a piece of it, and of its moments: `stored`. That is so for
    parameters that are opted in, have parallel_optimizer_threshold KB as a
    whole, and a first dimension that divides; each decision is a remark. A
    parameter with `mf.sharing` is shared out over the axes that this names
    instead (FSDP), and gathered as it says; `mf.unit` on its gather is the number
    of those that are issued together. With `mf.kept` it is gathered in that type.

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
  let summary = "Build each stage's clipping and optimizer";
  let description = [{
    Makes one `mf.update` per stage: reduces each gradient over the ranks that
    have summands of it, in the model's order, sums those of tied parameters over
    all stages that hold one, divides by the step's loss scale, clips by the
    global norm over all stages (every gradient times
    min(1, max_norm / (max(norm, max_norm) + 1e-6)), as MindSpore Transformers'
    ClipGradNorm), and one `mf.adamw` per parameter, which changes nothing if a
    gradient is not finite. With Muon each matrix has an `mf.momentum`, whose
    direction is gathered in bf16, normalized, made orthogonal by matrix products,
    and an `mf.take_step` along a rank's part of it. With Came each parameter has an
    `mf.take_gradient`, means of rows and columns that `mf.update_average` adds to
    their running means, and an `mf.take_step`. Squares of a parameter that ranks have parts of are
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

def CertifyUpdate : Pass<"mf-certify-update", "::mf::ir::ModelOp"> {
  let summary = "Write down what each stage's update has to compute";
  let description = [{
    Runs each `mf.update` on terms, as `mf-certify` does with chunks: from the
    gradients, summed over micro-batches, the parameters, the optimizer's state
    and the scalars that the host passes. `mf.computes` has the terms of all that
    the update leaves in parameters and state and of what it reports, beside the
    mean of the losses and the gradient of a loss. What it does not name has to
    stay as it was.

    The attribute becomes `computes` of the stage's `ascend.step`, to which
    `ascend-verify-program` and `mf-run` compare what the step leaves. A term is
    the same whether gradients are multiplied in place or where they are read.

    ```mlir
    mf.update @update0 (%lr: tensor<f32>, ...) attributes {stage = 0 : i64} {
      ...
    }
    // becomes
    mf.update @update0 (%lr: tensor<f32>, ...) attributes {mf.computes = {
        results = [["embedding.weight", ...], ["first_moment.embedding.weight", ...], ...]}, stage = 0 : i64} {
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

#endif // MF_PASSES_STEPPASSES_TD
