//===- RecomputeCut.h - Chooses operators of a layer to repeat --*- C++ -*-===//
//
// Chooses the operators of a layer to run again in backward so that least time
// buys most memory: a minimum cut between what is kept and what is computed
// anew. The same question, with the same answer, as in Tarnawski et al. and in
// PyTorch's min-cut partitioner, but with a price on memory: as the price
// rises, the sets of operators grow and each holds those before it.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PLANNER_RECOMPUTECUT_H
#define MF_PLANNER_RECOMPUTECUT_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mf::planner {

/// The forward of one layer.
struct LayerGraph {
  struct Value {
    int64_t bytes = 0;
    /// The operators that write it; none for what comes from outside of the
    /// layer.
    std::vector<size_t> producers;
    /// Backward reads it.
    bool isNeeded = false;
    /// There anyway: a parameter, a table.
    bool isFree = false;
  };
  struct Operator {
    /// Relative to the layer: `attention.wq.matmul`.
    std::string name;
    /// It is the communication of the operator of that name.
    bool isCommunication = false;
    double seconds = 0;
    /// Values that it reads.
    std::vector<size_t> inputs;
    /// False where no pattern can name it.
    bool mayRepeat = true;
    /// The module that patterns name instead of it, `mlp.experts`: all of a
    /// module runs again, or nothing. Empty if they name the operator.
    std::string module = {};
  };
  std::vector<Value> values;
  std::vector<Operator> operators;
  /// The operator that multiplies the rows of each expert, where experts take
  /// all of their tokens.
  std::optional<size_t> experts = std::nullopt;
};

/// Operators that run again, their time, and the memory that is then kept.
struct RecomputeChoice {
  /// Whether each operator is repeated.
  std::vector<bool> isRepeated;
  double seconds = 0;
  int64_t keptBytes = 0;
  /// The price of memory that it is the answer to.
  double secondsPerByte = 0;
};

/// The choice of least seconds + secondsPerByte * kept bytes.
RecomputeChoice chooseRecompute(const LayerGraph &graph, double secondsPerByte);

/// Choices for rising prices of memory, each a superset of that before it: at
/// most `count` (two, if that is 1), spread over the range between the memory
/// that is kept if nothing and if everything is repeated. Neither of these is
/// among them.
std::vector<RecomputeChoice> findChoices(const LayerGraph &graph, size_t count);

} // namespace mf::planner

#endif // MF_PLANNER_RECOMPUTECUT_H
