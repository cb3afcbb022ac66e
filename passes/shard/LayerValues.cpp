//===- LayerValues.cpp - Layouts of a layer's values ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LayerPlanner.h"
#include "ReshardCollective.h"
#include "RuleAxes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mf::passes {

using ir::Axes;
using ir::FactorDims;
using ir::FactorKind;
using ir::Layout;

static std::string toString(const Layout &layout) {
  std::string text;
  raw_string_ostream os(text);
  os << '\'';
  layout.print(os);
  os << '\'';
  return text;
}

/// Returns an axis of a dimension that the layouts cut differently; empty if
/// there is none.
static StringRef getMovedAxis(const Layout &have, const Layout &wanted) {
  for (auto [before, after] : zip(have.cuts, wanted.cuts))
    if (before != after)
      return after.empty() ? before.back() : after.back();
  return {};
}

/// Returns whether the value is the stream, which layers pass on: whole
/// sequences or blocks of their rows.
bool LayerPlanner::isStream(unsigned value) const {
  ArrayRef<int64_t> shape = layer.values[value].shape;
  if (shape.size() != 3 || shape[0] != model.batch ||
      model.sequence % shape[1] != 0)
    return false;
  auto isLike = [&](unsigned other) {
    return shape == ArrayRef(layer.values[other].shape);
  };
  return any_of(seq<unsigned>(0, layer.numHidden), isLike) ||
         any_of(layer.results, isLike);
}

/// Returns whether the value has the rows of the stream, of any width: layers
/// may pass on several streams side by side.
bool LayerPlanner::hasStreamRows(unsigned value) const {
  ArrayRef<int64_t> shape = layer.values[value].shape;
  if (shape.size() != 3)
    return false;
  auto hasRows = [&](unsigned other) {
    ArrayRef<int64_t> rows = layer.values[other].shape;
    return isStream(other) && rows.take_front(2) == shape.take_front(2);
  };
  return any_of(seq<unsigned>(0, layer.numHidden), hasRows) ||
         any_of(layer.results, hasRows);
}

bool LayerPlanner::divides(unsigned value, const Layout &layout) {
  for (auto [dim, size, axes] :
       enumerate(layer.values[value].shape, layout.cuts)) {
    int64_t parts = model.mesh.getNumParts(axes);
    if (size % parts == 0)
      continue;
    fail("dimension " + Twine(dim) + ", " + Twine(size) +
             ", does not divide into " + Twine(parts) + " parts over " +
             join(axes, " and "),
         axes.back());
    return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Versions of values, and their origins
//===----------------------------------------------------------------------===//

unsigned LayerPlanner::addVersion(unsigned value, const Layout &layout,
                                  unsigned before, StringRef name,
                                  ArrayRef<int64_t> view) {
  for (const PlannedReshard &made : planned.reshards)
    if (made.from == value && planned.layouts[made.to] == layout &&
        ArrayRef(made.view) == view)
      return made.to;
  unsigned version = planned.layouts.size();
  planned.layouts.push_back(layout);
  origins.push_back(origins[value]);
  sources.push_back(sources[value]);
  isRankOrdered.push_back(isRankOrdered[value]);
  planned.reshards.push_back(
      {value, version, before, name.str(), SmallVector<int64_t>(view)});
  return version;
}

/// Returns the first collective along a dimension whose parts are not in the
/// order of the ranks of its group; none if all do.
static std::optional<ReshardCollective>
findUnordered(Layout from, ArrayRef<Layout> path, const ir::MeshSizes &mesh) {
  for (const Layout &to : path) {
    std::optional<ReshardCollective> collective =
        getReshardCollective(from, to);
    if (collective && isAlongDimension(collective->kind) &&
        !mesh.isInOrder(collective->axes))
      return collective;
    from = to;
  }
  return std::nullopt;
}

bool LayerPlanner::reshardSplit(unsigned &value, const Layout &wanted,
                                unsigned before, StringRef name) {
  ArrayRef<int64_t> shape = layer.values[origins[value]].shape;
  const Layout have = planned.layouts[value];
  std::optional<DimensionSplit> split =
      findDimensionSplit(shape, have, wanted, model.mesh);
  if (!split || isRankOrdered[value])
    return false;
  Layout from = splitLayout(shape, have, *split, model.mesh);
  std::optional<std::vector<Layout>> path =
      getReshardPath(from, splitLayout(shape, wanted, *split, model.mesh));
  if (!path || findUnordered(from, *path, model.mesh))
    return false;
  value = addVersion(value, from, before, name, splitShape(shape, *split));
  for (const Layout &next : *path)
    value = addVersion(value, next, before, name);
  value = addVersion(value, wanted, before, name, shape);
  return true;
}

/// Returns the number of rows of the last dimension; none for a scalar.
static int64_t countRows(ArrayRef<int64_t> shape) {
  if (shape.empty())
    return 0;
  int64_t rows = 1;
  for (int64_t size : shape.drop_back())
    rows *= size;
  return rows;
}

/// Returns whether each collective only takes a part of what a rank has, so
/// that nothing is sent.
static bool takesOwnParts(Layout from, ArrayRef<Layout> path) {
  return all_of(path, [&](const Layout &to) {
    std::optional<ReshardCollective> collective =
        getReshardCollective(from, to);
    from = to;
    return collective && collective->kind == ReshardKind::OwnPart;
  });
}

LayerPlanner::Outcome LayerPlanner::reshard(unsigned &value,
                                            const Layout &wanted,
                                            unsigned before, StringRef name) {
  const Layout have = planned.layouts[value];
  if (have == wanted)
    return Outcome::Done;
  unsigned origin = origins[value];
  const bool isData =
      sources[value] == Source::Free && origin < layer.numArguments;
  if (sources[value] != Source::Activation &&
      requestLayout(isData ? origin : value, wanted))
    return Outcome::Again;
  if (!divides(origin, wanted))
    return Outcome::Failed;
  const bool isActivation = sources[value] == Source::Activation;
  if (isActivation && layer.values[origin].isInteger) {
    if (requestIntegerLayout(origin, wanted))
      return Outcome::Again;
    return fail("expected integers that lie as " + toString(wanted) +
                    ", but they lie as " + toString(have) +
                    ", and ranks do not exchange integers",
                getMovedAxis(have, wanted));
  }
  // Without dp, tensors of experts may have the layout of the stream. Rows of
  // the stream have the same number of tokens, however they are grouped.
  ArrayRef<int64_t> shape = layer.values[origin].shape;
  const bool isRows = countRows(shape) == model.batch * model.sequence;
  auto liesAsRows = [&](const Layout &layout) {
    return isRows && layout.cuts == stream.cuts;
  };
  if (isActivation && plannedOp && before == *plannedOp &&
      have.cuts != wanted.cuts && !liesAsRows(have) && !liesAsRows(wanted))
    homes[to_vector(shape)] = have;
  if (reshardSplit(value, wanted, before, name))
    return Outcome::Done;
  std::optional<std::vector<Layout>> path = getReshardPath(have, wanted);
  bool movesRows = isRankOrdered[value] && have.cuts != wanted.cuts;
  if (!path || movesRows || (isData && !takesOwnParts(have, *path)))
    return fail("expected an operand that lies as " + toString(wanted) +
                    ", but it lies as " + toString(have) +
                    ", which no collective makes of it",
                getMovedAxis(have, wanted));
  if (layer.values[origin].isInteger && !takesOwnParts(have, *path))
    return fail("expected integers that lie as " + toString(wanted) +
                    ", but they lie as " + toString(have) +
                    ", and ranks do not exchange integers",
                getMovedAxis(have, wanted));
  if (std::optional<ReshardCollective> unordered =
          findUnordered(have, *path, model.mesh))
    return fail("parts over " + join(unordered->axes, " and ") +
                    " do not lie in the order of ranks, in which they would "
                    "be exchanged",
                unordered->axes.back());
  for (const Layout &next : *path)
    value = addVersion(value, next, before, name);
  return Outcome::Done;
}

bool LayerPlanner::requestLayout(unsigned value, const Layout &wanted) {
  if (value >= layer.values.size())
    return false;
  if (std::optional<unsigned> number = layer.values[value].parameter) {
    Layout &layout = parameters[*number];
    bool isChanged = false;
    if (!model.parameters[*number].isTable) {
      isChanged = layout.cuts == wanted.cuts &&
                  addMissing(layout.reduced, wanted.reduced);
    } else if (!states.isChosen[*number]) {
      states.isChosen[*number] = isChanged = layout.cuts != wanted.cuts;
      layout.cuts = wanted.cuts;
    }
    states.hasChanged |= isChanged;
    return isChanged;
  }
  if (value < layer.numArguments) {
    if (sources[value] != Source::Free || !arguments[value].cuts.empty())
      return false;
    arguments[value] = Layout(wanted.cuts.size());
    arguments[value].cuts = wanted.cuts;
    return true;
  }
  return askProducer(layer.operators[*producers[value]], value, wanted);
}

/// Returns the axes of factors with which result `value` has layout `wanted`.
std::optional<LayerPlanner::FactorAxes>
LayerPlanner::getFactors(const ShardedOperator &op, unsigned value,
                         const Layout &wanted) const {
  FactorAxes axes(op.rule.factors.size());
  const FactorDims &dims =
      op.rule.results[find(op.results, value) - op.results.begin()];
  for (auto [factors, cut] : zip_equal(dims, wanted.cuts)) {
    std::optional<SmallVector<Axes>> split =
        ir::splitAxes(cut, getSizes(op.rule, factors), model.mesh);
    if (!split)
      return std::nullopt;
    for (auto [factor, part] : zip_equal(factors, *split)) {
      if (!part.empty() && op.rule.factors[factor].kind == FactorKind::Whole)
        return std::nullopt;
      axes[factor] = part;
    }
  }
  return axes;
}

bool LayerPlanner::requestIntegerLayout(unsigned value, const Layout &wanted) {
  std::optional<unsigned> producer = producers[value];
  if (!producer)
    return false;
  const ShardedOperator &op = layer.operators[*producer];
  std::optional<FactorAxes> axes = getFactors(op, value, wanted);
  if (!axes)
    return false;
  // Its operands may be integers too.
  bool isChanged = false, hasOthers = false;
  for (auto [operand, dims] : zip_equal(op.operands, op.rule.operands)) {
    if (layer.values[operand].isInteger)
      isChanged |= requestIntegerLayout(operand, getLayout(dims, *axes));
    else
      hasOthers = true;
  }
  if (hasOthers && wantedFactors.try_emplace(*producer, *axes).second)
    return true;
  return isChanged;
}

bool LayerPlanner::askProducer(const ShardedOperator &op, unsigned value,
                               const Layout &wanted) {
  std::optional<FactorAxes> axes = getFactors(op, value, wanted);
  if (!axes)
    return false;
  bool isChanged = false;
  for (auto [operand, operandDims] : zip_equal(op.operands, op.rule.operands)) {
    Layout layout = getLayout(operandDims, *axes);
    for (StringRef axis : wanted.reduced)
      if (!layout.cutsOver(axis))
        layout.reduced.push_back(axis);
    isChanged |= requestLayout(operand, layout);
  }
  return isChanged;
}

//===----------------------------------------------------------------------===//
// Arguments and results of a layer
//===----------------------------------------------------------------------===//

void LayerPlanner::readValues() {
  size_t count = layer.values.size();
  planned.layouts.resize(count);
  sources.assign(count, Source::Activation);
  isRankOrdered.assign(count, false);
  isRead.assign(count, false);
  producers.resize(count);
  for (unsigned value = 0; value < count; ++value) {
    current.push_back(value);
    origins.push_back(value);
    if (std::optional<unsigned> parameter = layer.values[value].parameter) {
      planned.layouts[value] = parameters[*parameter];
      sources[value] = model.parameters[*parameter].isTable ? Source::Free
                                                            : Source::Parameter;
    }
  }
  for (auto [number, op] : enumerate(layer.operators)) {
    for (unsigned operand : op.operands)
      isRead[operand] = true;
    for (unsigned result : op.results)
      producers[result] = number;
  }
  for (unsigned result : layer.results)
    isRead[result] = true;
}

/// Places tokens or labels.
LayerPlanner::Outcome LayerPlanner::placeData(unsigned value) {
  size_t rank = layer.values[value].shape.size();
  sources[value] = Source::Free;
  Layout &layout = planned.layouts[value];
  if (arguments[value].cuts.size() == rank) {
    layout = arguments[value];
    return takePart(value);
  }
  layout = Layout(rank);
  if (rank != 2)
    return Outcome::Done;
  layout.cuts = {stream.cuts[0], stream.cuts[1]};
  return divides(value, layout) ? takePart(value) : Outcome::Failed;
}

/// If another layer needs a larger part of the data than this one, the layer
/// gets the larger part and takes its own part of it at its start.
LayerPlanner::Outcome LayerPlanner::takePart(unsigned value) {
  unsigned number = value - layer.numHidden;
  if (number >= layer.data.size() || !data[layer.data[number]])
    return Outcome::Done;
  const Layout own = planned.layouts[value];
  planned.layouts[value] = *data[layer.data[number]];
  std::optional<std::vector<Layout>> path =
      getReshardPath(planned.layouts[value], own);
  if (!path || !takesOwnParts(planned.layouts[value], *path))
    return fail("expected data that lies as " + toString(own) +
                    ", but the layers of its chunk get it as " +
                    toString(planned.layouts[value]),
                getMovedAxis(planned.layouts[value], own));
  for (const Layout &next : *path)
    current[value] = addVersion(current[value], next, 0, layer.name);
  return Outcome::Done;
}

LayerPlanner::Outcome LayerPlanner::placeHidden(unsigned value,
                                                const Layout &hidden) {
  planned.layouts[value] = hidden;
  if (!isStream(value))
    return Outcome::Done;
  Layout wanted = stream;
  wanted.reduced = hidden.reduced;
  for (StringRef axis : gathered)
    if (hidden.cutsOver(axis))
      addMissing(wanted.reduced, axis);
  return reshard(current[value], wanted, 0, layer.name);
}

LayerPlanner::Outcome LayerPlanner::placeInputs(ArrayRef<Layout> hidden) {
  readValues();
  for (unsigned value = 0; value < layer.numArguments; ++value) {
    size_t rank = layer.values[value].shape.size();
    bool isKnown = value < hidden.size() && hidden[value].cuts.size() == rank;
    Outcome outcome =
        value < layer.numHidden
            ? placeHidden(value, isKnown ? hidden[value] : Layout(rank))
            : placeData(value);
    if (outcome != Outcome::Done)
      return outcome;
  }
  return Outcome::Done;
}

/// The gradient of a loss is 1 on all ranks.
LayerPlanner::Outcome LayerPlanner::returnLoss(unsigned value) {
  if (planned.layouts[value].reduced.empty())
    return Outcome::Done;
  return fail("expected a loss that has the same gradient on all ranks, but it "
              "lies as " +
                  toString(planned.layouts[value]),
              planned.layouts[value].reduced.back());
}

LayerPlanner::Outcome LayerPlanner::returnResults() {
  plannedOp.reset();
  for (unsigned result : layer.results) {
    unsigned &value = planned.results.emplace_back(current[result]);
    Outcome outcome = Outcome::Done;
    if (layer.values[result].shape.empty()) {
      outcome = returnLoss(value);
    } else if (isStream(result)) {
      Layout wanted = stream;
      wanted.reduced = planned.layouts[value].reduced;
      outcome = reshard(value, wanted, layer.operators.size(), layer.name);
    }
    if (outcome != Outcome::Done)
      return outcome;
  }
  return Outcome::Done;
}

} // namespace mf::passes
