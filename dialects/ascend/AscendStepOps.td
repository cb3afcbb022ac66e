//===- AscendStepOps.td - Operations of a step -------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Part of AscendOps.td: calls, events, copies and messages.
//
//===----------------------------------------------------------------------===//

def Ascend_StepOp : Ascend_Op<"step", [HasParent<"ProgramOp">, NoTerminator,
    SingleBlock, NoRegionArguments]> {
  let summary = "what the host issues in one step, in order";
  let description = [{
    `computes` is the certificate of the stage's update that `mf-certify-update`
    made: the terms of all buffers that the next step or the host reads, and of the
    gradient of losses.

    ```mlir
    ascend.step ... {
      %frame = ascend.frame @chunk0.residuals micro_batch 0 at 7168 : <@chunk0.residuals>
      ...
      ascend.call @begin() : () -> ()
    ```
  }];
  let arguments = (ins OptionalAttr<DictionaryAttr>:$computes);
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
    The memory plan sets `scratch_offset`, the offset in the arena at which the run's
    scratch memory begins. The compute stream waits for the events `after`.
    `events[i]` is recorded on the compute stream after the first `records[i]`
    launches of the run. A prefetch for a later run waits for such an event.

    ```mlir
    ascend.call @chunk0.backward(%gradient, %tokens) frame %frame : !ascend.frame<@chunk0.residuals> micro_batch 0 scratch at 11264 after %sent, %arrived : (!ascend.buffer<1x4x8xf32, hbm>, !ascend.buffer<1x4xi32, hbm>) -> ()
    ```
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
  let description = [{
    The event has occurred when all work that was issued to the stream before is over
    (aclrtRecordEvent).

    ```mlir
    %computed = ascend.record @compute
    %sent = ascend.send %hidden to <pp = 1> channel "forward.0" on @send.forward.0 after %computed : <1x4x8xf32, hbm> -> !ascend.event
    ```
  }];
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
  let description = [{
    Work that is issued to the stream later starts after the event has occurred
    (aclrtStreamWaitEvent). The host does not wait.

    ```mlir
    ascend.wait @compute for %gathered
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$stream, Ascend_EventType:$event);
  let assemblyFormat = "$stream `for` $event attr-dict";
}

// Work of a stream other than the compute stream. It waits for the events
// `after` and records `done` when it ends. This abbreviates a wait for each
// event before it and a record after it.
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
  let description = [{
    Both buffers have the same number of bytes. The stream says the direction: `h2d` is
    from the host to the device, `d2h` from the device to the host.

    ```mlir
    %copied = ascend.copy %row to %tokens on @h2d after %computed : <1x4xi32, host> to <1x4xi32, hbm> -> !ascend.event
    ```
  }];
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
    Sends and receives of one channel must be issued in the same order on both ranks.

    ```mlir
    %sent = ascend.send %hidden to <pp = 1> channel "forward.0" on @send.forward.0 after %computed : <1x4x8xf32, hbm> -> !ascend.event
    ```
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
  let description = [{
    The buffer has the message of the `peer` when `done` has occurred. Sends and receives
    of one channel must be issued in the same order on both ranks.

    ```mlir
    %arrived = ascend.receive %gradient from <pp = 1> channel "backward.1" on @receive.backward.1 after %computed : <1x4x8xf32, hbm> -> !ascend.event
    ```
  }];
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
    All ranks of a group take part, as HCCL defines it. With n ranks `all_gather`
    concatenates the inputs and `reduce_scatter` gives rank i the reduced i-th part
    of the inputs, so that one buffer is n times as large as the other. `all_to_all`
    sends the i-th part of the input to rank i. `broadcast` gives all ranks the first
    rank's input. Only `all_reduce` and `broadcast` may have the same buffer as input
    and output. Reductions are in the order of the group, in fp32, and round once, so
    that the result does not depend on timing. `channel` names the communicator. All
    ranks must issue its calls in the same order. `cell`, the operator of the model
    that the collective belongs to, must be the same on all ranks.

    ```mlir
    %done = ascend.collective all_gather %x to %whole over <mp> channel "mp"
        cell "layers.0.w1.matmul" on @mp after %ready
        : <4x8xf32, hbm> to <8x8xf32, hbm> -> !ascend.event
    ```

    `all_to_all_v` (HcclAlltoAllV) sends rows, which are along the last dimension.
    The counts `send` and `receive` are their numbers, in fp32. With n ranks and L
    experts per rank, `send[q * L + l]` rows of the input are for expert l of rank q
    of the group, in this order from the input's begin. `receive[p * L + l]` rows
    come from rank p for expert l of this rank. The output has the received rows in
    the order of ranks, and then `fill` (0 by default). The step fails if counts are
    not non-negative integers, if `receive` differs from what the other ranks send,
    if the input has fewer rows than it sends, or if the output has fewer than it
    receives.

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
