//===- LayoutPlan.cpp - Layouts of a model's tensors on ranks -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LayoutPlan.h"
#include "LayerPlanner.h"
#include "ReshardCollective.h"
#include "RuleAxes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <tuple>

using namespace llvm;

namespace mf::passes {

using ir::Axes;
using ir::Layout;
using ir::ShardingFactor;
using ir::ShardingRule;

Axes getMeshAxes(StringRef name, const ir::MeshSizes &mesh) {
  Axes axes;
  for (auto [axis, size] : mesh.axes) {
    bool isFactor = axis.consume_front(name) && axis.starts_with("_");
    if (size > 1 && (axis.empty() || isFactor))
      axes.push_back(isFactor ? StringRef(axis.data() - name.size(),
                                          axis.size() + name.size())
                              : name);
  }
  return axes;
}

/// Returns the layout of the stream [batch, sequence, hidden] after a layer.
static Layout getStream(const ShardedModel &model, LayerPosition position) {
  Layout stream(3);
  stream.cuts[0] = getMeshAxes("dp", model.mesh);
  stream.cuts[1] = getMeshAxes("cp", model.mesh);
  if (model.sequenceParallel && position == LayerPosition::Body)
    stream.cuts[1].append(getMeshAxes("mp", model.mesh));
  return stream;
}

namespace {

/// The inputs, in addition to its kind, on which the plan of a layer depends.
struct LayerStart {
  std::vector<Layout> hidden;
  Axes gathered;
  /// The layouts of parameters in the order of AlikeLayers.
  std::vector<Layout> parameters;
  std::vector<bool> isChosen;

  bool operator==(const LayerStart &other) const {
    return hidden == other.hidden && gathered == other.gathered &&
           parameters == other.parameters && isChosen == other.isChosen;
  }
};

/// A layer that was planned, with the layouts of its parameters before and
/// after.
struct PlannedStart {
  unsigned layer;
  LayerStart start, end;
  LayerLayouts planned;
  /// True if no parameter changed.
  bool isSettled;
};

} // namespace

/// Returns the layout with the cuts that both layouts begin with.
static Layout getCommon(const Layout &one, const Layout &other) {
  Layout common(one.cuts.size());
  for (auto [cut, left, right] : zip_equal(common.cuts, one.cuts, other.cuts)) {
    const auto *end =
        std::mismatch(left.begin(), left.end(), right.begin(), right.end())
            .first;
    cut.append(left.begin(), end);
  }
  return common;
}

namespace {

class ModelPlanner {
public:
  /// `gathered` has for each layer the axes over which its hidden input is
  /// gathered with a partial gradient.
  ModelPlanner(const ShardedModel &model, std::vector<Axes> gathered,
               LayoutError &error)
      : model(model), gathered(std::move(gathered)), error(error),
        kinds(model) {}

  std::optional<LayoutPlan> run() {
    if (!placeParameters())
      return std::nullopt;
    for (const ShardedLayer &layer : model.layers) {
      taken.emplace_back(layer.numArguments);
      for (unsigned number : layer.data)
        data.resize(std::max<size_t>(data.size(), number + 1));
    }
    // Parameters that several layers read settle after all of them have made
    // their requests.
    for (bool isSettled = false; !isSettled;) {
      if (!planOnce(isSettled))
        return std::nullopt;
      isSettled = isSettled && !joinData();
    }
    return std::move(plan);
  }

private:
  /// Cuts parameters as their strategies define, if they are divisible.
  bool placeParameters() {
    for (auto [number, parameter] : enumerate(model.parameters)) {
      Layout layout(parameter.shape.size());
      for (auto [dim, names] : enumerate(parameter.cuts)) {
        Axes axes;
        for (StringRef name : names)
          axes.append(getMeshAxes(name, model.mesh));
        int64_t parts = model.mesh.getNumParts(axes);
        if (parameter.shape[dim] % parts == 0) {
          layout.cuts[dim] = axes;
          continue;
        }
        std::string problem =
            ("dimension " + Twine(dim) + " of '" + parameter.name + "', " +
             Twine(parameter.shape[dim]) + ", does not divide into " +
             Twine(parts) + " parts over " + join(axes, " and "))
                .str();
        if (!parameter.mayStayWhole) {
          error.message = problem;
          error.axis = axes.back().str();
          error.parameter = number;
          return false;
        }
        plan.warnings.push_back(problem + "; all ranks have all of it");
      }
      plan.parameters.push_back(std::move(layout));
    }
    states.isChosen.assign(model.parameters.size(), false);
    return true;
  }

  bool planOnce(bool &isSettled) {
    isSettled = true;
    plan.layers.clear();
    std::vector<Layout> hidden;
    // For each layer of the first piece, the layouts of the values that the
    // pieces so far returned.
    std::vector<std::vector<Layout>> past(model.layers.size());
    for (auto [number, layer] : enumerate(model.layers)) {
      hidden.resize(layer.numHidden - layer.numPast);
      append_range(hidden, past[layer.firstPiece]);
      if (!planLayer(number, hidden, isSettled))
        return false;
      const LayerLayouts &planned = plan.layers.back();
      hidden.clear();
      auto addTo = [&, &known = layer.values](std::vector<Layout> &given,
                                              ArrayRef<unsigned> results,
                                              ArrayRef<unsigned> values) {
        for (auto [result, value] : zip_equal(results, values))
          if (!known[value].shape.empty())
            given.push_back(planned.layouts[result]);
      };
      ArrayRef<unsigned> results = planned.results, values = layer.results;
      addTo(hidden, results.drop_back(layer.numFuture),
            values.drop_back(layer.numFuture));
      addTo(past[layer.firstPiece], results.take_back(layer.numFuture),
            values.take_back(layer.numFuture));
    }
    return true;
  }

  /// Finds data that layers take with different layouts. Returns true if there
  /// are any, so that these layers must be planned again.
  bool joinData() {
    std::vector<std::optional<Layout>> common(data.size());
    std::vector<bool> isChanged(data.size(), false);
    auto forEachTaken = [&](auto call) {
      for (auto [number, layer] : enumerate(model.layers))
        for (auto [place, which] : enumerate(layer.data)) {
          unsigned argument = layer.numHidden + place;
          call(which, plan.layers[number].layouts[argument],
               taken[number][argument]);
        }
    };
    forEachTaken([&](unsigned which, const Layout &layout, Layout &) {
      isChanged[which] =
          isChanged[which] || (common[which] && !(*common[which] == layout));
      common[which] =
          common[which] ? getCommon(*common[which], layout) : layout;
    });
    forEachTaken([&](unsigned which, const Layout &layout, Layout &own) {
      if (!isChanged[which])
        return;
      own = layout;
      data[which] = common[which];
    });
    if (!is_contained(isChanged, true))
      return false;
    known.clear();
    return true;
  }

  /// Plans one layer until it settles. Returns false for an error.
  bool planLayer(unsigned number, ArrayRef<Layout> hidden, bool &isSettled) {
    const ShardedLayer &layer = model.layers[number];
    LayerStart start = getStart(number, hidden);
    if (takeFromAlike(number, start, isSettled))
      return true;
    // The requirements of a layer on its arguments are known after a first
    // attempt.
    std::vector<Layout> arguments = taken[number];
    WantedFactors wanted;
    bool hasChanged = false;
    while (true) {
      LayerPlanner planner(model, layer, getStream(model, layer.position),
                           gathered[number], plan.parameters, states, data,
                           arguments, wanted, error);
      std::optional<bool> settled = planner.plan(hidden);
      if (!settled) {
        error.layer = number;
        return false;
      }
      if (*settled) {
        plan.layers.push_back(planner.takePlan());
        break;
      }
      hasChanged |= states.hasChanged;
      states.hasChanged = false;
    }
    isSettled = isSettled && !hasChanged;
    LayerStart end = getStart(number, hidden);
    known[kinds.getKind(number)].push_back({number, std::move(start),
                                            std::move(end), plan.layers.back(),
                                            !hasChanged});
    return true;
  }

  LayerStart getStart(unsigned number, ArrayRef<Layout> hidden) const {
    LayerStart start{hidden.vec(), gathered[number], {}, {}};
    for (unsigned parameter : kinds.getParameters(number)) {
      start.parameters.push_back(plan.parameters[parameter]);
      start.isChosen.push_back(states.isChosen[parameter]);
    }
    return start;
  }

  /// Reuses the result for a layer of the same kind with the same inputs,
  /// because models have many layers of few kinds.
  bool takeFromAlike(unsigned number, const LayerStart &start,
                     bool &isSettled) {
    for (const PlannedStart &alike : known[kinds.getKind(number)]) {
      if (!(alike.start == start))
        continue;
      plan.layers.push_back(alike.planned);
      // Reshards at the begin and end of a layer have the layer's name.
      for (PlannedReshard &reshard : plan.layers.back().reshards)
        if (reshard.name == model.layers[alike.layer].name)
          reshard.name = model.layers[number].name;
      for (auto [parameter, layout, isChosen] :
           zip_equal(kinds.getParameters(number), alike.end.parameters,
                     alike.end.isChosen)) {
        plan.parameters[parameter] = layout;
        states.isChosen[parameter] = isChosen;
      }
      isSettled = isSettled && alike.isSettled;
      return true;
    }
    return false;
  }

  const ShardedModel &model;
  std::vector<Axes> gathered;
  LayoutError &error;
  LayoutPlan plan;
  ParameterStates states;
  /// For each data that layers would take with different layouts, the common
  /// layout.
  std::vector<std::optional<Layout>> data;
  /// For each layer, the layouts with which it would take its data by itself.
  std::vector<std::vector<Layout>> taken;
  AlikeLayers kinds;
  /// For each kind of layer, the layers planned so far.
  std::map<unsigned, std::vector<PlannedStart>> known;
};

} // namespace

/// Finds values that are gathered at the begin of a layer and mirrored by this
/// or a later layer. These can be gathered with a partial gradient at once:
/// backward then has one reduce-scatter instead of an all-reduce of which each
/// rank takes its part.
static std::vector<Axes> findGathered(const ShardedModel &model,
                                      const LayoutPlan &plan) {
  std::vector<Axes> found(model.layers.size());
  Axes mirrored;
  for (size_t number = model.layers.size(); number-- > 0;) {
    const LayerLayouts &layer = plan.layers[number];
    Axes entered;
    // For each hidden input, the version that the layer continues with.
    auto hidden = to_vector(seq<unsigned>(0, model.layers[number].numHidden));
    for (const PlannedReshard &reshard : layer.reshards) {
      if (!reshard.view.empty())
        continue;
      std::optional<ReshardCollective> collective = getReshardCollective(
          layer.layouts[reshard.from], layer.layouts[reshard.to]);
      if (collective->kind == ReshardKind::Mirror)
        addMissing(mirrored, collective->axes);
      unsigned *entering = find(hidden, reshard.from);
      if (entering == hidden.end() || reshard.before != 0)
        continue;
      *entering = reshard.to;
      if (collective->kind == ReshardKind::AllGather && collective->replicated)
        addMissing(entered, collective->axes);
    }
    copy_if(entered, std::back_inserter(found[number]),
            [&](StringRef axis) { return is_contained(mirrored, axis); });
    erase_if(mirrored,
             [&](StringRef axis) { return is_contained(entered, axis); });
  }
  return found;
}

std::optional<LayoutPlan> planLayouts(const ShardedModel &model,
                                      LayoutError &error) {
  std::vector<Axes> gathered(model.layers.size());
  std::optional<LayoutPlan> plan = ModelPlanner(model, gathered, error).run();
  if (!plan)
    return std::nullopt;
  gathered = findGathered(model, *plan);
  if (all_of(gathered, [](const Axes &axes) { return axes.empty(); }))
    return plan;
  // This fails if a later operator does not sum the gradient.
  LayoutError unused;
  std::optional<LayoutPlan> better =
      ModelPlanner(model, gathered, unused).run();
  return better ? better : plan;
}

void LayoutPlan::print(const ShardedModel &model, raw_ostream &os) const {
  auto printLayout = [&](StringRef what, const Layout &layout) {
    os << "  " << what << ": ";
    layout.print(os);
    os << '\n';
  };
  os << "parameters\n";
  for (auto [parameter, layout] : zip_equal(model.parameters, parameters))
    printLayout(parameter.name, layout);
  for (auto [layer, planned] : zip_equal(model.layers, layers)) {
    os << layer.name << '\n';
    for (unsigned i = 0; i < layer.numArguments; ++i)
      printLayout("argument " + std::to_string(i), planned.layouts[i]);
    for (const PlannedReshard &reshard : planned.reshards) {
      os << "  " << (reshard.view.empty() ? "reshard " : "view ")
         << reshard.name << ": ";
      planned.layouts[reshard.from].print(os);
      os << " -> ";
      planned.layouts[reshard.to].print(os);
      if (!reshard.view.empty()) {
        os << " of ";
        interleave(reshard.view, os, "x");
      }
      os << '\n';
    }
    for (unsigned result : planned.results)
      printLayout("result", planned.layouts[result]);
  }
}

static bool areEqual(const ShardingRule &one, const ShardingRule &other) {
  auto getFacts = [](const ShardingRule &rule) {
    return std::tie(rule.operands, rule.results, rule.linearity, rule.exchange,
                    rule.prefix, rule.dependsOnPlace);
  };
  auto areEqualFactors = [](const ShardingFactor &left,
                            const ShardingFactor &right) {
    return left.kind == right.kind && left.size == right.size;
  };
  return getFacts(one) == getFacts(other) &&
         llvm::equal(one.factors, other.factors, areEqualFactors);
}

static bool areEqual(const ShardedOperator &one, const ShardedOperator &other) {
  return one.name == other.name && one.operands == other.operands &&
         one.results == other.results && areEqual(one.rule, other.rule);
}

static bool areEqual(const ShardedParameter &one,
                     const ShardedParameter &other) {
  auto getFacts = [](const ShardedParameter &parameter) {
    return std::tie(parameter.shape, parameter.isTable, parameter.cuts,
                    parameter.mayStayWhole);
  };
  return getFacts(one) == getFacts(other);
}

static bool areEqual(const ShardedLayer &one, const ShardedLayer &other) {
  auto getFacts = [](const ShardedLayer &layer) {
    return std::tie(layer.position, layer.numArguments, layer.numHidden,
                    layer.data, layer.results, layer.numPast, layer.numFuture);
  };
  return getFacts(one) == getFacts(other) &&
         llvm::equal(
             one.operators, other.operators,
             [](const ShardedOperator &left, const ShardedOperator &right) {
               return areEqual(left, right);
             });
}

/// Returns whether two values of layers are equal. Parameters are compared by
/// their index among `parameters`, the parameters that the layer reads.
static bool areEqual(const ShardedValue &one, ArrayRef<unsigned> parameters,
                     const ShardedValue &other,
                     ArrayRef<unsigned> otherParameters) {
  auto getPlace = [](const ShardedValue &value, ArrayRef<unsigned> order) {
    return value.parameter ? find(order, *value.parameter) - order.begin() : -1;
  };
  return one.shape == other.shape && one.needsGradient == other.needsGradient &&
         one.isInteger == other.isInteger &&
         getPlace(one, parameters) == getPlace(other, otherParameters);
}

bool AlikeLayers::areAlike(const ShardedModel &model, unsigned one,
                           unsigned other) const {
  const ShardedLayer &left = model.layers[one], &right = model.layers[other];
  if (left.values.size() != right.values.size() ||
      parameters[one].size() != parameters[other].size() ||
      !areEqual(left, right))
    return false;
  for (auto [mine, yours] : zip_equal(left.values, right.values))
    if (!areEqual(mine, parameters[one], yours, parameters[other]))
      return false;
  return all_of(zip_equal(parameters[one], parameters[other]),
                [&](const auto &pair) {
                  return areEqual(model.parameters[std::get<0>(pair)],
                                  model.parameters[std::get<1>(pair)]);
                });
}

AlikeLayers::AlikeLayers(const ShardedModel &model) {
  // The first layer of each kind.
  std::vector<unsigned> firsts;
  for (unsigned number = 0; number < model.layers.size(); ++number) {
    std::vector<unsigned> &read = parameters.emplace_back();
    for (const ShardedValue &value : model.layers[number].values)
      if (value.parameter && !is_contained(read, *value.parameter))
        read.push_back(*value.parameter);
    auto known = find_if(
        firsts, [&](unsigned first) { return areAlike(model, first, number); });
    kinds.push_back(known - firsts.begin());
    if (known == firsts.end())
      firsts.push_back(number);
  }
}

} // namespace mf::passes
