//===- Passes.td - All passes, in pipeline order ---------------*- tablegen -*-===//

#ifndef MF_PASSES_TD
#define MF_PASSES_TD

include "mlir/Pass/PassBase.td"

def ReadConfig : Pass<"mf-read-config", "::mlir::ModuleOp"> {
  let summary = "Read a training YAML into a typed attribute of the model";
  let description = [{
    Reads `file`, an unmodified MindSpore Transformers YAML or one with only
    some of its sections, and sets the model's `training` attribute; what the
    file does not say takes MindSpore Transformers' default. Errors and warnings
    name file, line and column.

    ```mlir
    mf.model @llama attributes {...} { ... }
    // becomes
    mf.model @llama attributes {training = #mf.training<
        parallel = <stages = 4, interleave = 1, micro_batches = 8>, ...>} { ... }
    ```
  }];
  let options = [
    Option<"file", "file", "std::string", /*default=*/"",
           "YAML file to read; `-` is standard input">,
    Option<"gradientAccumulationSteps", "gradient-accumulation-steps",
           "int64_t", /*default=*/"0",
           "replaces runner_config.gradient_accumulation_steps; 0 keeps it">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def Partition : Pass<"mf-partition", "::mf::ir::ModelOp"> {
  let summary = "Place layers on pipeline stages and chunks";
  let description = [{
    Gives every layer a `placement`. Body layers are dealt as MindSpore
    Transformers does from pipeline_stage, offset and pp_interleave_num; the
    embedding is on the first stage, norm, head and loss on the last.

    ```mlir
    mf.layer @layers.1 body (%x: ...) -> ... { ... }
    // becomes, with two stages of one layer each
    mf.layer @layers.1 body (%x: ...) -> ...
        attributes {placement = #mf.placement<stage = 1, chunk = 0>} { ... }
    ```
  }];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def MarkMemory : Pass<"mf-mark-memory", "::mf::ir::ModelOp"> {
  let summary = "Mark the operators that the YAML wants recomputed or swapped";
  let description = [{
    Sets `recompute` on operators of placed layers from the model's `training`
    attribute: `full` on all operators of a fully recomputed layer but the one
    that makes its result, `select` on operators and Cells that a pattern names
    (a Cell's own results are kept), `excluded` where an exclude pattern says so.
    Sets `swap`, with the number of kernels to prefetch ahead, where layer_swap
    or op_swap says so; recompute wins, also where it reads the operator's
    result.

    ```mlir
    %a = mf.silu %w {name = "feed_forward.w1.activation.silu"} : ...
    // becomes
    %a = mf.silu %w {name = "feed_forward.w1.activation.silu",
                     recompute = #mf.recompute<select>} : ...
    // or, swapped,
    %a = mf.silu %w {name = "feed_forward.w1.activation.silu",
                     swap = #mf.swap<distance = 1>} : ...
    ```
  }];
  let options = [
    Option<"quiet", "quiet", "bool", /*default=*/"true",
           "no `INFO` lines about what each layer got on standard error">
  ];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def BuildBackward : Pass<"mf-build-backward", "::mf::ir::ModelOp"> {
  let summary = "Turn placed layers into joint forward and backward chunks";
  let description = [{
    Inlines the layers of each stage and chunk into one `mf.chunk`, and appends
    the gradients of every operator in reverse order behind an `mf.cut`. Each
    operator says how it differentiates (`DifferentiableOpInterface`).
    Gradients that meet are added in the reverse order of their uses.

    ```mlir
    mf.layer @norm_out head (%x: ...) -> ... { %y, %r = mf.rms_norm %x, %g ... }
    // becomes
    mf.chunk @chunk0 (%x: ...) -> (..., ...) {
      %y, %r = mf.rms_norm %x, %g {name = "norm_out.norm"}
      %dy = mf.cut %y
      %dx, %dg = mf.rms_norm_grad %dy, %x, %r, %g {name = "norm_out.norm.grad"}
      mf.return %dx, %dg
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
    %a = mf.silu %w {recompute = #mf.recompute<select>}
    %dy = mf.cut %y
    %dm = mf.mul %dy, %a
    // becomes
    %a = mf.silu %w
    %dy = mf.cut %y
    %w1 = mf.barrier %w, %dy
    %a1 = mf.silu %w1
    %dm = mf.mul %dy, %a1
    ```
  }];
  let options = [
    Option<"printPlan", "print-plan", "bool", /*default=*/"false",
           "print which operators run again, on standard error">
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
    %a = mf.silu %w {swap = #mf.swap<distance = 1>}
    %dy = mf.cut %y
    %dm = mf.mul %dy, %a
    // becomes
    %a = mf.silu %w
    %h = mf.offload %a {distance = 1 : i64} : tensor<8x8xf32>
    %dy = mf.cut %y
    %a1 = mf.prefetch %h {distance = 1 : i64} : tensor<8x8xf32>
    %dm = mf.mul %dy, %a1
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

    ```mlir
    mf.chunk @chunk0 (%x) { %a = ...; %dy = mf.cut %y; ... %a ... }
    // becomes
    mf.forward @chunk0.forward (%x) { %a = ...; mf.return %y, %a }
    mf.backward @chunk0.backward (%dy, %x, %a) { ... }
    ```
  }];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def InsertOptimizer : Pass<"mf-insert-optimizer", "::mf::ir::ModelOp"> {
  let summary = "Build each stage's clipping and AdamW";
  let description = [{
    Makes one `mf.update` per stage: sums the gradients of tied parameters,
    divides by the step's loss scale, clips by the global norm over all stages
    (every gradient times min(1, max_norm / (max(norm, max_norm) + 1e-6)), as
    MindSpore Transformers' ClipGradNorm), and one `mf.adamw` per parameter,
    which changes nothing if a gradient is not finite.

    ```mlir
    mf.update @stage0.update (%lr: tensor<f32>, %step: tensor<f32>) {
      %n = mf.gradient_norms [@w] at [0] : tensor<1xf32>
      ...
      mf.scale_gradients [@w] by %c : tensor<f32>
      mf.adamw @w, %lr, %step, %overflow ...
    }
    ```
  }];
  let dependentDialects = ["::mf::ir::MfDialect"];
}

def BuildSchedule : Pass<"mf-build-schedule", "::mf::ir::ModelOp"> {
  let summary = "Order each stage's forward and backward runs";
  let description = [{
    Makes one `mf.schedule` per stage: with one stage, forward and backward of
    each micro-batch in turn; with more, 1F1B: stage p of P runs P-p-1 forwards
    before it alternates (Narayanan et al., 2019). Adds loads, sends, receives
    and the update.

    ```mlir
    mf.schedule stage 0 {
      %t = mf.load tokens micro_batch 0 : tensor<1x8xi32>
      %y, %f = mf.run_forward @chunk0.forward micro_batch 0 (%t) : ...
      mf.send %y to 1 channel "forward.0" micro_batch 0 : ...
      ...
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
    streams, ordered by events. Replaces the model.

    ```mlir
    %q = mf.matmul %n, %w {name = "layers.0.attention.wq.matmul", transpose_b = true}
    // becomes
    %q = ascend.alloc : !ascend.buffer<1x8x64xf32, hbm>
    ascend.launch "aclnnMatmul"(%n, %w) -> (%q) {transpose_b = true}
        cell "layers.0.attention.wq.matmul" flops 65536 : ...
    ```
  }];
  let dependentDialects = ["::mf::ir::MfDialect", "::mf::ascend::AscendDialect"];
}

def PlanMemory : Pass<"ascend-plan-memory", "::mf::ascend::ProgramOp"> {
  let summary = "Give every buffer an offset in one arena";
  let description = [{
    Computes lifetimes over the whole step and across streams, and places
    parameters, gradients and optimizer state, messages between tasks, frames
    of residuals and temporaries. Fails if the arena exceeds `hbm` or the
    program's own limit, naming what is alive at the peak.

    ```mlir
    %t = ascend.alloc : !ascend.buffer<8x8xf32, hbm>
    // becomes
    %t = ascend.alloc in scratch at 512 : !ascend.buffer<8x8xf32, hbm>
    ```
  }];
  let options = [
    Option<"hbm", "hbm", "std::string", /*default=*/"",
           "device memory per rank, as `54GB` or bytes; empty takes the YAML's">
  ];
  let dependentDialects = ["::mf::ascend::AscendDialect"];
}

def PrintMemory : Pass<"ascend-print-memory", "::mlir::ModuleOp"> {
  let summary = "Print what a planned program spends memory on";
  let description = [{
    Prints, per program, the arena and its lower bound, bytes of static buffers
    by role, and the residuals that one micro-batch keeps per layer. Changes
    nothing.

    ```mlir
    ascend.program @stage0 rank 0 of 1 attributes {arena_bytes = 61963264, ...}
    // prints
    // stage 0: arena 61963264 bytes, max-live 61961216 bytes
    //   parameter            12345678
    //   residuals of one micro-batch
    //     layers.0             524288
    ```
  }];
}

def VerifyProgram : Pass<"ascend-verify-program", "::mlir::ModuleOp"> {
  let summary = "Prove that each access comes after what it depends on";
  let description = [{
    Expands the step of every planned program and follows streams, events and
    memory: reads find what was written last as the same buffer, conflicting
    accesses are ordered, statics keep their values, and ranks do not wait for
    each other for ever. An error names the buffer, both operators and what is
    missing. Changes nothing; takes microseconds per expanded instruction.

    ```mlir
    ascend.copy %host to %x on @h2d : ...
    ascend.call @chunk0.forward(%x, %y) ... : ...
    // fails: aclnnEmbedding ('embedding.gather', task 'chunk0.forward' of
    // micro-batch 0, stream 'compute') reads message 0, but no event orders
    // this after copy (stream 'h2d'), which writes it
    ```
  }];
}

#endif // MF_PASSES_TD
