//===- MfTypes.td - Types of the mf dialect --------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

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
    A run of the forward function of `chunk` keeps these values for its backward
    function. A schedule passes all residuals as one value, so that its size does
    not grow with their number.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$chunk);
  let assemblyFormat = "`<` $chunk `>`";
}

// The bound keeps 64-bit sizes that are computed from a tensor from overflowing.
class Mf_Tensor<list<Type> elements>
    : RankedTensorOf<elements, [HasStaticShapePred,
          CPred<"::mf::ir::hasAddressableSize($_self)">],
          "statically shaped tensor of at most 2^48 bytes">;

def Mf_FloatTensor : Mf_Tensor<[F32, BF16, F16]>;
def Mf_IndexTensor : Mf_Tensor<[I32]>;
def Mf_AnyTensor : Mf_Tensor<[F32, BF16, F16, I32]>;
// A tensor of one bit per element, packed as by aclnnDropoutGenMask.
def Mf_MaskTensor : Mf_Tensor<[I1]>;
// The numbers that define the random bits of an operator: seed, step,
// micro-batch.
def Mf_DrawTensor : Mf_Tensor<[I64]>;
// A value that forward may keep for backward.
def Mf_KeptTensor : Mf_Tensor<[F32, BF16, F16, I32, I1]>;
// A value that the host provides to a micro-batch, and any value that a task
// takes.
def Mf_LoadedTensor : Mf_Tensor<[I32, I64]>;
def Mf_PassedTensor : Mf_Tensor<[F32, BF16, F16, I32, I64]>;

#endif // MF_TYPES_TD
