//===- RecomputeCut.h - Chooses operators to recompute ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Chooses the operators of a layer to run again in backward such that the least
// time saves the most memory, as a minimum cut between kept and recomputed
// values. The problem and its solution are those of Tarnawski et al. and of
// PyTorch's min-cut partitioner, but with a price on memory. As the price
// rises, the sets of operators grow, and each contains the previous ones.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PLAN_SETTINGS_RECOMPUTECUT_H
#define MF_LIB_PLAN_SETTINGS_RECOMPUTECUT_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mf::planner {

/// The forward of one layer.
struct LayerGraph {
  struct Value {
    int64_t bytes = 0;
    /// The operators that write the value; empty if it comes from outside of
    /// the layer.
    std::vector<size_t> producers;
    /// True if backward reads the value.
    bool isNeeded = false;
    /// True if the value exists in any case, such as a parameter or a table.
    bool isFree = false;
  };
  struct Operator {
    /// The name relative to the layer: `attention.wq.matmul`.
    std::string name;
    /// True for the communication of the operator of that name.
    bool isCommunication = false;
    double seconds = 0;
    /// The values that the operator reads.
    std::vector<size_t> inputs;
    /// False if no pattern can name the operator.
    bool mayRepeat = true;
    /// The module that patterns name instead of it, such as `mlp.experts`:
    /// either all or none of a module's operators are recomputed. Empty if
    /// patterns name the operator.
    std::string module = {};
  };
  std::vector<Value> values;
  std::vector<Operator> operators;
  /// The operator that multiplies the rows of each expert, if experts are
  /// dropless.
  std::optional<size_t> experts = std::nullopt;
};

/// A set of operators that run again, the time that they take, and the memory
/// that is then kept.
struct RecomputeChoice {
  /// True for each operator that is recomputed.
  std::vector<bool> isRepeated;
  double seconds = 0;
  int64_t keptBytes = 0;
  /// The price of memory for which this choice is the best.
  double secondsPerByte = 0;
};

/// Returns the choice with the least seconds + secondsPerByte * kept bytes.
RecomputeChoice chooseRecompute(const LayerGraph &graph, double secondsPerByte);

/// Returns choices for rising prices of memory, each of which is a superset of
/// the previous one. There are at most `count` (two, if that is 1), spread over
/// the range between the memory that is kept if nothing and if everything is
/// recomputed. Neither of these extremes is included.
std::vector<RecomputeChoice> findChoices(const LayerGraph &graph, size_t count);

} // namespace mf::planner

#endif // MF_LIB_PLAN_SETTINGS_RECOMPUTECUT_H
