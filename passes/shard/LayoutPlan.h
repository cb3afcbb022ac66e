//===- LayoutPlan.h - Layouts of a model's tensors on ranks -----*- C++ -*-===//
//
// One pass forward through the layers: parameters bring their layouts,
// operators say by their rules what operands must have in common, and where a
// value lies otherwise it is resharded. No IR: a model is its operators' rules.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_SHARD_LAYOUTPLAN_H
#define MF_PASSES_SHARD_LAYOUTPLAN_H

#include "dialects/mf/ShardingRule.h"
#include <string>
#include <vector>

namespace mf::passes {

struct ShardedParameter {
  std::string name;
  llvm::SmallVector<int64_t> shape;
  /// Tables have no gradient and are cut as their readers want.
  bool isTable = false;
  /// Per dimension the axes that cut it; empty means none at all.
  llvm::SmallVector<ir::Axes> cuts;
  /// Where `cuts` do not divide, the parameter stays whole.
  bool mayStayWhole = false;
};

struct ShardedValue {
  llvm::SmallVector<int64_t> shape;
  /// Whether the gradient of the loss flows to the value.
  bool needsGradient = false;
  /// The parameter that it is, of the model's.
  std::optional<unsigned> parameter;
  /// Indices, which ranks do not exchange: they exchange the values that
  /// indices are made of.
  bool isInteger = false;
};

struct ShardedOperator {
  std::string name;
  ir::ShardingRule rule;
  llvm::SmallVector<unsigned> operands, results;
};

enum class LayerPosition { Embedding, Body, Head };

/// Values are numbered: arguments first.
struct ShardedLayer {
  std::string name;
  LayerPosition position = LayerPosition::Body;
  unsigned numArguments = 1;
  /// The first arguments: results of the layer before, in order.
  unsigned numHidden = 1;
  std::vector<ShardedValue> values;
  std::vector<ShardedOperator> operators;
  /// Losses among them are scalars.
  llvm::SmallVector<unsigned> results;
  /// Counts for the layer of a piece of the sequence: the last hidden inputs
  /// are results of its versions for earlier pieces, the last results go to
  /// later ones. All versions have the number of the first one.
  unsigned numPast = 0, numFuture = 0, firstPiece = 0;
};

struct ShardedModel {
  ir::MeshSizes mesh;
  std::vector<ShardedParameter> parameters;
  std::vector<ShardedLayer> layers;
  int64_t batch = 1, sequence = 1;
  bool sequenceParallel = false;
  /// Axes over which ranks exchange rows for heads (ulysses_cp, hybrid_cp).
  ir::Axes headAxes;
};

/// A new value: `from`, resharded by one collective or local part, or looked at
/// in another shape.
struct PlannedReshard {
  unsigned from, to;
  /// The operator before which it stands; the number of operators for the end.
  unsigned before;
  /// For whom: the name of the operator that makes or reads the value.
  std::string name;
  /// The shape of a view; empty for a reshard.
  llvm::SmallVector<int64_t> view;
};

struct LayerLayouts {
  /// Layouts of the layer's values and, behind them, of resharded ones.
  std::vector<ir::Layout> layouts;
  std::vector<PlannedReshard> reshards;
  /// By operator, the values that it reads.
  std::vector<llvm::SmallVector<unsigned>> operands;
  llvm::SmallVector<unsigned> results;
};

struct LayoutPlan {
  std::vector<ir::Layout> parameters;
  std::vector<LayerLayouts> layers;
  /// Warnings about dimensions that do not divide and may stay whole.
  std::vector<std::string> warnings;

  void print(const ShardedModel &model, llvm::raw_ostream &os) const;
};

/// An error with its place.
struct LayoutError {
  std::string message;
  /// The axis that does not divide; empty if it is something else.
  std::string axis;
  std::optional<unsigned> layer, op, parameter;
};

/// Plans all layers, or says why not.
std::optional<LayoutPlan> planLayouts(const ShardedModel &model,
                                      LayoutError &error);

/// The axes of a mesh of more than one rank that one name of a strategy stands
/// for: `cp` may be there in two factors, `cp_co` and `cp_ds`.
ir::Axes getMeshAxes(llvm::StringRef name, const ir::MeshSizes &mesh);

/// The layouts on the way between two, each one step from the one before: a
/// collective over one group along one dimension, a local part or a view. None
/// if there is no way.
std::optional<std::vector<ir::Layout>> getReshardSteps(const ir::Layout &from,
                                                       const ir::Layout &to);

} // namespace mf::passes

#endif // MF_PASSES_SHARD_LAYOUTPLAN_H
