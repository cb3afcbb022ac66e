//===- DistributionTable.h - Distributions by number -----------*- C++ -*-===//
//
// A step has few distributions and very many operations: each distribution has
// a number, and the result of a kernel for given numbers is computed once.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_DISTRIBUTIONTABLE_H
#define MF_LIB_PROGRAM_DISTRIBUTIONTABLE_H

#include "Distribution.h"
#include <map>
#include <memory>

namespace mf::program {

/// Bytes [begin, end) of a buffer and their distribution.
struct ContentPiece {
  int64_t begin = 0;
  int64_t end = 0;
  uint32_t distribution = 0;

  bool operator<(const ContentPiece &other) const {
    return std::tie(begin, end, distribution) <
           std::tie(other.begin, other.end, other.distribution);
  }
};

/// The contents of a buffer, as pieces in the order of their bytes; nothing was
/// written elsewhere.
using Content = std::vector<ContentPiece>;

class DistributionTable {
public:
  /// The number of zeros.
  static constexpr uint32_t zero = 0;

  explicit DistributionTable(const Program &program);

  uint32_t add(Distribution distribution);
  const Distribution &get(uint32_t number) const { return *numbered[number]; }

  /// The contents of a static as the program declares them.
  Content getStatic(const Static &buffer);

  /// The one distribution of bytes of a buffer.
  uint32_t read(const Content &content, int64_t offset, int64_t bytes);
  void write(Content &content, int64_t offset, int64_t bytes,
             uint32_t distribution);
  /// Bytes of a buffer as a buffer, and the other way round.
  Content extract(const Content &content, int64_t offset, int64_t bytes) const;
  void insert(Content &content, int64_t offset, const Content &part);

  struct Outcome {
    std::vector<uint32_t> outputs;
    std::optional<DistributionError> error;
  };
  /// The distributions of a kernel's outputs, given those of its inputs and of
  /// the former contents of its outputs. Fails where the kernel's signature
  /// does not say.
  llvm::Expected<const Outcome *> apply(uint32_t kernel,
                                        llvm::ArrayRef<uint32_t> operands);

private:
  /// A step of a launch: the launch itself, but for a chain of kernels.
  struct Step {
    KernelDistribution distribution;
    /// Operands of the launch, or ~i for the result of step i.
    std::vector<int64_t> operands;
  };
  using Steps = std::vector<Step>;
  static llvm::Error addSteps(const LaunchedKernel &kernel, Steps &steps);
  std::optional<DistributionError> run(const Steps &steps,
                                       llvm::ArrayRef<uint32_t> operands,
                                       std::vector<Distribution> &outputs);

  const Program &program;
  std::map<Distribution, uint32_t> numbers;
  /// Keys of `numbers`, which stay where they are.
  std::vector<const Distribution *> numbered;
  std::map<uint32_t, Steps> kernels;
  std::map<std::vector<uint32_t>, Outcome> outcomes;
};

} // namespace mf::program

#endif // MF_LIB_PROGRAM_DISTRIBUTIONTABLE_H
