//===- MuonUpdate.h - The update of one matrix by Muon ----------*- C++ -*-===//

#ifndef MF_PASSES_OPTIMIZER_MUONUPDATE_H
#define MF_PASSES_OPTIMIZER_MUONUPDATE_H

#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Config/TrainingConfig.h"

namespace mf::passes {

/// Builds Muon's update of parameters, as operators on whole matrices in bf16:
/// each rank's direction is gathered, made orthogonal by Newton-Schulz steps,
/// and of the result a rank takes its own part.
class MuonBuilder {
public:
  MuonBuilder(mlir::OpBuilder &builder, ir::OptimizerAttr optimizer,
              mlir::Value overflow)
      : builder(builder), optimizer(optimizer),
        muon(optimizer.getMuon().getConfig()), overflow(overflow) {}

  /// Updates all of `params` at the learning rates that they have. Where each
  /// matrix is worked on by one rank, parameters of one type, layout and kind
  /// of matrices are updated together, one for each rank.
  void updateAll(llvm::ArrayRef<ir::ParamOp> params,
                 llvm::function_ref<mlir::Value(ir::ParamOp)> getRate);

private:
  void update(ir::ParamOp param, mlir::Value rate);
  /// One for each of the ranks that have parts of them.
  void updateTogether(llvm::ArrayRef<ir::ParamOp> params,
                      llvm::ArrayRef<mlir::Value> rates);
  /// The number of ranks over which the matrices of parameters such as `param`
  /// are spread: 1 where each rank works on all of them.
  int64_t getNumOwners(ir::ParamOp param);
  mlir::Value buildDirection(ir::ParamOp param);
  mlir::Value gather(ir::ParamOp param, mlir::Value part);
  mlir::Value takeOwnPart(ir::ParamOp param, mlir::Value whole);
  mlir::Value orthogonalize(ir::ParamOp param, mlir::Value whole);
  llvm::SmallVector<mlir::Value>
  orthogonalizeEach(llvm::ArrayRef<mlir::Value> matrices);
  llvm::SmallVector<mlir::Value>
  split(mlir::Value whole, llvm::ArrayRef<int64_t> sizes, int64_t axis);
  mlir::Value join(llvm::ArrayRef<mlir::Value> parts, int64_t axis);
  mlir::Value normalize(mlir::Value matrices);
  mlir::Value runNewtonSchulz(mlir::Value matrices);
  mlir::Value convert(mlir::Value value, mlir::Type element);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  void takeStep(ir::ParamOp param, mlir::Value direction, mlir::Value rate);
  /// The factor of the largest matrix of a parameter, in front of the learning
  /// rate.
  double getScale(int64_t rows, int64_t columns);

  mlir::OpBuilder &builder;
  ir::OptimizerAttr optimizer;
  MuonConfig muon;
  mlir::Value overflow;
  mlir::Location loc = builder.getUnknownLoc();
  /// The factor of the last parameter that was made orthogonal; 1 if it is in
  /// the direction.
  double scale = 0;
};

} // namespace mf::passes

#endif // MF_PASSES_OPTIMIZER_MUONUPDATE_H
