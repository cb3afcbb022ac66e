//===- TermEmitter.h - Launches that run on terms ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_CERTIFY_TERMEMITTER_H
#define MF_PASSES_CERTIFY_TERMEMITTER_H

#include "dialects/mf/LaunchEmitter.h"
#include "dialects/mf/MfOps.h"
#include "mf/Program/ValueTerms.h"
#include <deque>

namespace mf::passes {

/// Runs the launches and collectives of operators on terms, which it keeps per
/// buffer.
class TermEmitter : public ir::LaunchEmitter {
public:
  /// Returns the term of a value that an operator has computed.
  program::Term get(mlir::Value value);

  ir::EmittedBuffer getBuffer(mlir::Value tensor) override;
  ir::EmittedBuffer createBuffer(mlir::Value tensor) override;
  ir::EmittedBuffer createTemporary(mlir::RankedTensorType type) override;
  ir::EmittedBuffer getCoordinate(mlir::ArrayAttr axes) override;
  ir::ParamOp getParam(llvm::StringRef parameter) override {
    return symbols.lookup<ir::ParamOp>(parameter);
  }
  ir::EmittedBuffer getPart(ir::EmittedBuffer buffer, int64_t byteOffset,
                            mlir::RankedTensorType type) override;
  void launch(llvm::StringRef kernel, llvm::ArrayRef<ir::EmittedBuffer> inputs,
              llvm::ArrayRef<ir::EmittedBuffer> outputs,
              mlir::DictionaryAttr attributes) override;
  void communicate(const ir::EmittedCollective &collective) override;

protected:
  /// A tensor in a buffer.
  struct View {
    program::BufferTerms *buffer = nullptr;
    int64_t begin = 0;
    mlir::RankedTensorType type;
  };

  /// Runs operators inside of `scope`, a chunk or an update of a model.
  explicit TermEmitter(mlir::Operation *scope);

  ir::EmittedBuffer add(const View &view);
  View create(mlir::RankedTensorType type, std::optional<program::Term> term);
  static const View &getView(ir::EmittedBuffer buffer) {
    return *static_cast<const View *>(buffer.getHandle());
  }
  static program::TermRange getRange(const View &view);
  void runCompute(ir::ComputeOpInterface op);

  mlir::Operation *scope;
  mlir::SymbolTable symbols;
  /// The operator that runs.
  mlir::Operation *current = nullptr;
  mlir::LogicalResult result = mlir::success();
  std::deque<View> views;
  llvm::DenseMap<mlir::Value, View> values;
  program::EqualTerms equal;

private:
  std::deque<program::BufferTerms> buffers;
};

} // namespace mf::passes

#endif // MF_PASSES_CERTIFY_TERMEMITTER_H
