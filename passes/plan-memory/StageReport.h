//===- StageReport.h - Costs of a planned program ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_PLAN_MEMORY_STAGEREPORT_H
#define MF_PASSES_PLAN_MEMORY_STAGEREPORT_H

#include "dialects/ascend/AscendDialect.h"
#include "mf/Perf/Target/DeviceNeed.h"
#include "mf/Program/TrainerMemory.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"
#include <map>

namespace mf::passes {

/// Exchanges of one kind, with the same ranks and of the same size.
struct ExchangeKind {
  /// The kind, for example "all_gather" or "send".
  std::string kind;
  /// The axes of a group, for example "dp, mp", or the peer of a transfer, for
  /// example "pp = 1".
  std::string ranks;
  /// The bytes of the input or the output, whichever is larger.
  int64_t bytes = 0;

  bool operator<(const ExchangeKind &other) const {
    return std::tie(kind, ranks, bytes) <
           std::tie(other.kind, other.ranks, other.bytes);
  }
};

/// The bytes of each layer's residuals for one micro-batch, in frames of one
/// layout.
struct LayoutReport {
  std::string name;
  /// True if it is in host memory, false if it is in the arena.
  bool isHost = false;
  llvm::MapVector<llvm::StringRef, int64_t> layers;
  int64_t total = 0;
};

/// The rows of tokens that a rank gets for its experts in an exchange.
struct ExpertRowsReport {
  /// If all experts are chosen equally often.
  int64_t mean = 0;
  /// Those that fit; with more a step ends with an error.
  int64_t room = 0;
  /// If all tokens choose experts of the same rank.
  int64_t most = 0;
  /// The bytes by which the peak would grow with room for `most` rows.
  int64_t growthBytes = 0;
};

/// The memory of each rank of a stage, and its exchanges in a step.
struct StageReport {
  int64_t stage = 0;
  int64_t firstRank = 0;
  int64_t numRanks = 1;
  int64_t arenaBytes = 0;
  int64_t maxLiveBytes = 0;
  int64_t hostBytes = 0;
  /// What the trainer of the YAML holds, if it was counted.
  std::optional<trainer::TrainerPeak> trainer;
  /// What a device needs for the stage, if the device is known.
  std::optional<target::DeviceNeed> need;
  /// The number of elements of the parameters that a rank stores. Tied
  /// parameters do not count.
  int64_t parameters = 0;
  llvm::MapVector<ascend::Role, int64_t> statics;
  std::vector<LayoutReport> layouts;
  /// The number of exchanges of each kind in a step.
  std::map<ExchangeKind, int64_t> exchanges;
  /// Empty if no ranks exchange rows by expert.
  std::optional<ExpertRowsReport> expertRows;

  void print(llvm::raw_ostream &os) const;
  llvm::json::Object toJson() const;
};

/// Returns the reports of the planned programs of a module. Fails if one is not
/// planned. `getProgram` returns the decoded module, or null if decoding has
/// failed; it is called if ranks exchange rows of experts.
mlir::FailureOr<std::vector<StageReport>>
makeStageReports(mlir::ModuleOp module,
                 llvm::function_ref<const program::Program *()> getProgram);

/// Adds what a device needs for the stage of the report, if its target knows.
/// Fails if HCCL_BUFFSIZE of the environment is no size.
llvm::Error addDeviceNeed(StageReport &report, const program::Program &program,
                          const target::Memory &device);

} // namespace mf::passes

#endif // MF_PASSES_PLAN_MEMORY_STAGEREPORT_H
