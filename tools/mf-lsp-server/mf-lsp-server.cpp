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
#include "tools/help/ToolHelp.h"

int main(int argc, char **argv) {
  mf::tools::setUpHelp(
      {}, "\nEXAMPLES:\n\n"
          "  mf-lsp-server                 # an editor starts it and "
          "talks to it over stdio\n"
          "  mf-lsp-server --log=verbose   # the same, with what "
          "they say on standard error\n");
  mlir::DialectRegistry registry;
  registry.insert<mf::ir::MfDialect, mf::ascend::AscendDialect,
                  mlir::DLTIDialect>();
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
