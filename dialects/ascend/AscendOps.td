//===- AscendOps.td - Operations of the ascend dialect ---------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

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
    The body has streams, static buffers, frame layouts, routines and one
    `ascend.step`. The memory plan sets `arena_bytes`, `host_bytes` and
    `max_live_bytes`: the size of device and of pinned host memory that the program
    uses (HCCL and the driver allocate more), and the most bytes that are live at
    once, which is a lower bound of every plan.

    `loss_scale` has the scale of the first step as `value` and, if the scale changes
    with overflows, `factor` and `window` of #mf.loss_scale_update. Without
    `loss_scale` the scale is 1.

    `trainer_memory` is what the trainer of the YAML holds on the stage, in bytes:
    `live` at the largest moment, which is `at` an operator of a `task`, and its
    `parts` (mf/Program/TrainerMemory.h). The program itself needs less.

    `graph_kernel_fusion` says that vector operators are fused where the program
    runs on devices: simulation counts less memory traffic for them.

    ```mlir
    ascend.program @stage0 stage 0 attributes {arena_bytes = ..., ...} {
      ascend.stream @compute compute
      ascend.static @embedding.weight parameter of "embedding.weight" : ...
      ...
      ascend.routine @chunk0.forward(...) attributes {layout = @chunk0.residuals} {
      ...
      ascend.step ... {
    ```
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
                       OptionalAttr<DictionaryAttr>:$trainer_memory,
                       UnitAttr:$graph_kernel_fusion);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `stage` $stage attr-dict-with-keyword $body
  }];
}

def Ascend_StreamOp : Ascend_Op<"stream", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "a queue of work that runs in order";
  let description = [{
    Work on one stream starts in the order in which the host issues it. Work on different
    streams is ordered only by events. There is one `compute` stream, which runs kernels
    and calls; other streams copy (`h2d`, `d2h`) or exchange data (`communication`).

    ```mlir
    ascend.stream @compute compute
    ...
    ascend.stream @send.forward.0 communication
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Ascend_StreamKindAttr:$kind);
  let assemblyFormat = "$sym_name `` $kind attr-dict";
}

def Ascend_StaticOp : Ascend_Op<"static", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "a buffer that lives through the whole training";
  let description = [{
    `of` names the parameter that a parameter, gradient or moment belongs to, or the
    quantity of a report. `init` is the value before the first step. `tied` names the
    parameter that this one is a copy of, possibly of another stage. With `slice` a
    rank holds only part of a whole tensor. Checkpoints, initial values and data are
    always those of whole tensors.

    ```mlir
    ascend.static @layers.0.w1.weight parameter of "layers.0.w1.weight" : !ascend.buffer<8x8xf32, hbm> at 1024 {init = #mf.init<normal, value = 2.000000e-02>}
    ```
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
    The memory plan sets `offsets`, `bytes` and `host_bytes`. An offset counts from
    the begin of the frame in the slot's memory, device or host. In the arena a frame
    may consist of several parts with independent addresses. `parts` has the offsets
    at which they begin, the first of which is 0. No buffer crosses parts.

    `computes` is the certificate of the chunk that `mf-certify` made: the terms that
    its routines must compute. Its entry `taken` says for each routine after forward
    which values its first arguments are.

    A chunk that recomputes only for some micro-batches has other routines for the
    remaining ones, on frames of another layout. That layout is a `version_of` the
    layout before it, which belongs to the same chunk.

    ```mlir
    ascend.frame_layout @chunk0.residuals [!ascend.buffer<1x4x8xf32, hbm>, ...] of ["embedding.gather", ...] at [0, ...] {bytes = 2048 : i64, ...}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeArrayAttr:$types,
                       StrArrayAttr:$names,
                       OptionalAttr<DenseI64ArrayAttr>:$offsets,
                       OptionalAttr<DenseI64ArrayAttr>:$parts,
                       OptionalAttr<I64Attr>:$bytes,
                       OptionalAttr<I64Attr>:$host_bytes,
                       OptionalAttr<DictionaryAttr>:$computes,
                       OptionalAttr<FlatSymbolRefAttr>:$version_of);
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
  let description = [{
    The value stands for the memory of the `ascend.static` that `buffer` names, in a
    routine or in the step.

    ```mlir
    %w1 = ascend.global @layers.0.w1.weight : <8x8xf32, hbm>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$buffer);
  let results = (outs Ascend_BufferType:$result);
  let assemblyFormat = "$buffer attr-dict `:` type($result)";
}

def Ascend_AllocOp : Ascend_Op<"alloc", [HasParent<"RoutineOp">]> {
  let summary = "a buffer that lives inside one run of its routine";
  let description = [{
    The buffer is live from the first to the last operation that uses it. `offset`
    counts from the begin of the run's frame, where residuals are not yet or no
    longer live, or from that of the scratch memory of the call.

    ```mlir
    %gate = ascend.alloc in scratch at 0 : <1x4x8xf32, hbm>
    ```
  }];
  let arguments = (ins OptionalAttr<Ascend_RegionAttr>:$region,
                       OptionalAttr<I64Attr>:$offset);
  let results = (outs Ascend_BufferType:$result);
  let assemblyFormat = "(`in` `` $region^ `at` $offset)? attr-dict `:` type($result)";
}

def Ascend_SlotOp : Ascend_Op<"slot", [Pure]> {
  let summary = "a residual in a frame";
  let description = [{
    In a routine the slot belongs to the frame of the run. In the step it belongs to
    `frame` and is an operand of a copy that starts before the run that reads it.

    ```mlir
    %hidden = ascend.slot 0 : <1x4x8xf32, hbm>
    ```
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
  let description = [{
    The result is the memory of `source` from byte `byte_offset` on, and reads and writes
    of the result are reads and writes of `source`. The view must not reach beyond the
    end of its source.

    ```mlir
    %row = ascend.view %tokens {byte_offset = 16 : i64} : <2x1x4xi32, host> to <1x4xi32, host>
    ```
  }];
  let arguments = (ins Ascend_BufferType:$source,
                       DefaultValuedAttr<I64Attr, "0">:$byte_offset);
  let results = (outs Ascend_BufferType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
}

def Ascend_MessageOp : Ascend_Op<"message", [HasParent<"StepOp">]> {
  let summary = "a buffer that tasks pass to each other";
  let description = [{
    Messages are the inputs and outputs of chunks and their gradients. They are
    loaded, received, sent, or kept from forward to backward.

    ```mlir
    %hidden = ascend.message at 11264 : <1x4x8xf32, hbm>
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Ascend_BufferType:$result);
  let assemblyFormat = "(`at` $offset^)? attr-dict `:` type($result)";
}

def Ascend_FrameOp : Ascend_Op<"frame", [HasParent<"StepOp">]> {
  let summary = "the frame of one chunk and micro-batch";
  let description = [{
    The memory plan sets `offsets`, one for each part of the layout, and
    `host_offset` if the layout has slots in host memory.

    ```mlir
    %frame = ascend.frame @chunk0.residuals micro_batch 0 at 7168 : <@chunk0.residuals>
    ```
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
  let summary = "instructions that several calls run, each on its own buffers";
  let description = [{
    The arguments are buffers and then events, which are recorded before the call and
    which the routine waits for where it needs to. A routine that
    `updates_parameters` runs once the gradients are complete; the runner can pause
    before it to read them. A routine that `recomputes` computes values of a
    frame again for the backward of the frame. A routine that `continues` is a
    further part of the routine that was called before on the same frame. It takes
    the same buffers, and then those that the parts pass to each other.

    ```mlir
    ascend.routine @chunk0.forward(%tokens: !ascend.buffer<1x4xi32, hbm>, %hidden: !ascend.buffer<1x4x8xf32, hbm>) attributes {layout = @chunk0.residuals} {
      %kept = ascend.slot 0 : <1x4x8xf32, hbm>
      ...
      ascend.launch "aclnnEmbedding"(%table, %tokens) -> (%kept) {} ...
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<FlatSymbolRefAttr>:$layout,
                       UnitAttr:$updates_parameters,
                       UnitAttr:$recomputes, UnitAttr:$continues,
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
    The kernel reads `inputs` and writes `outputs` as its signature says
    (AscendKernels.td, generated/kernels.md). A kernel that works in place has the
    buffer as an output, and may read it. `workspace` is memory that the kernel needs
    while it runs. Its size is that of the signature. `kernel_attributes` are the
    attributes of the kernel. `cell` is the operator of the model that the launch
    belongs to.

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
    /// Returns the specification of the launch's kernel, or none if kernels do
    /// not support some type.
    ::std::optional<::mf::KernelSpec> getKernelSpec();
    /// Returns the bytes of workspace that the kernel's signature requires; 0
    /// for none.
    int64_t getWorkspaceBytes();
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Step
//===----------------------------------------------------------------------===//

include "dialects/ascend/AscendStepOps.td"

#endif // ASCEND_OPS_TD
