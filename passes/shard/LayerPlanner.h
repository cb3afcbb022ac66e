//===- LayerPlanner.h - Layouts of one layer -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_SHARD_LAYERPLANNER_H
#define MF_PASSES_SHARD_LAYERPLANNER_H

#include "LayoutPlan.h"
#include <map>

namespace mf::passes {

/// The requirements of layers on parameters so far.
struct ParameterStates {
  /// For each table, whether a reader has determined its cut.
  std::vector<bool> isChosen;
  bool hasChanged = false;
};

/// For each operator, the axes of its factors that a reader of its integers
/// requires.
using WantedFactors = std::map<unsigned, llvm::SmallVector<ir::Axes>>;

/// Plans one layer, operator by operator. If an operator requires another
/// layout of a parameter, a table or the model's data, that layout is changed
/// and the layer is planned again.
class LayerPlanner {
public:
  LayerPlanner(const ShardedModel &model, const ShardedLayer &layer,
               ir::Layout stream, const ir::Axes &gathered,
               std::vector<ir::Layout> &parameters, ParameterStates &states,
               const std::vector<std::optional<ir::Layout>> &data,
               std::vector<ir::Layout> &arguments, WantedFactors &wantedFactors,
               LayoutError &error)
      : model(model), layer(layer), stream(std::move(stream)),
        gathered(gathered), parameters(parameters), states(states), data(data),
        arguments(arguments), wantedFactors(wantedFactors), error(error) {}

  /// Returns true if the layer is planned, false if a layout has changed so
  /// that another planner must plan it again, and none for an error.
  std::optional<bool> plan(llvm::ArrayRef<ir::Layout> hidden);
  LayerLayouts takePlan() { return std::move(planned); }

private:
  using FactorAxes = llvm::SmallVector<ir::Axes>;
  enum class Outcome { Done, Again, Failed };

  void readValues();
  Outcome placeInputs(llvm::ArrayRef<ir::Layout> hidden);
  Outcome placeHidden(unsigned value, const ir::Layout &hidden);
  Outcome placeData(unsigned value);
  Outcome takePart(unsigned value);
  Outcome planOperator(unsigned number);
  /// Chooses the axes that cut each factor of an operator.
  bool chooseFactors(const ShardedOperator &op, FactorAxes &axes);
  unsigned findWhole(const ShardedOperator &op, size_t operand) const;
  bool regroupsRows(const ShardedOperator &op) const;
  bool returnsRows() const;
  bool isInterleaved(const ShardedOperator &op, unsigned factor,
                     const FactorAxes &axes) const;
  void gatherRegroupedRows(const ShardedOperator &op, FactorAxes &axes);
  bool hasWholeVersion(unsigned value, size_t dim) const;
  void exchangeWhole(const ShardedOperator &op, FactorAxes &axes);
  bool moveAxis(const ShardedOperator &op, FactorAxes &axes,
                llvm::ArrayRef<ir::FactorDims::value_type> dims,
                unsigned factor, llvm::StringRef axis) const;
  void gatherInterleaved(const ShardedOperator &op, FactorAxes &axes);
  void gatherUnordered(const ShardedOperator &op, FactorAxes &axes);
  bool chooseFrom(const ShardedOperator &op, size_t operand, FactorAxes &axes,
                  std::vector<bool> &isDecided);
  bool exchangeFactors(const ShardedOperator &op, FactorAxes &axes);
  Outcome bringOperands(unsigned number, const FactorAxes &axes,
                        const ir::Axes &lifted);
  bool mustLieInRankOrder(const ShardedOperator &op, unsigned value,
                          const ir::FactorDims &dims) const;
  Outcome reshardToRankOrder(unsigned value, const ir::Layout &wanted);
  void cutRegrouped(unsigned result, ir::Layout &wanted) const;
  void placeResults(const ShardedOperator &op, const FactorAxes &axes,
                    const ir::Axes &lifted);
  /// Completes partial results, and returns exchanged values to their former
  /// layout. `axes` are those of the factors before the exchange.
  Outcome resolveResults(unsigned number, const FactorAxes &axes);
  Outcome returnLoss(unsigned value);
  Outcome returnResults();

  /// Replaces `value` by a version of it with layout `wanted`.
  Outcome reshard(unsigned &value, const ir::Layout &wanted, unsigned before,
                  llvm::StringRef name);
  unsigned addVersion(unsigned value, const ir::Layout &layout, unsigned before,
                      llvm::StringRef name, llvm::ArrayRef<int64_t> view = {});
  /// Does the same through a view with two dimensions instead of one, if less
  /// is sent that way.
  bool reshardSplit(unsigned &value, const ir::Layout &wanted, unsigned before,
                    llvm::StringRef name);
  /// Requests that the sources of `value` have layouts from which it gets
  /// layout `wanted`. Returns false if that was requested before or nothing
  /// would change.
  bool requestLayout(unsigned value, const ir::Layout &wanted);
  std::optional<FactorAxes> getFactors(const ShardedOperator &op,
                                       unsigned value,
                                       const ir::Layout &wanted) const;
  /// Requests that the operators which compute an integer value run such that
  /// it has layout `wanted`. Returns false if that is not possible or already
  /// so.
  bool requestIntegerLayout(unsigned value, const ir::Layout &wanted);
  bool askProducer(const ShardedOperator &op, unsigned value,
                   const ir::Layout &wanted);
  bool isStream(unsigned value) const;
  bool hasStreamRows(unsigned value) const;
  bool divides(unsigned value, const ir::Layout &layout);
  Outcome fail(const llvm::Twine &message, llvm::StringRef axis = "");

  const ShardedModel &model;
  const ShardedLayer &layer;
  ir::Layout stream;
  /// The axes over which the hidden input, if they cut it, is gathered with a
  /// partial gradient.
  const ir::Axes &gathered;
  std::vector<ir::Layout> &parameters;
  ParameterStates &states;
  /// The layouts of data that layers would take differently.
  const std::vector<std::optional<ir::Layout>> &data;
  std::vector<ir::Layout> &arguments;
  WantedFactors &wantedFactors;
  LayoutError &error;

  LayerLayouts planned;
  /// The operator that is being planned.
  std::optional<unsigned> plannedOp;
  /// The origin of a value.
  enum class Source { Activation, Parameter, Free };
  std::vector<Source> sources;
  /// For each value, the version that readers see, if its producer reshards it
  /// at once.
  std::vector<unsigned> current;
  /// For each version, the value of the layer that it is a version of.
  std::vector<unsigned> origins;
  /// The axes of rows that the operator groups differently than ranks hold
  /// them.
  ir::Axes regrouped;
  /// For each shape, the layout that an activation had before its parts were
  /// exchanged for an operator.
  std::map<llvm::SmallVector<int64_t>, ir::Layout> homes;
  /// Values with a dimension whose elements are in the order of ranks.
  std::vector<bool> isRankOrdered;
  /// The operator that computes each value. None for arguments and parameters.
  std::vector<std::optional<unsigned>> producers;
  std::vector<bool> isRead;
};

} // namespace mf::passes

#endif // MF_PASSES_SHARD_LAYERPLANNER_H
