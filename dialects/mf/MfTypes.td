//===- MfTypes.td - Types of the mf dialect --------------------*- tablegen -*-===//

#ifndef MF_TYPES_TD
#define MF_TYPES_TD

include "dialects/mf/MfDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypes.td"

class Mf_Type<string className, string typeMnemonic>
    : TypeDef<Mf_Dialect, className> {
  let mnemonic = typeMnemonic;
}

def Mf_HostType : Mf_Type<"Host", "host"> {
  let summary = "a tensor that lies in host memory";
  let description = [{
    The type of an activation that has left device memory: `mf.offload` makes
    it in forward, `mf.prefetch` reads it in backward. No other operation takes
    it, so a forgotten copy is a type error.
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tensor);
  let assemblyFormat = "`<` $tensor `>`";
}

def Mf_FrameType : Mf_Type<"Frame", "frame"> {
  let summary = "the residuals of one chunk and micro-batch";
  let description = [{
    What a run of a forward function keeps for its backward function. A
    schedule passes residuals as one value, so that its size does not grow
    with the number of residuals.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$chunk);
  let assemblyFormat = "`<` $chunk `>`";
}

// Sizes computed from such a tensor do not overflow.
class Mf_Tensor<list<Type> elements>
    : RankedTensorOf<elements, [HasStaticShapePred,
          CPred<"::mf::ir::hasAddressableSize($_self)">],
          "statically shaped tensor of at most 2^48 bytes">;

def Mf_FloatTensor : Mf_Tensor<[F32, BF16, F16]>;
def Mf_IndexTensor : Mf_Tensor<[I32]>;
def Mf_AnyTensor : Mf_Tensor<[F32, BF16, F16, I32]>;
// A bit per element, packed as aclnnDropoutGenMask does.
def Mf_MaskTensor : Mf_Tensor<[I1]>;
// The values that seed the random bits of an operator: seed, step, micro-batch.
def Mf_DrawTensor : Mf_Tensor<[I64]>;
// A value that forward may keep for backward.
def Mf_KeptTensor : Mf_Tensor<[F32, BF16, F16, I32, I1]>;
// A value that the host provides to a micro-batch, and any value that a run
// takes.
def Mf_LoadedTensor : Mf_Tensor<[I32, I64]>;
def Mf_PassedTensor : Mf_Tensor<[F32, BF16, F16, I32, I64]>;

#endif // MF_TYPES_TD
