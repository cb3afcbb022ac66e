//===- ChunkPasses.td - Forward and backward of chunks ------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_CHUNKPASSES_TD
#define MF_PASSES_CHUNKPASSES_TD

include "mlir/Pass/PassBase.td"

def BuildBackward : Pass<"mf-build-backward", "::mf::ir::ModelOp"> {
  let summary = "Turn placed layers into joint forward and backward chunks";
  let description = [{
    Inlines the layers of each stage and chunk into one `mf.chunk`, and appends
    the gradients of all operators in reverse order after an `mf.cut`. Each
    operator defines its gradient (`DifferentiableOpInterface`). Several gradients
    of one value are added in the reverse order of its uses.

    With `copies` above 1 (micro_batch_interleave_num) a chunk has each layer that
    many times. Each copy has its own hidden inputs, tokens, labels and loss. The
    copies share all values that depend on parameters only. The gradient of a
    parameter is the sum over copies, in their order.

    Backward ends with the first chunk that has trained parameters. That chunk
    returns no gradients of its hidden inputs, and the chunks before it have
    nothing after the cut. mf-split-chunks makes no backward functions for these,
    and mf-build-schedule no backward tasks and messages.

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
  let summary = "Record the values that each chunk must compute";
  let description = [{
    Gives each value of a chunk a term: a hash of the kernel that computes it, the
    kernel's attributes and shapes, and the terms of its operands, down to the
    chunk's arguments, parameters and the gradients of its outputs. `mf.computes`
    has the terms of all values that the chunk passes to others for one
    micro-batch: outputs, summands of the loss, gradients of its inputs and of
    parameters. The pass takes linear time in the number of operators.

    Later passes copy the attribute to the chunk's forward function and, as
    `computes`, to the layout of its frames. `ascend-verify-program` and `mf-run`
    run the routines of the lowered chunk on terms and compare the results. A term
    does not depend on where a value is stored, when and how often it is computed,
    whether kernels run as a chain, or whether parameters are converted only once.
    It changes if an operator is left out, repeated, or has other attributes or
    operands. Where recompute restores a value from its saved form, `equal` has
    the term of the restored value and that of the original.

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
    Where backward uses the result of an operator that is marked for recompute, it
    uses a clone of the operator after the cut instead. The clone reads the kept
    values through `mf.barrier`, which is not folded and which depends on a
    gradient of backward, so that the clone cannot move before the cut. All users
    share one clone, which is right before the first of them.

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
  let summary = "Order operators such that one copy computes while another communicates";
  let description = [{
    Reorders the operators of a chunk that has several copies of the model
    (`copies`) or blocks of rows (`row_blocks`). When an operator would read the
    result of a collective that has just started, it and all operators that depend
    on it are delayed, and the operators of the other copies run first, up to
    their own next collectives. Then the copy whose collective started first
    continues. Forward and backward are ordered separately. Operators that depend
    on parameters only are placed right before their first reader. Values do not
    change.

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
    A value that is computed by an operator with the mark `swap` and read by
    backward is copied to host memory right after its operator, and back before
    its first reader in backward. Each value has one pair of copies. Three kinds
    of values stay on the device, with a remark that states the reason: values
    that backward does not read, values that depend on parameters only, and
    values that a recomputed operator reads.

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
    The operators before the cut become `mf.forward`, and those after it
    `mf.backward`. Values of forward that backward uses are the residuals: results
    of the one function and arguments of the other. Values that cost nothing to
    compute or depend on parameters only (views, casts of weights) are computed
    again in backward instead of kept.

    If the schedule splits backward, as zero-bubble schedules do, the operators
    that no gradient of a hidden input depends on become a third function,
    `mf.backward_weights`, which may run later. In a chunk without hidden inputs
    these are the operators that only one gradient depends on. Values that both
    halves need are computed in `mf.backward` and kept, except for swapped values,
    which each half copies back. The third function exists even if it is empty.

    If recompute is a separate task (`recompute-tasks`, or a schedule that requires
    it), the recomputed operators that do not depend on a gradient become
    `mf.recompute`, which may run before the gradient arrives. Its results are kept
    for both halves of backward. If the schedule recomputes a chunk only for some
    micro-batches, the functions of a second version, whose placement has `keeps`,
    keep all values that backward reads.

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
           "whether backward becomes two functions: auto (as the model's schedule "
           "requires), always or never",
           [{::llvm::cl::values(
             clEnumValN(::mf::passes::SplitBackward::Auto, "auto", "as the schedule requires"),
             clEnumValN(::mf::passes::SplitBackward::Always, "always", "split"),
             clEnumValN(::mf::passes::SplitBackward::Never, "never", "do not split"))}]>,
    Option<"recomputeTasks", "recompute-tasks", "::mf::passes::RecomputeTasks",
           /*default=*/"::mf::passes::RecomputeTasks::Auto",
           "whether recompute becomes a separate function: auto (as the model's "
           "schedule requires), always or never",
           [{::llvm::cl::values(
             clEnumValN(::mf::passes::RecomputeTasks::Auto, "auto", "as the schedule requires"),
             clEnumValN(::mf::passes::RecomputeTasks::Always, "always", "in a separate function"),
             clEnumValN(::mf::passes::RecomputeTasks::Never, "never", "in backward"))}]>
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

#endif // MF_PASSES_CHUNKPASSES_TD
