//===- MfMesh.td - The ranks of a training step ----------------*- tablegen -*-===//

#ifndef MF_MESH_TD
#define MF_MESH_TD

include "dialects/mf/MfDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Mf_MeshAttr : AttrDef<Mf_Dialect, "Mesh"> {
  let mnemonic = "mesh";
  let summary = "the ranks of a training step as a mesh of named axes";
  let description = [{
    `#mf.mesh<pp = 2, dp = 2, mp = 4>`, as `mf.mesh` of the module: ranks are
    numbered with the last axis fastest. `pp`, the pipeline stages, comes first
    and is there always. An axis that is a product, as the experts' `ep` cuts
    `dp` and `mp` in two, is given as its factors; groups may name several axes.
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
    /// Returns the size of an axis; 1 if there is none of that name.
    int64_t getSize(::llvm::StringRef axis) const;
    int64_t getNumRanks() const;
  }];
}

#endif // MF_MESH_TD
