//===- Rank.h - The state of one rank ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_INTERPRETER_RANK_H
#define MF_LIB_EXEC_INTERPRETER_RANK_H

#include "Tensor.h"
#include "TensorExchange.h"
#include "dialects/mf/DiscardableAttributes.h"
#include "dialects/mf/MfDialect.h"
#include "dialects/mf/MfOps.h"
#include "mf/Exec/Data/Safetensors.h"
#include "mf/Exec/Kernels/Kernel.h"
#include "mf/Exec/Ranks/Training.h"
#include "mf/Program/Mesh.h"
#include "llvm/ADT/StringSet.h"

namespace mf::interpreter {

/// Returns the shape of a ranked tensor type, or of such a tensor in host
/// memory.
mlir::FailureOr<TensorShape> getTensorShape(mlir::Operation *op,
                                            mlir::Type type);

/// Makes kernels and runs them immediately.
class KernelRunner {
public:
  explicit KernelRunner(int threads) : pool(threads) {}

  /// Runs the kernel `name`. Reports errors at `op`.
  mlir::LogicalResult launch(mlir::Operation *op, llvm::StringRef name,
                             llvm::ArrayRef<Tensor> inputs,
                             llvm::ArrayRef<Tensor> outputs,
                             mlir::DictionaryAttr attributes);

  /// Returns the results of an operator on `operands`: those of its kernel in
  /// new memory, or its view.
  mlir::LogicalResult compute(ir::ComputeOpInterface op,
                              llvm::ArrayRef<Tensor> operands,
                              llvm::SmallVectorImpl<Tensor> &results);

private:
  struct Prepared {
    std::unique_ptr<Kernel> kernel;
    int64_t workspaceBytes = 0;
  };

  mlir::FailureOr<Prepared> make(mlir::Operation *op, llvm::StringRef name,
                                 llvm::ArrayRef<Tensor> inputs,
                                 llvm::ArrayRef<Tensor> outputs,
                                 mlir::DictionaryAttr attributes);
  void run(const Prepared &prepared, llvm::ArrayRef<Tensor> inputs,
           llvm::ArrayRef<Tensor> outputs);

  ThreadPool pool;
  /// The kernels of operators, whose types never change.
  llvm::DenseMap<mlir::Operation *, Prepared> kernels;
};

/// State that all ranks share.
struct World {
  World(ir::ModelOp model, const ranks::TrainingOptions &options, int threads)
      : model(model), symbols(model), options(options), kernels(threads),
        exchange(scheduler) {}

  ir::ModelOp model;
  mlir::SymbolTable symbols;
  ranks::TrainingOptions options;
  KernelRunner kernels;
  RankScheduler scheduler;
  TensorExchange exchange;
  program::Mesh mesh;
  int64_t microBatches = 1;
  /// The number of runs of each chunk in a step. Each run has one micro-batch
  /// for each copy of the model.
  int64_t runs = 1;
  /// The input of the step that runs.
  ranks::StepInput input;
  /// The file of initial values, if there is one.
  std::optional<SafetensorsCheckpoint> parameters;
};

/// Tensors of values of the IR.
using Environment = llvm::DenseMap<mlir::Value, Tensor>;

/// One rank: its state by parameter, which is kept from step to step, and the
/// sums of a step.
class Rank {
public:
  /// `trained` are the parameters whose gradients the rank computes.
  Rank(World &world, int64_t number, int64_t stage, llvm::StringSet<> trained)
      : world(world), number(number), stage(stage),
        trained(std::move(trained)) {}

  World &getWorld() const { return world; }
  int64_t getNumber() const { return number; }
  int64_t getStage() const { return stage; }
  /// Returns the rank of another stage with this one's other coordinates.
  int64_t getPeer(int64_t otherStage) const {
    return world.mesh.getRankOfStage(number, otherStage);
  }

  /// Returns the memory of a parameter's state, initialised if it is new. For a
  /// parameter tied to one that this rank trains, it is that one's memory.
  mlir::FailureOr<Tensor> getState(mlir::Operation *user, ir::State kind,
                                   llvm::StringRef parameter);

  /// Sets what the rank runs next: operators of forward or backward of a
  /// micro-batch. `layer` is the cell that contains them, if their names do not
  /// have it.
  void beginTask(int64_t microBatch, bool isForward,
                 llvm::StringRef layer = "") {
    task = {microBatch, isForward, layer};
  }
  /// Dumps the outputs of a kernel, or of the collective, that `op` ran, if
  /// they are wanted.
  void dump(mlir::Operation *op, llvm::StringRef kernel,
            llvm::ArrayRef<Tensor> outputs) const;
  void dump(mlir::Operation *op, CollectiveKind kind,
            const Tensor &output) const;

  /// Forgets the sums of the last step.
  void beginStep();
  /// Adds a micro-batch's gradient.
  mlir::LogicalResult addGradient(mlir::Operation *op,
                                  llvm::StringRef parameter,
                                  const Tensor &gradient);
  /// Adds to the step's loss, and to `part` of it if that has a name.
  mlir::LogicalResult addLoss(mlir::Operation *op, const Tensor &loss,
                              const ir::LossPart &part);
  /// Returns the tensor of a quantity that the host reads after the step.
  Tensor getReport(llvm::StringRef quantity, const TensorShape &shape);
  void forEachReport(
      llvm::function_ref<void(const std::string &, const Tensor &)> action)
      const;
  /// Stores the gradients as they are, then runs the update of the parameters.
  mlir::LogicalResult runUpdate(ir::UpdateOp update);
  /// Computes the mean of the losses, and stores the gradients if no update
  /// did.
  mlir::LogicalResult endStep();

  /// Returns the tokens or labels of one micro-batch.
  mlir::FailureOr<Tensor> getInput(mlir::Operation *op, ir::InputKind kind,
                                   int64_t microBatch, mlir::Type type);
  /// Returns the gradient that backward of the loss begins with.
  mlir::FailureOr<Tensor> getLossGradient(mlir::Operation *op, double value,
                                          bool isScaled, mlir::Type type);

  /// Adds the rank's parts of the parameters that are neither tables nor tied,
  /// and of the stored gradients.
  llvm::Error addParameters(ranks::WholeTensors &tensors,
                            bool trainedOnly = false) const;
  llvm::Error addGradients(ranks::WholeTensors &tensors) const;

private:
  struct Task {
    int64_t microBatch = 0;
    bool isForward = true;
    llvm::StringRef layer;
  };

  void dump(mlir::Operation *op, llvm::ArrayRef<ranks::MadeTensor> made) const;
  mlir::LogicalResult initialize(mlir::Operation *user, ir::ParamOp param,
                                 const Tensor &part);
  /// Returns the slice of a micro-batch's rows and sequences that a tensor of
  /// `shape` holds; none if it is not cut.
  std::optional<program::Slice> getInputSlice(const TensorShape &shape) const;
  void keepGradients();
  /// Returns the slice of the parameter, or of its gradient, that `tensor`
  /// holds.
  ranks::RankTensor getPart(ir::ParamOp param, ir::LayoutAttr layout,
                            const Tensor &tensor) const;

  World &world;
  int64_t number, stage;
  Task task;
  llvm::StringSet<> trained;
  std::map<std::pair<ir::State, std::string>, Tensor> states;
  std::map<std::string, Tensor> reports;
  /// Parameters with a gradient in this step.
  llvm::StringSet<> summed;
  std::map<std::string, Tensor> keptGradients;
  /// The sum of the step's losses, and the location of the last one.
  Tensor loss;
  mlir::Operation *lossOp = nullptr;
  /// The sums of its parts with a name, each with its unit.
  std::map<std::string, std::pair<Tensor, double>> lossParts;
  bool hasKeptGradients = false;
};

} // namespace mf::interpreter

#endif // MF_LIB_EXEC_INTERPRETER_RANK_H
