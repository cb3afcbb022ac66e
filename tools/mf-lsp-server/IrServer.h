//===- IrServer.h - MLIR's language server with more hover ------*- C++ -*-===//

#ifndef MF_TOOLS_MF_LSP_SERVER_IRSERVER_H
#define MF_TOOLS_MF_LSP_SERVER_IRSERVER_H

#include "mlir/IR/DialectRegistry.h"

namespace mf::lsp {

/// Runs MLIR's server on the process's standard streams and adds to its answers
/// to hover what an operation costs. MLIR's server takes no additions, so all
/// messages pass through this one. Returns the exit code.
int runIrServer(int argc, char **argv, mlir::DialectRegistry &registry);

} // namespace mf::lsp

#endif // MF_TOOLS_MF_LSP_SERVER_IRSERVER_H
