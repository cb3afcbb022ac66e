//===- Servers.h - Servers for editors of IR and of YAMLs -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_LSP_SERVER_SERVERS_H
#define MF_TOOLS_MF_LSP_SERVER_SERVERS_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/LSP/Transport.h"

namespace mf::lsp {

/// Runs MLIR's server on the process's standard streams and adds the cost of
/// operations to its answers to hover requests. MLIR's server is not
/// extensible, so all messages pass through this function. Returns the exit
/// code.
int runIrServer(int argc, char **argv, mlir::DialectRegistry &registry);

/// Serves an editor over `transport` until it ends the connection. Returns true
/// if it did so as the protocol requires.
bool runYamlServer(llvm::lsp::JSONTransport &transport,
                   mlir::MLIRContext &context);

} // namespace mf::lsp

#endif // MF_TOOLS_MF_LSP_SERVER_SERVERS_H
