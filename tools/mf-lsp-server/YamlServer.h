//===- YamlServer.h - Language server for training YAMLs --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_LSP_SERVER_YAMLSERVER_H
#define MF_TOOLS_MF_LSP_SERVER_YAMLSERVER_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/LSP/Transport.h"

namespace mf::lsp {

/// Serves an editor over `transport` until it ends the connection. Returns true
/// if it did so as the protocol requires.
bool runYamlServer(llvm::lsp::JSONTransport &transport,
                   mlir::MLIRContext &context);

} // namespace mf::lsp

#endif // MF_TOOLS_MF_LSP_SERVER_YAMLSERVER_H
