//===- LayerPlanner.cpp - Layouts of one layer ----------------------------===//

#include "LayerPlanner.h"
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

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

LayerPlanner::Outcome LayerPlanner::fail(const Twine &message, StringRef axis) {
  error.message = message.str();
  error.axis = axis.str();
  error.op = now;
  return Outcome::Failed;
}

static std::string toString(const Layout &layout) {
  std::string text;
  raw_string_ostream os(text);
  os << '\'';
  layout.print(os);
  os << '\'';
  return text;
}

bool LayerPlanner::isStream(unsigned value) const {
  const ShardedValue &like = layer.values[layer.takesHidden ? 0 : layer.result];
  ArrayRef<int64_t> shape = layer.values[value].shape;
  return shape.size() == 3 && shape == ArrayRef(like.shape) &&
         shape[0] == model.batch && shape[1] == model.sequence;
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
// Values
//===----------------------------------------------------------------------===//

LayerPlanner::Outcome LayerPlanner::placeInputs(const Layout &hidden) {
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
  isRead[layer.result] = true;

  for (unsigned value = 0; value < layer.numArguments; ++value) {
    size_t rank = layer.values[value].shape.size();
    if (value == 0 && layer.takesHidden) {
      planned.layouts[0] = hidden.cuts.size() == rank ? hidden : Layout(rank);
      continue;
    }
    sources[value] = Source::Free;
    if (arguments[value].cuts.size() == rank) {
      planned.layouts[value] = arguments[value];
      continue;
    }
    planned.layouts[value] = Layout(rank);
    if (rank == 2) {
      planned.layouts[value].cuts = {getMeshAxes("dp", model.mesh),
                                     getMeshAxes("cp", model.mesh)};
      if (!divides(value, planned.layouts[value]))
        return Outcome::Failed;
    }
  }
  if (layer.takesHidden && isStream(0))
    return bring(current[0], stream, 0, layer.name);
  return Outcome::Done;
}

unsigned LayerPlanner::addVersion(unsigned value, const Layout &layout,
                                  unsigned before, StringRef name) {
  for (const PlannedReshard &made : planned.reshards)
    if (made.from == value && planned.layouts[made.to] == layout)
      return made.to;
  unsigned version = planned.layouts.size();
  planned.layouts.push_back(layout);
  origins.push_back(origins[value]);
  sources.push_back(sources[value]);
  isRankOrdered.push_back(isRankOrdered[value]);
  planned.reshards.push_back({value, version, before, name.str()});
  return version;
}

LayerPlanner::Outcome LayerPlanner::bring(unsigned &value, const Layout &wanted,
                                          unsigned before, StringRef name) {
  const Layout have = planned.layouts[value];
  if (have == wanted)
    return Outcome::Done;
  if (sources[value] != Source::Activation && ask(value, wanted))
    return Outcome::Again;
  unsigned origin = origins[value];
  if (!divides(origin, wanted))
    return Outcome::Failed;
  std::optional<std::vector<Layout>> steps = getReshardSteps(have, wanted);
  bool isData = sources[value] == Source::Free && origin < layer.numArguments;
  bool movesRows = isRankOrdered[value] && have.cuts != wanted.cuts;
  if (!steps || isData || movesRows)
    return fail("expected an operand that lies as " + toString(wanted) +
                ", but it lies as " + toString(have) +
                ", which no collective makes of it");
  for (const Layout &step : *steps)
    value = addVersion(value, step, before, name);
  return Outcome::Done;
}

bool LayerPlanner::ask(unsigned value, const Layout &wanted) {
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

bool LayerPlanner::askProducer(const ShardedOperator &op, unsigned value,
                               const Layout &wanted) {
  FactorAxes axes(op.rule.factors.size());
  const FactorDims &dims =
      op.rule.results[find(op.results, value) - op.results.begin()];
  for (auto [factors, cut] : zip_equal(dims, wanted.cuts)) {
    std::optional<SmallVector<Axes>> split =
        ir::splitAxes(cut, getSizes(op.rule, factors), model.mesh);
    if (!split)
      return false;
    for (auto [factor, part] : zip_equal(factors, *split)) {
      if (!part.empty() && op.rule.factors[factor].kind == FactorKind::Whole)
        return false;
      axes[factor] = part;
    }
  }
  bool isChanged = false;
  for (auto [operand, operandDims] : zip_equal(op.operands, op.rule.operands)) {
    Layout layout = getLayout(operandDims, axes);
    for (StringRef axis : wanted.reduced)
      if (!layout.cutsOver(axis))
        layout.reduced.push_back(axis);
    isChanged |= ask(operand, layout);
  }
  return isChanged;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

bool LayerPlanner::chooseFrom(const ShardedOperator &op, size_t operand,
                              FactorAxes &axes, std::vector<bool> &isDecided) {
  unsigned value = current[op.operands[operand]];
  const Layout &layout = planned.layouts[value];
  for (auto [dim, factors, cut] :
       enumerate(op.rule.operands[operand], layout.cuts)) {
    SmallVector<int64_t> sizes = getSizes(op.rule, factors);
    bool isWhole = all_of(factors, [&](unsigned factor) {
      return op.rule.factors[factor].kind == FactorKind::Whole;
    });
    if (isWhole)
      continue;
    std::optional<SmallVector<Axes>> split =
        ir::splitAxes(cut, sizes, model.mesh);
    if (!split || (isRankOrdered[value] && factors.size() > 1)) {
      fail(
          "dimension " + Twine(dim) + ", of " +
              join(map_range(sizes,
                             [](int64_t size) { return std::to_string(size); }),
                   " times ") +
              ", does not divide into " + Twine(model.mesh.getNumParts(cut)) +
              " parts over " + join(cut, " and "),
          cut.back());
      return false;
    }
    for (auto [factor, part] : zip_equal(factors, *split)) {
      if (isDecided[factor] ||
          op.rule.factors[factor].kind == FactorKind::Whole)
        continue;
      isDecided[factor] = true;
      Axes used = getUsed(axes);
      for (StringRef axis : part)
        if (!is_contained(used, axis))
          axes[factor].push_back(axis);
    }
  }
  return true;
}

/// Parameters come first, as they are not moved; what is cut as wanted, last.
bool LayerPlanner::chooseFactors(const ShardedOperator &op, FactorAxes &axes) {
  axes.resize(op.rule.factors.size());
  std::vector<bool> isDecided(axes.size(), false);
  for (Source source : {Source::Parameter, Source::Activation, Source::Free})
    for (auto [number, operand] : enumerate(op.operands))
      if (sources[operand] == source &&
          !chooseFrom(op, number, axes, isDecided))
        return false;
  return true;
}

bool LayerPlanner::exchangeFactors(const ShardedOperator &op,
                                   FactorAxes &axes) {
  if (!op.rule.exchange)
    return true;
  auto [from, to] = *op.rule.exchange;
  for (StringRef axis : model.headAxes) {
    if (!is_contained(axes[from], axis))
      continue;
    erase(axes[from], axis);
    axes[to].push_back(axis);
  }
  int64_t parts = model.mesh.getNumParts(axes[to]);
  if (op.rule.factors[to].size % parts == 0)
    return true;
  fail(Twine(op.rule.factors[to].size) +
           " key and value heads do not divide into " + Twine(parts) +
           " parts over " + join(axes[to], " and "),
       axes[to].back());
  return false;
}

LayerPlanner::Outcome LayerPlanner::bringOperands(unsigned number,
                                                  const FactorAxes &axes,
                                                  const Axes &lifted) {
  const ShardedOperator &op = layer.operators[number];
  Axes used = getUsed(axes);
  SmallVector<unsigned> values;
  for (auto [operand, dims] : zip_equal(op.operands, op.rule.operands)) {
    Layout wanted = getLayout(dims, axes);
    if (layer.values[operand].needsGradient) {
      for (StringRef axis : used)
        if (!wanted.cutsOver(axis))
          wanted.reduced.push_back(axis);
      addMissing(wanted.reduced, lifted);
    }
    unsigned value = current[operand];
    Outcome outcome = bring(value, wanted, number, op.name);
    if (outcome != Outcome::Done)
      return outcome;
    values.push_back(value);
  }
  planned.operands.push_back(std::move(values));
  return Outcome::Done;
}

void LayerPlanner::placeResults(const ShardedOperator &op,
                                const FactorAxes &axes, const Axes &lifted) {
  Source source = Source::Activation;
  auto areFrom = [&](ArrayRef<Source> allowed) {
    return all_of(op.operands, [&](unsigned operand) {
      return is_contained(allowed, sources[operand]);
    });
  };
  if (areFrom({Source::Free}))
    source = Source::Free;
  else if (areFrom({Source::Free, Source::Parameter}))
    source = Source::Parameter;
  for (auto [result, dims] : zip_equal(op.results, op.rule.results)) {
    Layout layout = getLayout(dims, axes);
    layout.partial = getSummed(op.rule, dims, axes);
    layout.reduced = lifted;
    planned.layouts[result] = layout;
    sources[result] = source;
    for (ArrayRef<unsigned> factors : dims)
      for (size_t i = 1; i < factors.size(); ++i)
        if (!axes[factors[i]].empty() &&
            model.mesh.getNumParts(axes[factors[i - 1]]) !=
                op.rule.factors[factors[i - 1]].size)
          isRankOrdered[result] = true;
    for (unsigned operand : op.operands)
      if (isRankOrdered[operand] && layout.cuts != Layout(dims.size()).cuts)
        isRankOrdered[result] = true;
  }
}

LayerPlanner::Outcome LayerPlanner::resolveResults(unsigned number,
                                                   const FactorAxes &axes) {
  const ShardedOperator &op = layer.operators[number];
  for (auto [result, dims] : zip_equal(op.results, op.rule.results)) {
    if (!isRead[result])
      continue;
    Layout wanted = planned.layouts[result];
    if (op.rule.exchange)
      wanted.cuts = getLayout(dims, axes).cuts;
    if (!wanted.partial.empty() && isStream(result) &&
        layer.position == LayerPosition::Body)
      wanted.cuts = stream.cuts;
    wanted.partial.clear();
    Outcome outcome = bring(current[result], wanted, number + 1, op.name);
    if (outcome != Outcome::Done)
      return outcome;
  }
  return Outcome::Done;
}

LayerPlanner::Outcome LayerPlanner::planOperator(unsigned number) {
  now = number;
  const ShardedOperator &op = layer.operators[number];
  FactorAxes axes;
  if (!chooseFactors(op, axes))
    return Outcome::Failed;
  FactorAxes exchanged = axes;
  if (!exchangeFactors(op, exchanged))
    return Outcome::Failed;
  // Where one operand's gradient will be partial, so will the result's.
  Axes used = getUsed(exchanged), lifted;
  for (unsigned operand : op.operands)
    for (StringRef axis : planned.layouts[current[operand]].reduced)
      if (!is_contained(used, axis))
        addMissing(lifted, axis);
  Outcome outcome = bringOperands(number, exchanged, lifted);
  if (outcome != Outcome::Done)
    return outcome;
  placeResults(op, exchanged, lifted);
  return resolveResults(number, axes);
}

LayerPlanner::Outcome LayerPlanner::returnResult() {
  now.reset();
  planned.result = current[layer.result];
  if (!isStream(layer.result))
    return Outcome::Done;
  Layout wanted = stream;
  wanted.reduced = planned.layouts[planned.result].reduced;
  return bring(planned.result, wanted, layer.operators.size(), layer.name);
}

std::optional<bool> LayerPlanner::plan(const Layout &hidden) {
  Outcome outcome = placeInputs(hidden);
  for (unsigned op = 0; op < layer.operators.size() && outcome == Outcome::Done;
       ++op)
    outcome = planOperator(op);
  if (outcome == Outcome::Done)
    outcome = returnResult();
  if (outcome == Outcome::Failed)
    return std::nullopt;
  return outcome == Outcome::Done;
}

} // namespace mf::passes
