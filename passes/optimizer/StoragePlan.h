//===- StoragePlan.h - Parameters that ranks share out ----------*- C++ -*-===//
//
// The rules of enable_parallel_optimizer: ranks that have the same part of a
// parameter may each store a piece of it. No IR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_OPTIMIZER_STORAGEPLAN_H
#define MF_PASSES_OPTIMIZER_STORAGEPLAN_H

#include "dialects/mf/ShardingRule.h"
#include <optional>
#include <string>
#include <vector>

namespace mf::passes {

/// parallel_optimizer_config of the YAML.
struct StorageSettings {
  /// In KB; a whole parameter of as many is shared out.
  int64_t threshold = 64;
  /// Ranks that share one parameter out; -1 for all that have the same part.
  int64_t shardSize = -1;
};

struct UsedParameter {
  std::string name;
  llvm::SmallVector<int64_t> shape;
  int64_t elementBytes = 4;
  /// Whether the model lets ranks share it out.
  bool isOptedIn = true;
  /// The layout of the parameter as layers use it.
  ir::Layout layout;
  /// The axes that it asks to be shared out over, whatever the settings are.
  std::optional<ir::Axes> sharing;
  /// A first dimension that does not divide over these is an error.
  bool mustDivide = false;
};

struct StorageDecision {
  /// The axes that cut the stored part further, along the first dimension; none
  /// where each rank keeps its part.
  ir::Axes axes;
  /// Why so.
  std::string reason;
  /// Whether the user asked for something else.
  bool isWarning = false;
  /// Whether the step cannot be built so.
  bool isError = false;
};

/// One decision per parameter, by the rules of MindSpore: opted in, of at least
/// `threshold` KB as a whole, the same on several ranks, and of a first
/// dimension that divides over them. One that asks for axes itself gets these,
/// if it divides.
std::vector<StorageDecision>
planStorage(const ir::MeshSizes &mesh, const StorageSettings &settings,
            llvm::ArrayRef<UsedParameter> parameters);

void printStorage(llvm::ArrayRef<UsedParameter> parameters,
                  llvm::ArrayRef<StorageDecision> decisions,
                  llvm::raw_ostream &os);

} // namespace mf::passes

#endif // MF_PASSES_OPTIMIZER_STORAGEPLAN_H
