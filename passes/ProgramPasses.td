//===- ProgramPasses.td - The programs of devices ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_PROGRAMPASSES_TD
#define MF_PASSES_PROGRAMPASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToAscend : Pass<"mf-lower-to-ascend", "::mlir::ModuleOp"> {
  let summary = "Lower schedules to one ascend program per stage";
  let description = [{
    Replaces the model by programs. Functions become routines of kernel launches
    on buffers, residuals become slots of a frame, and schedules become calls,
    copies, sends and receives on streams, which are ordered by events. First the
    schedules of all stages are verified together: each run occurs once, values and
    messages connect the right runs, and no stages wait for one another.

    Collectives run on separate streams. They start when their input is complete,
    and the compute stream waits for them when it reads their result. Gathers of
    parameters are issued earlier, and readers of sums of gradients over ranks run
    later, by `in-flight` such collectives, so that at most this many hold their
    memory during other work. Collectives with a number `mf.unit` are issued by
    units instead, one unit ahead.

    A rank has its part of a parameter with `mf.kept` also in that type, as a
    static of role `rounded` that is computed at the start of the step.

    A bf16 gradient of an fp32 parameter is converted and then added to its
    accumulator. With `fuse-accumulation` one launch reads bf16 and adds to fp32,
    with the same bits and without memory for the converted gradient.

    A kernel with a workspace writes its result to the memory of an operand, if its
    record allows this and nothing else reads the operand. Else both would be in
    memory beside the workspace.

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
           "number of gathers of parameters that a routine issues ahead of their "
           "readers, and of sums of gradients before it waits for the first">,
    Option<"fuseAccumulation", "fuse-accumulation", "bool", /*default=*/"false",
           "add a gradient to its accumulator without converting it to the type "
           "of the accumulator first">
  ];
  let dependentDialects = ["::mf::ir::MfDialect", "::mf::ascend::AscendDialect"];
}

def FuseElementwise : Pass<"ascend-fuse-elementwise", "::mf::ascend::ProgramOp"> {
  let summary = "Run chains of elementwise kernels as one";
  let description = [{
    Launches become one `mfChain` if each row of their results depends only on the
    same rows of their operands, and if only launches of the same chain read the
    intermediate results. A chain runs its kernels on a few rows at a time, so
    that intermediate results stay in on-chip memory and need no buffer. The
    records of kernels (AscendKernels.td) define which kernels may be fused. Each
    kernel rounds to its own type, so that all bits are the same.

    A value that is kept for backward, read by other operations, or used by another
    stream is not fused. Chains do not move across an event, a wait or a launch
    that uses the same memory, and at no point of a routine do more bytes become
    live. On a target a chain takes the sum of the times of its kernels, because
    MindSpore fuses by itself (`graph_kernel_fusion`).

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
           "print on standard error the number of chains by their kernels">
  ];
  let dependentDialects = ["::mf::ascend::AscendDialect"];
}

def CastOnce : Pass<"ascend-cast-once", "::mf::ascend::ProgramOp"> {
  let summary = "Convert parameters once per step where memory allows";
  let description = [{
    If parameters are stored in another type than that of computation, each
    forward, recomputation and backward of each micro-batch converts them again.
    This pass converts a parameter once at the start of the step, to a copy that
    lives until its last reader in the step. The bits are the same, and the copy
    needs memory. Copies are made in descending order of bytes moved that are
    saved per byte kept, as long as the stage's peak and all copies are within its
    limit of device memory. A remark states how many parameters are copied, how
    many conversions this saves in a step, and the bytes that are kept. With
    `apply` = false the remark states the possible savings, and nothing changes.

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
           "make the copies, instead of only stating what they would save">,
    Option<"hbm", "hbm", "std::string", /*default=*/"",
           "device memory per rank, as 54GB, or none for no limit; empty takes "
           "the program's hbm_limit_bytes, and no limit without it">,
    Option<"printPlan", "print-plan", "bool", /*default=*/"false",
           "print on standard error which parameters are copied, or why not">
  ];
  let dependentDialects = ["::mf::ascend::AscendDialect"];
}

def LegalizeForCann : Pass<"ascend-legalize-for-cann", "::mf::ascend::ProgramOp"> {
  let summary = "Plan the temporary memory that functions of CANN need";
  let description = [{
    Functions of CANN take labels as INT64, masks as BOOL, gradients of norms in
    fp32 and each statistic of softmax eight times, and some kernels are several
    functions. The sizes of the necessary temporaries follow from the statements of
    the kernels' records (AscendKernels.td, `cannBody`), which this pass runs on
    shapes. Each launch gets the temporaries as a workspace, where each one has the
    alignment and the slack of a buffer. If our own kernel needs a workspace, it is
    the same one. Memory planning places these workspaces like other buffers, and
    programs of `mf-translate --ascend-to-cpp` pass them to CANN. A launch of
    fused kernels, such as a chain, becomes one launch per kernel.

    The workspaces that functions of CANN need themselves are known only on the
    device, and the program asks for them when it starts. For each kernel a remark
    states its needs, that CANN has no counterpart, or that CANN adds up in any
    order.

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
    Computes lifetimes over the whole step and across streams. Then it places
    parameters, gradients and optimizer state, messages between tasks, frames of
    residuals, temporaries and workspaces of kernels. Memory that HCCL, the driver
    and CANN allocate on the device is neither in the plan nor in `hbm`, so that
    `hbm` must leave space for it. Fails if `hbm`, or the program's own limit, is
    exceeded by what the trainer of the YAML holds (`trainer_memory`) or, if that
    was not counted or with `limits-program`, by the arena. The error lists what is
    live at the peak.

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
           "reserve after each device buffer the 32 bytes that CANN requires">,
    Option<"limitsProgram", "limits-program", "bool", /*default=*/"false",
           "the limit is for the program, not for the trainer of the YAML">
  ];
  let dependentDialects = ["::mf::ascend::AscendDialect"];
}

def CheckDevice : Pass<"ascend-check-device", "::mlir::ModuleOp"> {
  let summary = "Compare the limit of device memory with a device";
  let description = [{
    Warns about a limit, which is `hbm` or `max_device_memory` of the YAML `file`,
    with which a job cannot run on `target`: before lowering, if the limit is
    more than a process has; in a module of programs, if the limit leaves too
    little for the buffers of communicators and for the runtime. A communicator
    has buffers of HCCL_BUFFSIZE MB, as the environment says, or 200. The
    pass changes nothing.

    ```mlir
    mf.model @two_layers ... {
    // prints with hbm=120GB target=910b4
    // ... warning: --hbm 120.00 GiB is more than the 30.48 GiB that a process has on '910b4'; --target names the device
    ```
  }];
  let options = [
    Option<"targetName", "target", "std::string",
           /*default=*/"\"atlas-800t-a2\"",
           "the device: the name of a target, or its file">,
    Option<"file", "file", "std::string", /*default=*/"",
           "YAML file whose max_device_memory is the limit">,
    Option<"hbm", "hbm", "std::string", /*default=*/"",
           "device memory per rank, as `54GB` or bytes, or `none` for no limit; "
           "empty takes the YAML's">
  ];
}

def PrintMemory : Pass<"ascend-print-memory", "::mlir::ModuleOp"> {
  let summary = "Print the memory use of a planned program";
  let description = [{
    Prints for each program the arena and its lower bound, the number of elements
    of parameters that a rank keeps, the stage's ranks, the bytes of static buffers
    by role, the residuals of one micro-batch per layer, and the exchanges of a
    rank in a step: collectives and transfers by kind, ranks and size, with their
    number, the bytes of the whole tensor and the total bytes. If it was counted,
    the report has what the trainer of the YAML holds and, with `target`, what such
    a device needs for the stage in all. The pass changes nothing.

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
  let options = [
    Option<"json", "json", "bool", "false", "print one line of JSON">,
    Option<"targetName", "target", "std::string", /*default=*/"",
           "also print what such a device needs in all: the name of a target, "
           "or its file">
  ];
}

def VerifyProgram : Pass<"ascend-verify-program", "::mlir::ModuleOp"> {
  let summary = "Prove that a step has no races and that ranks compute their parts of it";
  let description = [{
    Expands the step of every planned program and proves from its streams, events
    and memory that each read finds the value that was last written to the same
    buffer, that conflicting accesses are ordered, that statics keep their values,
    and that ranks do not wait for each other forever. An error names the buffer,
    both operators and the missing order. The pass changes nothing and takes a few
    microseconds per expanded instruction.

    Then it proves that the ranks together compute the same as a single rank. Each
    static declares the axes that cut it, each kernel how its results depend on
    parts of operands (generated/kernels.md), and each collective the axes that it
    runs over. From these it derives for every buffer and axis whether ranks hold
    the same values, parts or summands. Summands are only used linearly, operands
    are cut alike, only summands are summed over ranks, and every static has its
    declared layout at the end of the step. Each rank may have a part of a report.
    If shapes allow several derivations, for example if a rank has one row, all are
    followed. All ranks of a stage are analysed at once.

    Finally it proves that the routines of each chunk compute the values that
    `mf-certify` recorded. It runs them once on terms instead of numbers, on the
    buffers of a frame, and compares the terms of outputs, losses and gradients. An
    error names the result and the operator that computed the value found there.

    A remark says what was proven: "proven", or "proven but for what the model says"
    with the chunks and steps that have no certificate.

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
                        "also prove that ranks together compute the same as one, "
                        "which programs that are written by hand need not">];
}

def PrintSchedule : Pass<"ascend-print-schedule", "::mlir::ModuleOp"> {
  let summary = "Print the times of the tasks of a planned program";
  let description = [{
    Puts the kernels, events and exchanges of every program's step on the queues
    of the simulator (mf/Perf/EventEngine/Queues.h), one queue for each stream. A
    kernel takes time in proportion to its floating-point operations, a message
    takes `transfer-time`, and copies and collectives take no time. The pass prints
    a timeline whose tasks follow from the calls and their frames, its end, and its
    bubble (the idle time relative to the time of the kernels; `ideal` is
    (P-1)/(v M) for P stages, v chunks per stage and M micro-batches). For each
    stage it prints the time of its kernels, its arena, and the most bytes of
    residuals at once. The longest forward takes one unit of time. The update is
    not included. The pass changes nothing.

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
           "print the timeline of each stage">
  ];
}

#endif // MF_PASSES_PROGRAMPASSES_TD
