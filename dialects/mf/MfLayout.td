//===- MfLayout.td - Layouts of tensors --------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LAYOUT_TD
#define MF_LAYOUT_TD

include "dialects/mf/MfDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"

def Mf_LayoutAttr : AttrDef<Mf_Dialect, "Layout", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "layout";
  let summary = "how a tensor lies on the ranks of a mesh";
  let description = [{
    `#mf.layout<[[dp], [cp, mp], []], partial = [], reduced = []>` lists for each
    dimension the axes that cut it, the outer one first. `partial`: each rank of
    these axes has a summand of the tensor. `reduced`: all ranks of these axes
    have the same tensor, and each has a summand of its gradient. On all other
    axes the tensor is replicated: ranks have the same tensor and the same
    gradient. An axis occurs at most once.

    As in JAX, the gradient of a tensor has the same cuts as the tensor, is
    reduced over the axes over which the tensor is partial, and partial over
    those over which it is reduced.

    The layout is the encoding of tensor types between the sharding passes, where
    shapes are those of whole tensors. Only `mf.param` keeps it afterwards.
  }];
  let parameters = (ins "::mlir::ArrayAttr":$cuts, "::mlir::ArrayAttr":$partial,
                        "::mlir::ArrayAttr":$reduced);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the layout of a tensor type, or null if it has none.
    static LayoutAttr find(::mlir::Type type);
  }];
}

#endif // MF_LAYOUT_TD
