//===- ChunkTerms.h - Terms of a chunk's values ----------------*- C++ -*-===//

#ifndef MF_PASSES_CERTIFY_CHUNKTERMS_H
#define MF_PASSES_CERTIFY_CHUNKTERMS_H

#include "dialects/mf/LaunchEmitter.h"
#include "dialects/mf/MfOps.h"
#include "mf/Program/ValueTerms.h"
#include "llvm/ADT/StringMap.h"
#include <deque>

namespace mf::passes {

/// Runs the operators of a chunk on terms, as if they were lowered one by one:
/// each emits its launches, which find the terms of their operands in buffers.
class ChunkTerms : public ir::LaunchEmitter {
public:
  explicit ChunkTerms(ir::ChunkOp chunk);

  /// Runs all operators of the chunk. Reports an error at an operator that has
  /// no term.
  mlir::LogicalResult run();
  /// Returns the term of a value of the chunk.
  program::Term get(mlir::Value value);
  /// Returns pairs of terms: those by which recompute may replace values, and
  /// those of the values.
  llvm::ArrayRef<std::pair<program::Term, program::Term>> getEqual() const {
    return equalTerms;
  }

  ir::EmittedBuffer getBuffer(mlir::Value tensor) override;
  ir::EmittedBuffer createBuffer(mlir::Value tensor) override;
  ir::EmittedBuffer createTemporary(mlir::RankedTensorType type) override;
  ir::EmittedBuffer getCoordinate(mlir::ArrayAttr axes) override;
  ir::EmittedBuffer getState(ir::State state,
                             llvm::StringRef parameter) override;
  ir::EmittedBuffer getReport(llvm::StringRef quantity,
                              mlir::RankedTensorType type) override;
  ir::EmittedBuffer getPart(ir::EmittedBuffer buffer, int64_t byteOffset,
                            mlir::RankedTensorType type) override;
  void launch(llvm::StringRef kernel, llvm::ArrayRef<ir::EmittedBuffer> inputs,
              llvm::ArrayRef<ir::EmittedBuffer> outputs,
              mlir::DictionaryAttr attributes) override;
  void communicate(const ir::EmittedCollective &collective) override;

private:
  /// A tensor in a buffer.
  struct View {
    program::BufferTerms *buffer = nullptr;
    int64_t begin = 0;
    mlir::RankedTensorType type;
  };

  ir::EmittedBuffer add(const View &view);
  View create(mlir::RankedTensorType type, std::optional<program::Term> term);
  static const View &getView(ir::EmittedBuffer buffer) {
    return *static_cast<const View *>(buffer.getHandle());
  }
  static program::TermRange getRange(ir::EmittedBuffer buffer);
  mlir::LogicalResult runOperator(mlir::Operation *op);
  mlir::LogicalResult runSavedForm(ir::SavedFormOpInterface op);
  View readParameter(llvm::StringRef name);
  View getStored(ir::ParamOp param);
  View getStoredOrGathered(ir::ParamOp param);

  ir::ChunkOp chunk;
  mlir::SymbolTable symbols;
  /// The operator that is being run.
  mlir::Operation *current = nullptr;
  mlir::LogicalResult result = mlir::success();
  std::deque<program::BufferTerms> buffers;
  std::deque<View> views;
  llvm::DenseMap<mlir::Value, View> values;
  llvm::StringMap<View> stored, gathered;
  std::vector<std::pair<program::Term, program::Term>> equalTerms;
  program::EqualTerms equal;
};

} // namespace mf::passes

#endif // MF_PASSES_CERTIFY_CHUNKTERMS_H
