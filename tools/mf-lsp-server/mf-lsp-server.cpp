//===- mf-lsp-server.cpp - Language server for .mlir files ----------------===//
//
// Diagnostics, definitions and completion of mf and ascend IR in an editor.
//
//===----------------------------------------------------------------------===//

#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfOps.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "tools/help/HideInherited.h"

int main(int argc, char **argv) {
  mf::tools::hideInheritedOptions();
  mlir::DialectRegistry registry;
  registry.insert<mf::ir::MfDialect, mf::ascend::AscendDialect,
                  mlir::DLTIDialect>();
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
