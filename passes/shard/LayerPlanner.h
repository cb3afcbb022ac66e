//===- LayerPlanner.h - Layouts of one layer -------------------*- C++ -*-===//

#ifndef MF_PASSES_SHARD_LAYERPLANNER_H
#define MF_PASSES_SHARD_LAYERPLANNER_H

#include "LayoutPlan.h"
#include <map>

namespace mf::passes {

/// The demands of layers on parameters so far.
struct ParameterStates {
  /// Tables that some reader has cut.
  std::vector<bool> isChosen;
  bool hasChanged = false;
};

/// By operator, the axes of its factors, where a reader of its integers wants
/// them so.
using WantedFactors = std::map<unsigned, llvm::SmallVector<ir::Axes>>;

/// Plans one layer, operator by operator. Where an operator wants a parameter,
/// a table or the model's data otherwise, these change and the layer is planned
/// once more.
class LayerPlanner {
public:
  LayerPlanner(const ShardedModel &model, const ShardedLayer &layer,
               ir::Layout stream, const ir::Axes &gathered,
               std::vector<ir::Layout> &parameters, ParameterStates &states,
               std::vector<ir::Layout> &arguments, WantedFactors &wantedFactors,
               LayoutError &error)
      : model(model), layer(layer), stream(std::move(stream)),
        gathered(gathered), parameters(parameters), states(states),
        arguments(arguments), wantedFactors(wantedFactors), error(error) {}

  /// True once it is planned; false if something has changed and it must be
  /// planned again by another planner; none for an error.
  std::optional<bool> plan(llvm::ArrayRef<ir::Layout> hidden);
  LayerLayouts takePlan() { return std::move(planned); }

private:
  using FactorAxes = llvm::SmallVector<ir::Axes>;
  enum class Outcome { Done, Again, Failed };

  void readValues();
  Outcome placeInputs(llvm::ArrayRef<ir::Layout> hidden);
  Outcome placeHidden(unsigned value, const ir::Layout &hidden);
  Outcome placeData(unsigned value);
  Outcome planOperator(unsigned number);
  /// By which axes each factor of an operator is cut.
  bool chooseFactors(const ShardedOperator &op, FactorAxes &axes);
  unsigned findWhole(const ShardedOperator &op, size_t operand) const;
  bool regroupsRows(const ShardedOperator &op) const;
  bool handsOnRows() const;
  bool isInterleaved(const ShardedOperator &op, unsigned factor,
                     const FactorAxes &axes) const;
  void putTogetherRows(const ShardedOperator &op, FactorAxes &axes);
  bool isThereWhole(unsigned value, size_t dim) const;
  void exchangeWhole(const ShardedOperator &op, FactorAxes &axes);
  void gatherInterleaved(const ShardedOperator &op, FactorAxes &axes);
  bool chooseFrom(const ShardedOperator &op, size_t operand, FactorAxes &axes,
                  std::vector<bool> &isDecided);
  bool exchangeFactors(const ShardedOperator &op, FactorAxes &axes);
  Outcome bringOperands(unsigned number, const FactorAxes &axes,
                        const ir::Axes &lifted);
  bool mustLieInRankOrder(const ShardedOperator &op, unsigned value,
                          const ir::FactorDims &dims) const;
  Outcome bringInRankOrder(unsigned value, const ir::Layout &wanted);
  void cutRegrouped(unsigned result, ir::Layout &wanted) const;
  void placeResults(const ShardedOperator &op, const FactorAxes &axes,
                    const ir::Axes &lifted);
  /// Makes partial results whole, and returns exchanged values to their layout:
  /// `axes` are those that the factors had before.
  Outcome resolveResults(unsigned number, const FactorAxes &axes);
  Outcome returnLoss(unsigned value);
  Outcome returnResults();

  /// Makes `value` a version of it that lies as `wanted`.
  Outcome bring(unsigned &value, const ir::Layout &wanted, unsigned before,
                llvm::StringRef name);
  unsigned addVersion(unsigned value, const ir::Layout &layout, unsigned before,
                      llvm::StringRef name, llvm::ArrayRef<int64_t> view = {});
  /// By way of two dimensions for one, where less is sent so.
  bool bringSplit(unsigned &value, const ir::Layout &wanted, unsigned before,
                  llvm::StringRef name);
  /// Changes what `value` is made from so that it lies as `wanted`; false if it
  /// was changed before, or nothing would change.
  bool ask(unsigned value, const ir::Layout &wanted);
  std::optional<FactorAxes> getFactors(const ShardedOperator &op,
                                       unsigned value,
                                       const ir::Layout &wanted) const;
  /// Makes what gives integers run so that they lie as `wanted`; false if it
  /// cannot, or does already.
  bool askForIntegers(unsigned value, const ir::Layout &wanted);
  bool askProducer(const ShardedOperator &op, unsigned value,
                   const ir::Layout &wanted);
  bool isStream(unsigned value) const;
  bool divides(unsigned value, const ir::Layout &layout);
  Outcome fail(const llvm::Twine &message, llvm::StringRef axis = "");

  const ShardedModel &model;
  const ShardedLayer &layer;
  ir::Layout stream;
  /// Axes over which the hidden input, if they cut it, is gathered for a
  /// partial gradient.
  const ir::Axes &gathered;
  std::vector<ir::Layout> &parameters;
  ParameterStates &states;
  std::vector<ir::Layout> &arguments;
  WantedFactors &wantedFactors;
  LayoutError &error;

  LayerLayouts planned;
  /// The operator that is being planned.
  std::optional<unsigned> now;
  /// The origin of values.
  enum class Source { Activation, Parameter, Free };
  std::vector<Source> sources;
  /// The value as readers see it, where its producer reshards it at once.
  std::vector<unsigned> current;
  /// For a version, the value of the layer that it stands for.
  std::vector<unsigned> origins;
  /// Axes of rows that the operator puts into other groups than ranks have.
  ir::Axes regrouped;
  /// By shape, how an activation lay before an operator had its parts
  /// exchanged.
  std::map<llvm::SmallVector<int64_t>, ir::Layout> homes;
  /// Values with a dimension whose elements lie in the order of ranks.
  std::vector<bool> isRankOrdered;
  /// The operator that makes a value; none for arguments and parameters.
  std::vector<std::optional<unsigned>> producers;
  std::vector<bool> isRead;
};

} // namespace mf::passes

#endif // MF_PASSES_SHARD_LAYERPLANNER_H
