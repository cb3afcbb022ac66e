//===- IrServer.h - Adds to the hovers of MLIR's server ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_LSP_SERVER_IRSERVER_H
#define MF_TOOLS_MF_LSP_SERVER_IRSERVER_H

#include "mlir/IR/DialectRegistry.h"

namespace mf::lsp {

/// Runs MLIR's server on the process's standard streams and adds the cost of
/// operations to its answers to hover requests. MLIR's server is not
/// extensible, so all messages pass through this function. Returns the exit
/// code.
int runIrServer(int argc, char **argv, mlir::DialectRegistry &registry);

} // namespace mf::lsp

#endif // MF_TOOLS_MF_LSP_SERVER_IRSERVER_H
