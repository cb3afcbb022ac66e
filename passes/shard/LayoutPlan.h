//===- LayoutPlan.h - Layouts of a model's tensors on ranks -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A single forward pass over the layers. Parameters have given layouts, the
// rules of operators define what operands must have in common, and a value with
// another layout is resharded. This file does not depend on IR: a model is
// given by the rules of its operators.
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
  /// Tables have no gradient and are cut as their readers require.
  bool isTable = false;
  /// The axes that cut each dimension. Empty if the parameter is not cut at
  /// all.
  llvm::SmallVector<ir::Axes> cuts;
  /// True if the parameter stays whole when it is not divisible by `cuts`.
  bool mayStayWhole = false;
};

struct ShardedValue {
  llvm::SmallVector<int64_t> shape;
  /// True if the gradient of the loss flows to the value.
  bool needsGradient = false;
  /// The index of the model's parameter that the value is, if any.
  std::optional<unsigned> parameter;
  /// True for indices. Ranks do not exchange these, but the values from which
  /// they are computed.
  bool isInteger = false;
};

struct ShardedOperator {
  std::string name;
  ir::ShardingRule rule;
  llvm::SmallVector<unsigned> operands, results;
};

enum class LayerPosition { Embedding, Body, Head };

/// Values are numbered, arguments first.
struct ShardedLayer {
  std::string name;
  LayerPosition position = LayerPosition::Body;
  unsigned numArguments = 1;
  /// The first arguments are the results of the previous layer, in order.
  unsigned numHidden = 1;
  /// For each argument behind the hidden ones, the number of the data that it
  /// is. Layers that read the same data take it with the same layout.
  llvm::SmallVector<unsigned> data;
  std::vector<ShardedValue> values;
  std::vector<ShardedOperator> operators;
  /// Losses are scalars.
  llvm::SmallVector<unsigned> results;
  /// For the layer of a piece of the sequence: the number of last hidden inputs
  /// that are results of its versions for earlier pieces, the number of last
  /// results for later pieces, and the index of the version for the first
  /// piece.
  unsigned numPast = 0, numFuture = 0, firstPiece = 0;
};

struct ShardedModel {
  ir::MeshSizes mesh;
  std::vector<ShardedParameter> parameters;
  std::vector<ShardedLayer> layers;
  int64_t batch = 1, sequence = 1;
  bool sequenceParallel = false;
  /// The axes over which ranks exchange rows for heads (ulysses_cp, hybrid_cp).
  ir::Axes headAxes;
};

/// A new value: `from`, resharded by one collective or local part, or viewed in
/// another shape.
struct PlannedReshard {
  unsigned from, to;
  /// The operator before which it is placed. The number of operators for the
  /// end.
  unsigned before;
  /// The name of the operator that makes or reads the value.
  std::string name;
  /// The shape of a view; empty for a reshard.
  llvm::SmallVector<int64_t> view;
};

struct LayerLayouts {
  /// The layouts of the layer's values, followed by those of resharded ones.
  std::vector<ir::Layout> layouts;
  std::vector<PlannedReshard> reshards;
  /// The values that each operator reads.
  std::vector<llvm::SmallVector<unsigned>> operands;
  llvm::SmallVector<unsigned> results;
};

struct LayoutPlan {
  std::vector<ir::Layout> parameters;
  std::vector<LayerLayouts> layers;
  /// Warnings about dimensions that are not divisible and may stay whole.
  std::vector<std::string> warnings;

  void print(const ShardedModel &model, llvm::raw_ostream &os) const;
};

/// An error with its place.
struct LayoutError {
  std::string message;
  /// The axis by which a dimension is not divisible. Empty for other errors.
  std::string axis;
  std::optional<unsigned> layer, op, parameter;
};

/// Plans all layers. Returns none and sets `error` if that is not possible.
std::optional<LayoutPlan> planLayouts(const ShardedModel &model,
                                      LayoutError &error);

/// Returns the axes of a mesh, with more than one rank, that a name in a
/// strategy stands for. `cp` may be split into two factors, `cp_co` and
/// `cp_ds`.
ir::Axes getMeshAxes(llvm::StringRef name, const ir::MeshSizes &mesh);

/// Groups the layers of a model that have the same operators on the same
/// values. Layers of one kind may read different parameters of the same shapes
/// and cuts.
class AlikeLayers {
public:
  explicit AlikeLayers(const ShardedModel &model);

  /// Returns the kind of a layer, as a number.
  unsigned getKind(unsigned layer) const { return kinds[layer]; }
  /// Returns the parameters that a layer reads, in the order of their first
  /// uses.
  llvm::ArrayRef<unsigned> getParameters(unsigned layer) const {
    return parameters[layer];
  }

private:
  bool areAlike(const ShardedModel &model, unsigned one, unsigned other) const;

  std::vector<unsigned> kinds;
  std::vector<std::vector<unsigned>> parameters;
};

} // namespace mf::passes

#endif // MF_PASSES_SHARD_LAYOUTPLAN_H
