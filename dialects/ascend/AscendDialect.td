//===- AscendDialect.td - The ascend dialect -------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ASCEND_DIALECT_TD
#define ASCEND_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Ascend_Dialect : Dialect {
  let name = "ascend";
  let cppNamespace = "::mf::ascend";
  let summary = "The program that the host of one Ascend device executes in a step";
  let description = [{
    A module has one `ascend.program` per pipeline stage, and all ranks of the stage
    execute it. A program consists of buffers in device (HBM) or host memory,
    streams, events, kernel launches by aclnn name and HCCL calls, with the terms of
    AscendCL. The module's `mf.mesh` lists the ranks. Differences between ranks of a
    stage follow from their coordinates. After memory planning every buffer of a
    program has an offset in one arena. The arena does not contain the memory that
    HCCL and the driver allocate.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  // Queries of #ascend.device return #dlti.map.
  let dependentDialects = ["::mlir::DLTIDialect"];
}

class Ascend_Enum<string enumName, string enumSummary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<enumName, enumSummary, cases> {
  let cppNamespace = "::mf::ascend";
  let genSpecializedAttr = 0;
}

def Ascend_Space : Ascend_Enum<"Space", "where a buffer lies", [
  I32EnumAttrCase<"Hbm", 0, "hbm">,
  I32EnumAttrCase<"Host", 1, "host">
]>;

def Ascend_StreamKind : Ascend_Enum<"StreamKind", "what a stream is for", [
  I32EnumAttrCase<"Compute", 0, "compute">,
  I32EnumAttrCase<"HostToDevice", 1, "h2d">,
  I32EnumAttrCase<"DeviceToHost", 2, "d2h">,
  I32EnumAttrCase<"Communication", 3, "communication">
]>;
def Ascend_StreamKindAttr
    : EnumAttr<Ascend_Dialect, Ascend_StreamKind, "stream_kind"> {
  let assemblyFormat = "$value";
}

def Ascend_Role : Ascend_Enum<"Role", "what a static buffer holds", [
  I32EnumAttrCase<"Parameter", 0, "parameter">,
  I32EnumAttrCase<"Table", 1, "table">,
  I32EnumAttrCase<"Gradient", 2, "gradient">,
  I32EnumAttrCase<"FirstMoment", 3, "first_moment">,
  I32EnumAttrCase<"SecondMoment", 4, "second_moment">,
  I32EnumAttrCase<"Constant", 5, "constant">,
  I32EnumAttrCase<"Tokens", 6, "tokens">,
  I32EnumAttrCase<"Labels", 7, "labels">,
  I32EnumAttrCase<"LearningRate", 8, "learning_rate">,
  I32EnumAttrCase<"StepNumber", 9, "step_number">,
  I32EnumAttrCase<"Report", 10, "report">,
  I32EnumAttrCase<"LossScale", 11, "loss_scale">,
  I32EnumAttrCase<"Accumulated", 12, "accumulated">,
  I32EnumAttrCase<"Gathered", 13, "gathered">,
  I32EnumAttrCase<"Draw", 14, "draw">,
  I32EnumAttrCase<"Average", 15, "average">,
  I32EnumAttrCase<"Factor", 16, "factor">,
  I32EnumAttrCase<"Rounded", 17, "rounded">
]>;
def Ascend_RoleAttr : EnumAttr<Ascend_Dialect, Ascend_Role, "role"> {
  let assemblyFormat = "$value";
}

def Ascend_Category : Ascend_Enum<"Category", "what memory is spent on", [
  I32EnumAttrCase<"Parameter", 0, "parameter">,
  I32EnumAttrCase<"Gradient", 1, "gradient">,
  I32EnumAttrCase<"OptimizerState", 2, "optimizer_state">,
  I32EnumAttrCase<"Activation", 3, "activation">,
  I32EnumAttrCase<"Temporary", 4, "temporary">,
  I32EnumAttrCase<"Communication", 5, "communication">,
  I32EnumAttrCase<"Input", 6, "input">
]>;

def Ascend_Region : Ascend_Enum<"Region", "which part of the arena an offset counts from", [
  I32EnumAttrCase<"Frame", 0, "frame">,
  I32EnumAttrCase<"Scratch", 1, "scratch">
]>;
def Ascend_RegionAttr : EnumAttr<Ascend_Dialect, Ascend_Region, "region"> {
  let assemblyFormat = "$value";
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

def Ascend_CollectiveKind : Ascend_Enum<"CollectiveKind", "what a group of ranks does together", [
  I32EnumAttrCase<"AllReduce", 0, "all_reduce">,
  I32EnumAttrCase<"AllGather", 1, "all_gather">,
  I32EnumAttrCase<"ReduceScatter", 2, "reduce_scatter">,
  I32EnumAttrCase<"AllToAll", 3, "all_to_all">,
  I32EnumAttrCase<"Broadcast", 4, "broadcast">,
  I32EnumAttrCase<"AllToAllV", 5, "all_to_all_v">
]>;
def Ascend_CollectiveKindAttr
    : EnumAttr<Ascend_Dialect, Ascend_CollectiveKind, "collective_kind"> {
  let assemblyFormat = "$value";
}

def Ascend_Reduction : Ascend_Enum<"Reduction", "how a collective combines elements", [
  I32EnumAttrCase<"Sum", 0, "sum">,
  I32EnumAttrCase<"Max", 1, "max">
]>;
def Ascend_ReductionAttr : EnumAttr<Ascend_Dialect, Ascend_Reduction, "reduction"> {
  let assemblyFormat = "$value";
}

class Ascend_Attr<string className, string attrMnemonic>
    : AttrDef<Ascend_Dialect, className> {
  let mnemonic = attrMnemonic;
}

def Ascend_GroupAttr : Ascend_Attr<"Group", "group"> {
  let summary = "ranks that communicate, named by the mesh's axes";
  let description = [{
    `#ascend.group<dp, mp>`: all ranks that differ from this one in these
    coordinates alone. `pp` means all stages, or those that `stages` lists, as
    in `#ascend.group<pp stages [0, 2]>`. Their order, which is that of
    reductions and of the parts that are gathered, is that of the stages as
    listed and then that of ranks.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$axes,
                        OptionalArrayRefParameter<"int64_t">:$stages);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Ascend_PeerAttr : Ascend_Attr<"Peer", "peer"> {
  let summary = "the other rank of a transfer";
  let description = [{
    The peer differs from this rank only in its coordinate on one axis. The
    coordinate is absolute (`#ascend.peer<pp = 1>`: stage 1) or relative to this
    rank's own, modulo the size of the axis (`#ascend.peer<cp + 1>`,
    `#ascend.peer<cp - 1>`).
  }];
  let parameters = (ins "::mlir::StringAttr":$axis, "int64_t":$coordinate,
                        "bool":$relative);
  let hasCustomAssemblyFormat = 1;
}

def Ascend_SliceAttr : Ascend_Attr<"Slice", "slice"> {
  let summary = "which part of a whole tensor a rank holds";
  let description = [{
    `#ascend.slice<[8, 16] over [[mp], []]>` is the part of a whole tensor of 8 x 16
    with the rows at this rank's coordinate on `mp`, which cuts them evenly. Several
    axes may cut a dimension, the first of them outermost. Ranks that differ only in
    other axes hold the same part.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape,
                        ArrayRefParameter<"::mlir::ArrayAttr">:$axes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Ascend_FusedKernelsAttr : Ascend_Attr<"FusedKernels", "steps"> {
  let summary = "kernels that one launch runs one after another";
  let description = [{
    The kernels that a launch of `mfChain` fuses. Each has its operands (`in0` is the
    launch's first input, `t0` the result of the first kernel), its attributes
    and the type of its result.

    ```mlir
    ascend.launch "mfChain"(%x, %y) -> (%z) {steps = #ascend.steps<
        aclnnMul(in0, in1) : tensor<4x8xf32>,
        aclnnMuls(t0) {value = 5.000000e-01 : f64} : tensor<4x8xf32>,
        aclnnCast(t1) : tensor<4x8xbf16>>} cell "layer.mul" : ...
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$kernels,
                        ArrayRefParameter<"::mlir::DenseI64ArrayAttr">:$operands,
                        ArrayRefParameter<"::mlir::DictionaryAttr">:$attributes,
                        ArrayRefParameter<"::mlir::RankedTensorType">:$types);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the kernels in the form of a kernel's specification, or none if
    /// kernels do not support some type or attribute.
    ::std::optional<::std::vector<::mf::FusedKernel>> getFusedKernels() const;
  }];
}

class Ascend_Type<string className, string typeMnemonic>
    : TypeDef<Ascend_Dialect, className> {
  let mnemonic = typeMnemonic;
}

def Ascend_BufferType : Ascend_Type<"Buffer", "buffer"> {
  let summary = "a dense row-major array in device or host memory";
  let description = [{`!ascend.buffer<4096x4096xf32, hbm>`}];
  let parameters = (ins "::mlir::RankedTensorType":$tensor,
                        "::mf::ascend::Space":$space);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the size in bytes without alignment.
    int64_t getBytes() const;
  }];
}

def Ascend_EventType : Ascend_Type<"Event", "event"> {
  let summary = "a point that a stream has passed";
}

def Ascend_FrameType : Ascend_Type<"Frame", "frame"> {
  let summary = "the memory of one chunk's residuals for one micro-batch";
  let description = [{
    A frame lives from the forward run of the micro-batch to its backward run. All
    micro-batches of a chunk have the same layout, at different addresses.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$layout);
  let assemblyFormat = "`<` $layout `>`";
}

// A value that a call passes to a routine.
def Ascend_ArgumentType : AnyTypeOf<[Ascend_BufferType, Ascend_EventType]>;

#endif // ASCEND_DIALECT_TD
