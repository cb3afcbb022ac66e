//===- ProgramPasses.td - The programs of devices ----------*- tablegen -*-===//

#ifndef MF_PASSES_PROGRAMPASSES_TD
#define MF_PASSES_PROGRAMPASSES_TD

include "mlir/Pass/PassBase.td"

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
    collectives; so that is how many hold their memory beside what computes. Those
    with a number as `mf.unit` are issued by units instead, one unit ahead.

    Of a parameter with `mf.kept` a rank has its part in that type, too, as a
    static of role `rounded`, which the step's begin makes.

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

def LegalizeForCann : Pass<"ascend-legalize-for-cann", "::mf::ascend::ProgramOp"> {
  let summary = "Plan the memory that functions of CANN need beside operands";
  let description = [{
    CANN takes labels as INT64, makes masks of BOOL, gradients of norms in fp32 and
    statistics of softmax eight times over, and some kernels are several of its
    functions. What lies between them follows from the statements of the kernels'
    records (AscendKernels.td, `cannBody`), run on shapes alone: each launch gets it
    as a workspace, each temporary with the alignment and the slack of a buffer. A
    workspace that our kernel needs serves both. Memory is then planned for it like
    for all else, and `mf-translate --ascend-to-cpp` lends it to the kernel. Launches
    with steps, as chains, become launches of their steps.

    What functions of CANN ask for by themselves is known only on the device; the
    program asks when it starts. A remark says of each kernel what it needs, and
    which kernels CANN has not.

    ```mlir
    ascend.launch "aclnnCrossEntropyLoss"(%x, %labels) -> (%loss, %sum, %count) {ignore_index = -100 : i64} cell "lm_head.loss" : ...
    // becomes
    %w = ascend.alloc : <144xi32, hbm>
    ascend.launch "aclnnCrossEntropyLoss"(%x, %labels) -> (%loss, %sum, %count) workspace(%w : !ascend.buffer<144xi32, hbm>) {ignore_index = -100 : i64} cell "lm_head.loss" : ...
    ```
  }];
  let options = [
    Option<"printPlan", "print-plan", "bool", /*default=*/"false",
           "print on standard error what each kernel needs">
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
           "empty takes the YAML's">,
    Option<"slack", "slack", "bool", /*default=*/"false",
           "leave behind each device buffer the 32 bytes that CANN asks for">
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

    At last it proves that the routines of each chunk compute what `mf-certify`
    wrote down for it: it runs them once on terms instead of numbers, over the
    buffers of a frame, and compares the terms of outputs, losses and gradients.
    An error names the result and the operator that makes what is found.

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
    Puts the kernels, events and exchanges of every program's step in the queues
    of the simulator (mf/Perf/EventEngine/Queues.h), a queue for each stream: kernels take as
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

#endif // MF_PASSES_PROGRAMPASSES_TD
