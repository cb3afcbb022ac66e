//===- StepCosts.h - Costs of a program's instructions ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PERF_SIMULATOR_STEPCOSTS_H
#define MF_LIB_PERF_SIMULATOR_STEPCOSTS_H

#include "mf/Perf/Target/KernelCost.h"
#include "mf/Perf/Target/Target.h"
#include "mf/Perf/Target/Topology.h"
#include "mf/Program/Program.h"
#include <map>

namespace mf::simulator {

/// Times of everything that a program does on a target. Instructions that are
/// alike share an entry.
class StepCosts {
public:
  /// Fails if a kernel has no rate, at the location of its first launch, or if
  /// the target joins fewer ranks than there are.
  static llvm::Expected<StepCosts> create(const program::Program &program,
                                          const target::Target &target,
                                          double expertLoad = 1);

  /// Makes costs in which kernels take time in proportion to their FLOPs,
  /// messages between stages take a constant time, and nothing else takes any.
  static StepCosts createOfFlops(const program::Program &program,
                                 double flopsPerUnit, double messageTime);

  /// Updates the costs for a target with other numbers. The slowest groups of
  /// ranks are not determined again.
  llvm::Error update(const program::Program &program,
                     const target::Target &target);

  /// Returns the properties of the compilation that kernels were timed with.
  const target::Compilation &getCompilation() const { return compilation; }
  double getKernelSeconds(uint32_t kernel) const { return kernels[kernel]; }

  /// Returns the entry of an exchange, which is in `list` of a stage.
  uint32_t getTransferNumber(size_t stage, const program::InstructionList &list,
                             const program::Instruction &instruction) const;
  const target::TransferCost &getTransfer(uint32_t number) const {
    return transfers[number];
  }
  llvm::ArrayRef<int64_t> getRanks(uint32_t number) const {
    return slowestGroups[number];
  }

  /// Returns the time of a copy on a stream of this kind.
  double getCopySeconds(program::StreamKind stream, int64_t bytes) const;

private:
  /// The properties that decide the cost of an exchange.
  struct TransferKey {
    size_t stage = 0;
    uint32_t channel = 0;
    CollectiveKind kind = CollectiveKind::AllReduce;
    int64_t bytes = 0;

    bool operator<(const TransferKey &other) const {
      return std::tie(stage, channel, kind, bytes) <
             std::tie(other.stage, other.channel, other.kind, other.bytes);
    }
  };

  static TransferKey makeKey(size_t stage, const program::InstructionList &list,
                             const program::Instruction &instruction);
  target::TransferCost computeCost(const TransferKey &key,
                                   const program::Channel &channel,
                                   llvm::ArrayRef<int64_t> members,
                                   const target::Topology &topology) const;
  void collectTransfers(const program::Program &program);
  void findSlowestGroups(const program::Program &program,
                         const target::Topology &topology);
  llvm::Error updateKernels(const program::Program &program,
                            const target::Target &target);
  void updateTransfers(const program::Program &program,
                       const target::Topology &topology);

  target::Compilation compilation;
  std::vector<double> kernels;
  std::map<TransferKey, uint32_t> transferNumbers;
  std::vector<target::TransferCost> transfers;
  /// The ranks that decide the cost of each.
  std::vector<std::vector<int64_t>> slowestGroups;
  target::HostLink host;
  double memoryBytesPerSecond = 0;
  bool copiesTakeTime = true;
  /// The tokens of the fullest rank's experts, divided by the mean.
  double expertLoad = 1;
};

/// Returns the bytes of an exchange: those of a message, or of the largest
/// tensor of a collective. For an exchange of rows, they are the rows of a rank
/// if these were spread evenly, not the room for rows.
int64_t getTransferBytes(const program::InstructionList &list,
                         const program::Instruction &instruction);

} // namespace mf::simulator

#endif // MF_LIB_PERF_SIMULATOR_STEPCOSTS_H
