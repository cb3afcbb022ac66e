//===- YamlServer.h - Language server for training YAMLs --------*- C++ -*-===//

#ifndef MF_TOOLS_MF_LSP_SERVER_YAMLSERVER_H
#define MF_TOOLS_MF_LSP_SERVER_YAMLSERVER_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/LSP/Transport.h"

namespace mf::lsp {

/// Talks to an editor over `transport` until it says goodbye. Returns whether
/// it did so in the protocol's way.
bool runYamlServer(llvm::lsp::JSONTransport &transport,
                   mlir::MLIRContext &context);

} // namespace mf::lsp

#endif // MF_TOOLS_MF_LSP_SERVER_YAMLSERVER_H
