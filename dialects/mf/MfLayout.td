//===- MfLayout.td - Layouts of tensors --------------------*- tablegen -*-===//

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
    `#mf.layout<[[dp], [cp, mp], []], partial = [], reduced = []>`: per
    dimension the axes that cut it, the outer one first. `partial`: each rank of
    these axes has a summand of the tensor. `reduced`: the same on all ranks of
    these axes, and each has a summand of the gradient. On all other axes the
    tensor is replicated: the same, with the same gradient. An axis stands once.
    As JAX types them, so does the gradient of a tensor: cut as the tensor,
    reduced where that is partial and partial where it is reduced.

    It is the encoding of tensors between the sharding passes; shapes are then
    of the whole tensor. On `mf.param` it stays.
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
