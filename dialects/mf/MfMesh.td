//===- MfMesh.td - The ranks of a training step ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_MESH_TD
#define MF_MESH_TD

include "dialects/mf/MfDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Mf_MeshAttr : AttrDef<Mf_Dialect, "Mesh"> {
  let mnemonic = "mesh";
  let summary = "the ranks of a training step as a mesh of named axes";
  let description = [{
    `#mf.mesh<pp = 2, dp = 2, mp = 4>` is the attribute `mf.mesh` of the module.
    Ranks are numbered such that the last axis varies fastest. The first axis is
    always `pp`, the pipeline stages. Where another axis divides `dp` or `mp`, as
    `ep` of experts does, the mesh has the factors as axes of their own, and a
    group names all those that it runs over.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$axes,
                        ArrayRefParameter<"int64_t">:$sizes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The name of the module's attribute.
    static constexpr ::llvm::StringLiteral attributeName = "mf.mesh";
    /// Returns the mesh of the module that contains `op`, or null.
    static MeshAttr find(::mlir::Operation *op);
    /// Returns the size of an axis, or 1 if the mesh has no axis of this name.
    int64_t getSize(::llvm::StringRef axis) const;
    int64_t getNumRanks() const;
  }];
}

#endif // MF_MESH_TD
