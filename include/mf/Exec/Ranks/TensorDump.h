//===- TensorDump.h - The values that operators make in a step -*- C++ -*-===//
//
// Both engines say here what each operator of the model makes. The values whose
// names fit a pattern are kept, and written as safetensors with the order in
// which they came and the roundings behind them (TensorTrace.h), so that a step
// of another program can be compared operator by operator. Names:
//
//   step.3/micro.0/layers.1.attention.wq.matmul       what forward makes
//   step.3/micro.0/layers.1.attention.wq.matmul.grad  what its gradient makes
//   step.3/gradient/layers.1.attention.wq.weight      summed over all
//
// The second value of a name in a micro-batch is called `NAME#2`. A kernel with
// several outputs gives each its own name behind a colon. Where a stage has
// several ranks, `rank.N/` stands behind the step.
//
//===----------------------------------------------------------------------===//

#ifndef MF_RANKS_TENSORDUMP_H
#define MF_RANKS_TENSORDUMP_H

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
  /// Whether it runs in forward. Behind forward only gradients are new: other
  /// operators are run again.
  bool isForward = true;
  /// The operator's place in the model.
  llvm::StringRef cell;
};

/// A value that an operator makes.
struct MadeTensor {
  /// The kernel's name of it; empty if it is the only one.
  llvm::StringRef name;
  TensorShape shape;
  /// The bytes, and how many there are: at least those of the shape.
  llvm::ArrayRef<uint8_t> bytes;
};

class TensorDump {
public:
  /// `pattern` is a glob over names without the step, micro-batch and rank, as
  /// `layers.0.*` or `*{norm,add}`.
  static llvm::Expected<std::shared_ptr<TensorDump>>
  create(llvm::StringRef pattern, llvm::StringRef path);

  llvm::StringRef getPath() const { return path; }

  /// Keeps values from now on.
  void beginStep(int64_t step, int64_t ranksPerStage);
  /// Whether a step is kept. Does not change while one runs.
  bool isActive() const { return step > 0; }

  /// May be called by several threads at once.
  void add(const OperatorRun &run, llvm::ArrayRef<MadeTensor> made);
  /// Adds the gradients of parameters, summed over micro-batches and ranks.
  void addGradients(TensorValues gradients);

  /// Writes the file. Fails if no name fits the pattern.
  llvm::Error write();

private:
  struct Kept {
    TracedTensor traced;
    TensorShape shape;
    std::vector<uint8_t> bytes;
  };
  /// The operators of a micro-batch so far, on ranks that differ in their stage
  /// alone.
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
  /// By micro-batch and number of the rank in its stage.
  std::map<std::pair<int64_t, int64_t>, Progress> microBatches;
  /// How many values of a name there are so far.
  std::map<std::string, int64_t> numbers;
  /// By micro-batch; behind the last one the gradients of parameters.
  std::map<int64_t, std::vector<Kept>> kept;
  /// One that does not fit, to say what names look like.
  std::string otherName;
};

/// The outputs of a kernel that it overwrites, as what its run makes.
/// `getBytes(i)` are those of output `i`.
llvm::SmallVector<MadeTensor, 2>
describeOutputs(const KernelSignature &signature,
                llvm::ArrayRef<TensorShape> shapes,
                llvm::function_ref<llvm::ArrayRef<uint8_t>(size_t)> getBytes);

} // namespace mf::ranks

#endif // MF_RANKS_TENSORDUMP_H
