//===- DistributionTable.h - Numbered distributions -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A step has few distributions and very many operations. Therefore each
// distribution has a number, and the result of a kernel for given numbers is
// computed once.
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

/// The contents of a buffer as pieces in the order of their bytes. The bytes
/// between them were not written.
using Content = std::vector<ContentPiece>;

class DistributionTable {
public:
  /// The number of the distribution of zeros.
  static constexpr uint32_t zero = 0;

  explicit DistributionTable(const Program &program);

  uint32_t add(Distribution distribution);
  const Distribution &get(uint32_t number) const { return *numbered[number]; }

  const SharedParameters &getShared() const { return shared; }

  /// Returns the axes that follow `name` in the cut of a dimension.
  llvm::SmallVector<uint32_t, 1> getInside(llvm::ArrayRef<std::string> cut,
                                           llvm::StringRef name) const;
  /// Returns the contents of a static as the program declares them.
  Content getStatic(const StageProgram &stage, const Static &buffer);
  /// Marks the complete gradients of a stage as summands of the gradients that
  /// the stages of a group share.
  void beginSum(Content &content, uint32_t group);
  /// Notes that a stage's input of the `number`th collective of a channel
  /// counts a group's value. Returns another stage that counted it, if there is
  /// one.
  std::optional<int64_t> count(uint32_t channel, uint32_t number,
                               uint32_t group, int64_t stage);

  /// Returns the distribution of a range of bytes, which must have a single
  /// one.
  uint32_t read(const Content &content, int64_t offset, int64_t bytes);
  void write(Content &content, int64_t offset, int64_t bytes,
             uint32_t distribution);
  /// Convert a range of bytes of a buffer to a separate buffer, and back.
  Content extract(const Content &content, int64_t offset, int64_t bytes) const;
  void insert(Content &content, int64_t offset, const Content &part);

  struct Outcome {
    /// The operands with the holdings that the kernel can read them with.
    std::vector<uint32_t> operands;
    std::vector<uint32_t> outputs;
    std::optional<DistributionError> error;
  };
  /// Returns the distributions of a kernel's outputs, given those of its inputs
  /// and of the former contents of its outputs. Fails if the kernel's signature
  /// does not define them.
  llvm::Expected<const Outcome *> apply(uint32_t kernel,
                                        llvm::ArrayRef<uint32_t> operands);

private:
  /// A kernel of a launch. A launch has one unless it is a chain.
  struct Member {
    KernelDistribution distribution;
    /// Operands of the launch, or ~i for the result of kernel i.
    std::vector<int64_t> operands;
  };
  using Members = std::vector<Member>;
  static llvm::Error addMembers(const LaunchedKernel &kernel, Members &members);
  std::optional<DistributionError> run(const Members &members,
                                       std::vector<Distribution> &operands,
                                       std::vector<Distribution> &outputs);

  const Program &program;
  const SharedParameters shared;
  /// The stage that counted a value, by channel, number and group.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, int64_t> counted;
  std::map<Distribution, uint32_t> numbers;
  /// The keys of `numbers`, whose addresses are stable.
  std::vector<const Distribution *> numbered;
  std::map<uint32_t, Members> kernels;
  std::map<std::vector<uint32_t>, Outcome> outcomes;
};

} // namespace mf::program

#endif // MF_LIB_PROGRAM_DISTRIBUTIONTABLE_H
