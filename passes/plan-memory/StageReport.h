//===- StageReport.h - Costs of a planned program ---------------*- C++ -*-===//

#ifndef MF_PASSES_PLAN_MEMORY_STAGEREPORT_H
#define MF_PASSES_PLAN_MEMORY_STAGEREPORT_H

#include "dialects/ascend/AscendDialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/JSON.h"
#include <map>

namespace mf::passes {

/// Exchanges of one kind, with the same ranks, of the same size.
struct ExchangeKind {
  /// "all_gather", "send".
  std::string kind;
  /// The axes of a group as "dp, mp", the peer of a transfer as "pp = 1".
  std::string ranks;
  /// Bytes of the whole tensor: its input or output, whichever is longer.
  int64_t bytes = 0;

  bool operator<(const ExchangeKind &other) const {
    return std::tie(kind, ranks, bytes) <
           std::tie(other.kind, other.ranks, other.bytes);
  }
};

/// Bytes of one layer's residuals of one micro-batch, in frames of one layout.
struct LayoutReport {
  std::string name;
  /// Whether it is in host memory, or else in the arena.
  bool isHost = false;
  llvm::MapVector<llvm::StringRef, int64_t> layers;
  int64_t total = 0;
};

/// The memory of each rank of a stage, and its exchanges in a step.
struct StageReport {
  int64_t stage = 0;
  int64_t firstRank = 0;
  int64_t numRanks = 1;
  int64_t arenaBytes = 0;
  int64_t maxLiveBytes = 0;
  int64_t hostBytes = 0;
  /// Elements that a rank stores of the parameters; a tied one is another's.
  int64_t parameters = 0;
  llvm::MapVector<ascend::Role, int64_t> statics;
  std::vector<LayoutReport> layouts;
  /// The number of exchanges of each kind in a step.
  std::map<ExchangeKind, int64_t> exchanges;

  void print(llvm::raw_ostream &os) const;
  llvm::json::Object toJson() const;
};

/// The report of a planned program; an error if it is not planned.
mlir::FailureOr<StageReport> makeStageReport(ascend::ProgramOp program);

} // namespace mf::passes

#endif // MF_PASSES_PLAN_MEMORY_STAGEREPORT_H
