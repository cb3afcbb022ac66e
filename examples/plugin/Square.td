//===- Square.td - An operator beside mf's ---------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Square_Dialect : Dialect {
  let name = "square";
  let cppNamespace = "::square";
}

def SquareOp : Op<Square_Dialect, "square", [Pure, SameOperandsAndResultType]> {
  let summary = "elementwise square";
  let description = [{
    `square-expand` makes it `mf.mul` of the input and itself, before the
    passes of a training step see it.
  }];
  let arguments = (ins AnyRankedTensor:$input, OptionalAttr<StrAttr>:$name);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}
