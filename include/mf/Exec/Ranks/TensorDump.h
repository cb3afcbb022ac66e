//===- TensorDump.h - Results of operators in a step ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Both engines report the results of each operator of the model here. Values
// whose names match a pattern are kept and written as safetensors, with their
// order and the roundings that they went through (TensorTrace.h), so that a
// step of another program can be compared operator by operator. Names:
//
//   step.3/micro.0/layers.1.attention.wq.matmul       result in forward
//   step.3/micro.0/layers.1.attention.wq.matmul.grad  result of its gradient
//   step.3/gradient/layers.1.attention.wq.weight      sum over all
//
// The second value of the same name in a micro-batch is called `NAME#2`.
// Outputs of a kernel that has several of them append a colon and the output's
// name. If a stage has several ranks, `rank.N/` follows the step.
//
//===----------------------------------------------------------------------===//

#ifndef MF_EXEC_RANKS_TENSORDUMP_H
#define MF_EXEC_RANKS_TENSORDUMP_H

#include "mf/Exec/Data/TensorTrace.h"
#include "mf/Exec/Ranks/WholeTensors.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include "llvm/Support/GlobPattern.h"
#include <mutex>

namespace mf::ranks {

/// One run of an operator of the model.
struct OperatorRun {
  int64_t rank = 0;
  int64_t microBatch = 0;
  /// True if it runs in forward. Backward reports new gradients only; other
  /// operators that run there are recomputed.
  bool isForward = true;
  /// The operator's cell in the model.
  llvm::StringRef cell;
};

/// A value that an operator computes.
struct MadeTensor {
  /// The kernel's name for the output; empty if it is the only one.
  llvm::StringRef name;
  TensorShape shape;
  /// The bytes of the value, at least those of the shape.
  llvm::ArrayRef<uint8_t> bytes;
};

/// Collects the results of operators in one step and writes them to a file.
class TensorDump {
public:
  /// `pattern` is a glob over names without the step, micro-batch and rank, for
  /// example `layers.0.*` or `*{norm,add}`.
  static llvm::Expected<std::shared_ptr<TensorDump>>
  create(llvm::StringRef pattern, llvm::StringRef path);

  llvm::StringRef getPath() const { return path; }

  /// Starts a step whose values are kept.
  void beginStep(int64_t step, int64_t ranksPerStage);
  /// Returns whether values are kept. Does not change while a step runs.
  bool isActive() const { return step > 0; }

  /// Adds the results of an operator. Thread-safe.
  void add(const OperatorRun &run, llvm::ArrayRef<MadeTensor> made);
  /// Adds the gradients of parameters, summed over micro-batches and ranks.
  void addGradients(TensorValues gradients);

  /// Writes the file. Fails if no name matches the pattern.
  llvm::Error write();

private:
  struct Kept {
    TracedTensor traced;
    TensorShape shape;
    std::vector<uint8_t> bytes;
  };
  /// The operators that have run of a micro-batch, on ranks that differ only in
  /// their stage.
  struct Progress {
    int64_t depth = 0;
    double rounding = 0;
  };

  TensorDump(llvm::GlobPattern pattern, llvm::StringRef path)
      : pattern(std::move(pattern)), path(path.str()) {}

  const llvm::GlobPattern pattern;
  const std::string path;
  int64_t step = 0;
  int64_t ranksPerStage = 1;

  std::mutex mutex;
  /// The progress by micro-batch and index of the rank in its stage.
  std::map<std::pair<int64_t, int64_t>, Progress> microBatches;
  /// The number of values of each name so far.
  std::map<std::string, int64_t> numbers;
  /// The kept values by micro-batch. The gradients of parameters follow the
  /// last one.
  std::map<int64_t, std::vector<Kept>> kept;
  /// A name that does not match, to show in messages what names look like.
  std::string otherName;
};

/// Returns the outputs that a kernel overwrites, as the results of its run.
/// `getBytes(i)` returns the bytes of output `i`.
llvm::SmallVector<MadeTensor, 2>
describeOutputs(const KernelSignature &signature,
                llvm::ArrayRef<TensorShape> shapes,
                llvm::function_ref<llvm::ArrayRef<uint8_t>(size_t)> getBytes);

} // namespace mf::ranks

#endif // MF_EXEC_RANKS_TENSORDUMP_H
