//===- IrHover.h - What an operator costs, in an editor ---------*- C++ -*-===//

#ifndef MF_TOOLS_MF_LSP_SERVER_IRHOVER_H
#define MF_TOOLS_MF_LSP_SERVER_IRHOVER_H

#include "mlir/IR/Operation.h"
#include "llvm/Support/LSP/Protocol.h"
#include <memory>
#include <string>

namespace mf::lsp {

/// Markdown with the bytes of the results, the work of the kernel and the marks
/// of recompute and swap; empty for an operation that has none of them.
std::string describeCost(mlir::Operation *op);

/// Finds operations of the text that an editor shows. Keeps the IR of the text
/// that it was asked for last, as reading it takes long.
class IrHover {
public:
  explicit IrHover(const mlir::DialectRegistry &registry);
  ~IrHover();

  /// The cost of the operation whose name or result stands at a position;
  /// empty if none does or the text is no IR.
  std::string describe(const std::shared_ptr<const std::string> &text,
                       const llvm::lsp::Position &position);

private:
  struct ReadText;
  mlir::MLIRContext context;
  std::unique_ptr<ReadText> last;
};

} // namespace mf::lsp

#endif // MF_TOOLS_MF_LSP_SERVER_IRHOVER_H
