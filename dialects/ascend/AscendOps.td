//===- AscendOps.td - Operations of the ascend dialect ---------*- tablegen -*-===//

#ifndef ASCEND_OPS_TD
#define ASCEND_OPS_TD

include "dialects/ascend/AscendDevice.td"
include "dialects/ascend/AscendDialect.td"
include "dialects/ascend/AscendInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Ascend_Op<string mnemonic, list<Trait> traits = []>
    : Op<Ascend_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

def Ascend_ProgramOp : Ascend_Op<"program", [Symbol, SymbolTable, NoTerminator,
    IsolatedFromAbove, SingleBlock, NoRegionArguments]> {
  let summary = "one training step of the ranks of one stage";
  let description = [{
    Holds streams, static buffers, frame layouts, routines and one
    `ascend.step`. `arena_bytes`, `host_bytes` and `max_live_bytes` come with
    the memory plan: the size of device and pinned host memory that the program
    uses (HCCL and the driver have memory besides), and the most bytes alive at
    once, which no plan can undercut.

    `loss_scale` has the scale of the first step as `value` and, if it follows
    overflows, `factor` and `window`; without it the scale is 1.

    `graph_kernel_fusion` says that vector operators are fused where the program
    runs on devices: simulation counts less memory traffic for them.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$stage,
                       I64Attr:$micro_batches, I64Attr:$micro_batch_size,
                       I64Attr:$sequence_length, I64Attr:$vocab_size,
                       I64Attr:$pad_token_id, I64Attr:$ignore_index,
                       OptionalAttr<DictionaryAttr>:$lr_schedule,
                       OptionalAttr<DictionaryAttr>:$loss_scale,
                       OptionalAttr<I64Attr>:$hbm_limit_bytes,
                       OptionalAttr<I64Attr>:$arena_bytes,
                       OptionalAttr<I64Attr>:$host_bytes,
                       OptionalAttr<I64Attr>:$max_live_bytes,
                       UnitAttr:$graph_kernel_fusion);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `stage` $stage attr-dict-with-keyword $body
  }];
}

def Ascend_StreamOp : Ascend_Op<"stream", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "a queue of work that runs in order";
  let arguments = (ins SymbolNameAttr:$sym_name, Ascend_StreamKindAttr:$kind);
  let assemblyFormat = "$sym_name `` $kind attr-dict";
}

def Ascend_StaticOp : Ascend_Op<"static", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "a buffer that lives through the whole training";
  let description = [{
    `of` names the parameter that a parameter, gradient or moment belongs to,
    or the quantity of a report. `init` is the value before the first step.
    `tied` names the parameter that this one is a copy of, maybe of another
    stage. With `slice` a rank holds only part of a whole tensor, which is what
    checkpoints, initial values and data are about.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Ascend_BufferType>:$type,
                       Ascend_RoleAttr:$role, OptionalAttr<StrAttr>:$of,
                       OptionalAttr<AnyAttr>:$init,
                       OptionalAttr<FlatSymbolRefAttr>:$tied,
                       OptionalAttr<Ascend_SliceAttr>:$slice,
                       OptionalAttr<I64Attr>:$offset);
  let assemblyFormat = [{
    $sym_name `` $role (`of` $of^)? `:` $type (`slice` $slice^)? (`at` $offset^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Ascend_FrameLayoutOp : Ascend_Op<"frame_layout", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "the residuals of one chunk and where they lie in its frame";
  let description = [{
    `types[i]` is the buffer of slot `i`; `names[i]` the operator whose result
    it keeps. A slot in host memory keeps an activation that is swapped out.
    `offsets`, `bytes` and `host_bytes` come with the memory plan: an offset
    counts from the frame's part of the slot's own memory. In the arena a frame
    may consist of several parts, each with a place of its own: `parts` has the
    offsets at which they begin, the first at 0. No buffer lies in two of them.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeArrayAttr:$types,
                       StrArrayAttr:$names,
                       OptionalAttr<DenseI64ArrayAttr>:$offsets,
                       OptionalAttr<DenseI64ArrayAttr>:$parts,
                       OptionalAttr<I64Attr>:$bytes,
                       OptionalAttr<I64Attr>:$host_bytes);
  let assemblyFormat = [{
    $sym_name $types `of` $names (`at` $offsets^)? attr-dict
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

def Ascend_GlobalOp : Ascend_Op<"global", [Pure,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a static buffer";
  let arguments = (ins FlatSymbolRefAttr:$buffer);
  let results = (outs Ascend_BufferType:$result);
  let assemblyFormat = "$buffer attr-dict `:` type($result)";
}

def Ascend_AllocOp : Ascend_Op<"alloc", [HasParent<"RoutineOp">]> {
  let summary = "a buffer that lives inside one run of its routine";
  let description = [{
    From the first to the last operation that uses it. Its offset counts from
    the frame of the run (where residuals are not yet, or no longer, alive) or
    from the scratch memory that the call gives it.
  }];
  let arguments = (ins OptionalAttr<Ascend_RegionAttr>:$region,
                       OptionalAttr<I64Attr>:$offset);
  let results = (outs Ascend_BufferType:$result);
  let assemblyFormat = "(`in` `` $region^ `at` $offset)? attr-dict `:` type($result)";
}

def Ascend_SlotOp : Ascend_Op<"slot", [Pure]> {
  let summary = "a residual in a frame";
  let description = [{
    In a routine, of the frame of the run; in the step, of `frame`, which a copy
    takes that starts before the run that reads it.
  }];
  let arguments = (ins I64Attr:$index, Optional<Ascend_FrameType>:$frame);
  let results = (outs Ascend_BufferType:$result);
  let assemblyFormat = [{
    $index (`of` $frame^ `:` type($frame) `as`)? attr-dict `:` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "int64_t":$index), [{
    build($_builder, $_state, type, index, ::mlir::Value());
  }]>];
  let hasVerifier = 1;
}

def Ascend_ViewOp : Ascend_Op<"view", [Pure]> {
  let summary = "part of a buffer, or the whole in another shape";
  let arguments = (ins Ascend_BufferType:$source,
                       DefaultValuedAttr<I64Attr, "0">:$byte_offset);
  let results = (outs Ascend_BufferType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
}

def Ascend_MessageOp : Ascend_Op<"message", [HasParent<"StepOp">]> {
  let summary = "a buffer that tasks hand to each other";
  let description = [{
    Chunk inputs and outputs and their gradients: what is loaded, received,
    sent, or kept from forward to backward as a chunk's input.
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Ascend_BufferType:$result);
  let assemblyFormat = "(`at` $offset^)? attr-dict `:` type($result)";
}

def Ascend_FrameOp : Ascend_Op<"frame", [HasParent<"StepOp">]> {
  let summary = "the frame of one chunk and micro-batch";
  let description = [{
    `offsets`, one for each part of the layout, and, if the layout has slots in
    host memory, `host_offset` come with the memory plan.
  }];
  let arguments = (ins FlatSymbolRefAttr:$layout, I64Attr:$micro_batch,
                       OptionalAttr<DenseI64ArrayAttr>:$offsets,
                       OptionalAttr<I64Attr>:$host_offset);
  let results = (outs Ascend_FrameType:$result);
  let assemblyFormat = [{
    $layout `micro_batch` $micro_batch (`at` custom<Offsets>($offsets)^)?
    (`host` `at` $host_offset^)? attr-dict `:` type($result)
  }];
}

//===----------------------------------------------------------------------===//
// Routines
//===----------------------------------------------------------------------===//

def Ascend_RoutineOp : Ascend_Op<"routine", [FunctionOpInterface,
    IsolatedFromAbove, NoTerminator, SingleBlock, HasParent<"ProgramOp">]> {
  let summary = "operations that several tasks run, each on buffers of its own";
  let description = [{
    Arguments are buffers and then events, which a call records before it and
    the routine waits for where it needs to. One that `updates_parameters` runs
    once the gradients are complete; before it a run may be interrupted to look
    at them.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<FlatSymbolRefAttr>:$layout,
                       UnitAttr:$updates_parameters,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }
  }];
}

def Ascend_LaunchOp : Ascend_Op<"launch", [AttrSizedOperandSegments,
    Ascend_InstructionWith<["getIssueStream", "getAwaitedEvents",
      "getRecordedEvent", "getAccesses", "getEngine", "getCost",
      "getCellName"]>]> {
  let summary = "one kernel on the compute stream";
  let description = [{
    Reads `inputs` and writes `outputs` as the kernel's signature says
    (AscendKernels.td, generated/kernels.md): a kernel that works in place lists
    the buffer as output, and may read it. `workspace` is memory that the kernel
    needs while it runs, of the signature's size. `kernel_attributes` are the
    kernel's own; `cell` is the operator of the model that it belongs to.

    ```mlir
    ascend.launch "aclnnMatmul"(%n, %w1) -> (%h) {..., transpose_b = true}
        cell "layers.0.feed_forward.w1.matmul" : ...
    ...
    ascend.launch "aclnnForeachNorm"(%g) -> (%norm)
        workspace(%w : !ascend.buffer<1xi32, hbm>) {} : ...
    ```
  }];
  let arguments = (ins StrAttr:$kernel, Variadic<Ascend_BufferType>:$inputs,
                       Variadic<Ascend_BufferType>:$outputs,
                       Optional<Ascend_BufferType>:$workspace,
                       DictionaryAttr:$kernel_attributes,
                       OptionalAttr<StrAttr>:$cell);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` `->` `(` $outputs `)`
    (`workspace` `(` $workspace^ `:` type($workspace) `)`)?
    $kernel_attributes (`cell` $cell^)? attr-dict
    `:` functional-type($inputs, $outputs)
  }];
  let extraClassDeclaration = [{
    /// The specification of the launch's kernel, or none if it has types that
    /// no kernel computes with.
    ::std::optional<::mf::KernelSpec> getKernelSpec();
    /// The workspace that the kernel's signature asks for; 0 if none.
    int64_t getWorkspaceBytes();
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Step
//===----------------------------------------------------------------------===//

def Ascend_StepOp : Ascend_Op<"step", [HasParent<"ProgramOp">, NoTerminator,
    SingleBlock, NoRegionArguments]> {
  let summary = "what the host issues in one step, in order";
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
}

def Ascend_CallOp : Ascend_Op<"call", [
    AttrSizedOperandSegments, HasParent<"StepOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one run of a routine on the compute stream";
  let arguments = (ins FlatSymbolRefAttr:$routine,
                       Variadic<Ascend_ArgumentType>:$arguments,
                       Optional<Ascend_FrameType>:$frame,
                       OptionalAttr<I64Attr>:$micro_batch,
                       OptionalAttr<I64Attr>:$scratch_offset,
                       OptionalAttr<DenseI64ArrayAttr>:$records,
                       Variadic<Ascend_EventType>:$after);
  let results = (outs Variadic<Ascend_EventType>:$events);
  let description = [{
    `scratch_offset` comes with the memory plan: where in the arena the run's
    scratch memory begins. The compute stream waits for the events `after`. `events[i]` is recorded on the compute stream once
    `records[i]` launches of the run are issued: a prefetch for a later run
    starts there.
  }];
  let assemblyFormat = [{
    $routine `(` $arguments `)` (`frame` $frame^ `:` type($frame))?
    (`micro_batch` $micro_batch^)? (`scratch` `at` $scratch_offset^)?
    (`records` $records^)? (`after` $after^)? attr-dict
    `:` functional-type($arguments, $events)
  }];
  let hasVerifier = 1;
}

def Ascend_RecordOp : Ascend_Op<"record", [
    Ascend_InstructionWith<["getAwaitedEvents", "getRecordedEvent"]>]> {
  let summary = "an event: all that the stream holds so far";
  let arguments = (ins FlatSymbolRefAttr:$stream);
  let results = (outs Ascend_EventType:$event);
  let assemblyFormat = "$stream attr-dict";
  let builders = [OpBuilder<(ins "::llvm::StringRef":$stream), [{
    build($_builder, $_state,
          ::mf::ascend::EventType::get($_builder.getContext()), stream);
  }]>];
}

def Ascend_WaitOp : Ascend_Op<"wait", [
    Ascend_InstructionWith<["getAwaitedEvents", "getRecordedEvent"]>]> {
  let summary = "makes a stream wait for an event";
  let arguments = (ins FlatSymbolRefAttr:$stream, Ascend_EventType:$event);
  let assemblyFormat = "$stream `for` $event attr-dict";
}

// Work of a stream that is not the compute stream. It waits for the events
// `after`, and `done` is recorded behind it: short for a wait for each before it
// and a record behind it.
class Ascend_TransferOp<string mnemonic, dag operands, list<string> answers,
                        list<Trait> traits = []>
    : Ascend_Op<mnemonic,
                !listconcat([Ascend_InstructionWith<answers>], traits)> {
  let arguments = !con(operands, (ins FlatSymbolRefAttr:$stream,
                                      Variadic<Ascend_EventType>:$after));
  let results = (outs Optional<Ascend_EventType>:$done);
}

def Ascend_CopyOp : Ascend_TransferOp<"copy",
    (ins Ascend_BufferType:$source, Ascend_BufferType:$target),
    ["getAccesses"]> {
  let summary = "aclrtMemcpyAsync between host and device";
  let assemblyFormat = [{
    $source `to` $target `on` $stream (`after` $after^)? attr-dict
    `:` type($source) `to` type($target) (`->` type($done)^)?
  }];
  let hasVerifier = 1;
}

def Ascend_SendOp : Ascend_TransferOp<"send",
    (ins Ascend_BufferType:$buffer, Ascend_PeerAttr:$peer, StrAttr:$channel),
    ["getAccesses", "getExchange", "getEngine"]> {
  let summary = "HcclSend";
  let description = [{
    Sends and receives of one channel happen in the same order on both ranks.
  }];
  let assemblyFormat = [{
    $buffer `to` $peer `channel` $channel `on` $stream (`after` $after^)?
    attr-dict `:` type($buffer) (`->` type($done)^)?
  }];
}

def Ascend_ReceiveOp : Ascend_TransferOp<"receive",
    (ins Ascend_BufferType:$buffer, Ascend_PeerAttr:$peer, StrAttr:$channel),
    ["getAccesses", "getExchange", "getEngine"]> {
  let summary = "HcclRecv";
  let assemblyFormat = [{
    $buffer `from` $peer `channel` $channel `on` $stream (`after` $after^)?
    attr-dict `:` type($buffer) (`->` type($done)^)?
  }];
}

def Ascend_CollectiveOp : Ascend_TransferOp<"collective",
    (ins Ascend_CollectiveKindAttr:$kind, Ascend_BufferType:$input,
         Ascend_BufferType:$output, Optional<Ascend_BufferType>:$send,
         Optional<Ascend_BufferType>:$receive, Ascend_GroupAttr:$group,
         DefaultValuedAttr<Ascend_ReductionAttr,
                           "::mf::ascend::Reduction::Sum">:$reduction,
         OptionalAttr<F64Attr>:$fill, StrAttr:$channel,
         OptionalAttr<StrAttr>:$cell),
    ["getAccesses", "getExchange", "getEngine", "getCellName"],
    [AttrSizedOperandSegments]> {
  let summary = "HcclAllReduce, HcclAllGather and their kin";
  let description = [{
    What all ranks of a group do together, as HCCL defines it: with n ranks,
    `all_gather` puts the inputs side by side and `reduce_scatter` gives rank i
    the reduced i-th part of the inputs, so one buffer is n times the other;
    `all_to_all` sends the i-th part of the input to rank i; `broadcast` takes
    the first rank's input. Only `all_reduce` and `broadcast` may have one buffer
    as both. Reductions combine in the order of the group, in fp32 and rounded
    once, so that the result does not depend on timing. `channel` names the
    communicator, whose calls are issued in the same order on all ranks; `cell`,
    the operator of the model that it belongs to, is then the same too.

    ```mlir
    %done = ascend.collective all_gather %x to %whole over <mp> channel "mp"
        cell "layers.0.w1.matmul" on @mp after %ready
        : <4x8xf32, hbm> to <8x8xf32, hbm> -> !ascend.event
    ```

    `all_to_all_v` (HcclAlltoAllV) sends rows, the last dimension, of which the
    counts `send` and `receive` say how many. A rank has as many experts L as
    counts for each of n ranks: `send[q * L + l]` rows of the input are for
    expert l of rank q of the group, and lie in this order from the input's
    begin; `receive[p * L + l]` rows come from rank p for expert l of this rank.
    What arrives lies in the order of ranks, and `fill` (0 if it is not given)
    behind it. Counts are fp32. The step fails if they are no whole numbers from
    0 on, if `receive` is not what the others send, if the input has fewer rows,
    or if the output has no room for those that arrive.

    ```mlir
    %done = ascend.collective all_to_all_v %rows to %mine counts %to, %from
        over <cp> channel "cp" cell "layers.1.experts.dispatch" on @mp
        after %ready {fill = -1.000000e+00 : f64}
        : <1x6x8xf32, hbm> to <1x12x8xf32, hbm>
          counts !ascend.buffer<4x3xf32, hbm>, !ascend.buffer<4x3xf32, hbm>
        -> !ascend.event
    ```
  }];
  let assemblyFormat = [{
    `` $kind $input `to` $output (`counts` $send^ `,` $receive)? `over` $group `channel` $channel
    (`cell` $cell^)? `on` $stream (`after` $after^)? attr-dict `:` type($input) `to` type($output)
    (`counts` type($send)^ `,` type($receive))? (`->` type($done)^)?
  }];
  let hasVerifier = 1;
}

#endif // ASCEND_OPS_TD
