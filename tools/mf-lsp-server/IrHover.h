//===- IrHover.h - Costs of operators in an editor --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_LSP_SERVER_IRHOVER_H
#define MF_TOOLS_MF_LSP_SERVER_IRHOVER_H

#include "mlir/IR/Operation.h"
#include "llvm/Support/LSP/Protocol.h"
#include <memory>
#include <string>

namespace mf::lsp {

/// Returns Markdown with the bytes of the results, the work of the kernel and
/// the marks of recompute and swap; empty for an operation without any of
/// these.
std::string describeCost(mlir::Operation *op);

/// Finds operations in the text that an editor shows. Caches the parsed IR of
/// the last text, as parsing is slow.
class IrHover {
public:
  explicit IrHover(const mlir::DialectRegistry &registry);
  ~IrHover();

  /// Returns the cost of the operation whose name or result is at a position;
  /// empty if there is none or the text is not valid IR.
  std::string describe(const std::shared_ptr<const std::string> &text,
                       const llvm::lsp::Position &position);

private:
  struct ReadText;
  mlir::MLIRContext context;
  std::unique_ptr<ReadText> last;
};

} // namespace mf::lsp

#endif // MF_TOOLS_MF_LSP_SERVER_IRHOVER_H
