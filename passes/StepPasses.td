//===- StepPasses.td - Updates and schedules of stages ------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_STEPPASSES_TD
#define MF_PASSES_STEPPASSES_TD

include "mlir/Pass/PassBase.td"

def ShardOptimizer : Pass<"mf-shard-optimizer", "::mf::ir::ModelOp"> {
  let summary = "Shard the storage of parameters over ranks";
  let description = [{
    With enable_parallel_optimizer, the ranks that have the same part of a
    parameter each store one piece of the part and of its moments (`stored`). This
    applies to parameters that take part (`parallel_optimizer`), have at least
    parallel_optimizer_threshold KB as a whole, and have a divisible first
    dimension. Each decision is a remark. A parameter with `mf.sharing` (FSDP) is
    sharded over the axes that the attribute names instead, and gathered as it
    says. `mf.unit` on a gather numbers the group of gathers that are issued
    together. A parameter with `mf.kept` is gathered in that type.

    On levels 1 and 2 the step gathers each parameter once at its start, in the
    type to which the readers convert it. The gathered parameter lives through the
    step. Gradients are reduced to the stored pieces at the end of the step, or on
    level 2 for each micro-batch (`scatter_gradients`). With one micro-batch on one
    stage, a layer gathers in forward, the gathered value is kept for backward, and
    its gradient is a reduce-scatter. On level 3 a layer gathers in forward and
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
           "print on standard error which parameters are sharded, or why not">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def AccountTrainer : Pass<"mf-account-trainer", "::mf::ir::ModelOp"> {
  let summary = "Count the device memory of the trainer";
  let description = [{
    The trainer of a YAML of the dynamic graph runs operator by operator, and its
    automatic differentiation keeps more than mf's program does: operands that it
    saves, converted weights, planes of logits, whole gradients. The pass follows
    the blocks of its allocator through the layers of each chunk: each operator says
    what is kept of it (`recordOnTape`), weights are gathered and freed layer by
    layer, recomputed operators keep what comes from outside of them and run again
    before their backward. The tasks of the schedule then add up the chunks that are
    in flight. `trainer_memory` has the largest moment of each stage with its task,
    its operator and its parts. The pass does not change layers, and it does nothing
    for a YAML of the static graph, whose compiler plans a step as mf does.

    ```mlir
    mf.model @one_loss attributes {...} {
      ...
    }
    // becomes
    mf.model @one_loss attributes {..., trainer_memory = [{at = "lm_head.loss: scatter_add", ..., live = 140214272 : i64, ...], ...} {
      ...
    }
    ```
  }];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def ReduceInBackward : Pass<"mf-reduce-in-backward", "::mf::ir::ModelOp"> {
  let summary = "Sum gradients over ranks in backward where possible";
  let description = [{
    With one micro-batch in one piece on one stage, a gradient is complete as soon
    as backward has computed it. Then the ranks reduce their summands there, and
    the unreduced gradient need not be stored. Parameters get
    `reduced_in_backward`. Their readers read the result of an `mf.mirror`, whose
    gradient is an all-reduce, or of an `mf.all_gather` over the same axes, whose
    gradient is a reduce-scatter. If a reader first converts the parameter, the
    operator follows the conversion, so that the gradient is summed in the type of
    backward.

    With several micro-batches or pieces of the sequence, gradients are first
    summed over these, and then over ranks by `mf.reduce_gradient` of the update.

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
    Builds one `mf.update` per stage. It reduces each gradient over the ranks that
    have summands of it, in the model's order, sums the gradients of tied
    parameters over all stages that hold one, divides by the step's loss scale,
    and clips by the global norm over all stages: each gradient is multiplied by
    min(1, max_norm / (max(norm, max_norm) + 1e-6)), as in MindSpore Transformers'
    ClipGradNorm. The squares of a parameter that is sharded are summed over
    exactly the axes that cut it, so that each element counts once.

    Then each parameter gets the operators of its optimizer, which change nothing
    if a gradient is not finite. AdamW is one `mf.adamw`. With Muon each matrix has
    an `mf.momentum`, whose result is gathered in bf16 and made orthogonal by
    `mf.newton_schulz`, and an `mf.take_step` on the rank's part. With Came each
    parameter has an `mf.take_gradient`, means of rows and columns that
    `mf.update_average` adds to their running means, and an `mf.take_step`.

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
  let summary = "Record the values that each stage's update must compute";
  let description = [{
    Runs each `mf.update` on terms, as `mf-certify` does with chunks. Its inputs
    are the gradients summed over micro-batches, the parameters, the optimizer's
    state and the scalars that the host passes. `mf.computes` has the terms of all
    values that the update leaves in parameters and state, of its reports, of the
    mean of the losses and of the gradient of a loss. A static that it does not
    list must keep its value.

    The attribute becomes `computes` of the stage's `ascend.step`.
    `ascend-verify-program` and `mf-run` compare the values that the step leaves
    with it. A term does not depend on whether gradients are multiplied in place
    or when they are read.

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
    Each `mf.scale_gradients` reads and writes all gradients of its stage. If all
    later users of these gradients can multiply (`GradientReaderOpInterface`), they
    take its factor and the operator is removed. The step then reads gradients once
    for the norm and once for the update, and does not write them. Readers round
    each product to the gradient's type, so that all bits are the same. Gradients
    in memory keep the values that backward computed.

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
    Builds one `mf.schedule` per stage in the order of the policy that `scheduler`
    of `#mf.parallel` names (mf/Pipeline/Policy.h). `1f1b` is gradient
    accumulation on one stage, and `interleaved` if stages have several chunks.
    Other policies are `gpipe`, `interleaved-low-memory`, and those that split
    backward, `zero-bubble-h1` and `zero-bubble-v`. Chunks run in the order of
    their forward functions, on the stages of their placements. The pass adds
    loads, sends and receives (with the schedule's `ahead` and `behind`) and the
    update. Values that a chunk passes to the next one on the same stage are
    operands. Before it changes the IR, the pass proves that no stages wait for
    one another forever, even if each transfer is a rendezvous.

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
