//===- AscendDialect.td - The ascend dialect -------------------*- tablegen -*-===//

#ifndef ASCEND_DIALECT_TD
#define ASCEND_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Ascend_Dialect : Dialect {
  let name = "ascend";
  let cppNamespace = "::mf::ascend";
  let summary = "What the host program of one Ascend device does in a step";
  let description = [{
    One `ascend.program` per pipeline stage: buffers in device (HBM) or host
    memory, streams, events, kernel launches by aclnn name and HCCL calls. The
    vocabulary is AscendCL's. After memory planning every buffer has an offset
    in one arena, so the program says all that execution needs.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
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
  I32EnumAttrCase<"LossScale", 11, "loss_scale">
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
    /// Bytes without alignment.
    int64_t getBytes() const;
  }];
}

def Ascend_EventType : Ascend_Type<"Event", "event"> {
  let summary = "a point that a stream has passed";
}

def Ascend_FrameType : Ascend_Type<"Frame", "frame"> {
  let summary = "the memory of one chunk's residuals for one micro-batch";
  let description = [{
    From its forward to its backward run. The layout inside is the same for
    all micro-batches of a chunk; only the base differs.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$layout);
  let assemblyFormat = "`<` $layout `>`";
}

// What a call passes to a routine.
def Ascend_ArgumentType : AnyTypeOf<[Ascend_BufferType, Ascend_EventType]>;

#endif // ASCEND_DIALECT_TD
