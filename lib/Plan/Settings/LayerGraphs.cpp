//===- LayerGraphs.cpp - Layers of a compiled step as graphs --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/LayerGraphs.h"
#include "mf/Program/StepTasks.h"
#include <map>
#include <optional>
#include <tuple>

using namespace mf;
using namespace mf::planner;
using llvm::Expected;

namespace {

/// The name of an operator of a layer, and whether its communication is meant.
using OperatorName = std::pair<std::string, bool>;

/// The place at which a layer of some kind is computed.
struct LayerSite {
  size_t stage = 0;
  /// A forward of its chunk.
  program::StepTask forward;
  std::string layer;
};

const program::Call *getCall(const program::StageProgram &stage,
                             uint32_t position) {
  return stage.step.getCall(stage.step.instructions[position]);
}

/// Gathers the graph of one layer from a forward of its chunk. In a pair the
/// forward may have several calls.
class GraphBuilder {
public:
  GraphBuilder(const program::Program &program,
               const program::StageProgram &stage, llvm::StringRef layer,
               const CellTree &names,
               const std::map<std::string, std::map<bool, double>> &seconds)
      : program(program), stage(stage), prefix((layer + ".").str()),
        names(names), seconds(seconds) {}

  LayerGraph build(const program::StepTask &forward) {
    for (const uint32_t position : forward.calls) {
      const program::InstructionList &list =
          stage.routines[getCall(stage, position)->routine].body;
      for (const program::Instruction &instruction : list.instructions)
        if (llvm::StringRef(instruction.cell).starts_with(prefix) &&
            (instruction.work == program::Work::Kernel ||
             instruction.work == program::Work::Exchange))
          add(instruction, list, position);
    }
    for (LayerGraph::Operator &op : graph.operators) {
      const CellTree::Entry *entry = names.find(op.name);
      op.mayRepeat = entry && !entry->isCell;
    }
    freeGathered();
    return std::move(graph);
  }

private:
  /// A buffer of the step or of one of its calls: the kind, the position of the
  /// call if it is a temporary of one, and the index.
  using BufferKey =
      std::tuple<program::BufferKind, std::optional<uint32_t>, uint32_t>;

  const program::Program &program;
  const program::StageProgram &stage;
  std::string prefix;
  const CellTree &names;
  const std::map<std::string, std::map<bool, double>> &seconds;
  LayerGraph graph;
  std::map<OperatorName, size_t> operators;
  std::map<BufferKey, size_t> values;

  size_t getOperator(const program::Instruction &instruction) {
    const bool isCommunication = instruction.work == program::Work::Exchange;
    const std::string name = instruction.cell.substr(prefix.size());
    auto [found, isNew] =
        operators.try_emplace({name, isCommunication}, graph.operators.size());
    if (isNew) {
      LayerGraph::Operator op;
      op.name = name;
      op.isCommunication = isCommunication;
      if (auto times = seconds.find(instruction.cell); times != seconds.end())
        if (auto time = times->second.find(isCommunication);
            time != times->second.end())
          op.seconds = time->second;
      graph.operators.push_back(std::move(op));
    }
    return found->second;
  }

  BufferKey getKey(const program::Buffer &buffer, uint32_t position) const {
    using program::BufferKind;
    if (buffer.kind == BufferKind::Argument)
      return {buffer.kind, std::nullopt,
              getCall(stage, position)->arguments[buffer.index].buffer};
    const bool isShared =
        buffer.kind == BufferKind::Static || buffer.kind == BufferKind::Slot;
    return {buffer.kind,
            isShared ? std::nullopt : std::optional<uint32_t>(position),
            buffer.index};
  }

  size_t getValue(const program::Buffer &of, uint32_t position) {
    auto [found, isNew] =
        values.try_emplace(getKey(of, position), graph.values.size());
    if (isNew) {
      LayerGraph::Value value;
      value.bytes = of.bytes;
      value.isNeeded = of.kind == program::BufferKind::Slot;
      value.isFree = of.kind == program::BufferKind::Static;
      graph.values.push_back(std::move(value));
    }
    return found->second;
  }

  /// Frees the values that operators without a name compute from parameters
  /// alone, such as a gathered weight, unless backward reads the value of
  /// forward: backward then computes them again, whatever the settings are.
  void freeGathered() {
    std::vector<bool> isOfParameters;
    for (const LayerGraph::Value &value : graph.values)
      isOfParameters.push_back(value.isFree);
    for (size_t index = 0; index < graph.operators.size(); ++index) {
      const LayerGraph::Operator &op = graph.operators[index];
      if (!llvm::all_of(op.inputs,
                        [&](size_t input) { return isOfParameters[input]; }))
        continue;
      for (size_t at = 0; at < graph.values.size(); ++at) {
        LayerGraph::Value &value = graph.values[at];
        if (!llvm::is_contained(value.producers, index))
          continue;
        isOfParameters[at] = true;
        value.isFree |= !op.mayRepeat && !value.isNeeded;
      }
    }
  }

  void add(const program::Instruction &instruction,
           const program::InstructionList &list, uint32_t position) {
    const size_t op = getOperator(instruction);
    if (instruction.work == program::Work::Kernel &&
        program.kernels[instruction.index].signature->kind == "grouped_matmul")
      graph.experts = op;
    for (const program::MemoryAccess &access : instruction.accesses) {
      const size_t value =
          getValue(list.buffers[access.operand.buffer], position);
      if (readsMemory(access.access) &&
          !llvm::is_contained(graph.values[value].producers, op))
        graph.operators[op].inputs.push_back(value);
      if (writesMemory(access.access) &&
          !llvm::is_contained(graph.values[value].producers, op))
        graph.values[value].producers.push_back(op);
    }
  }
};

/// Finds the layer to examine for each kind. If possible it is not the first of
/// its chunk, so that its input is a value like any other.
class SiteFinder {
public:
  explicit SiteFinder(llvm::ArrayRef<ModelLayer> layers) {
    size_t numKinds = 0;
    for (const ModelLayer &layer : layers) {
      kinds[layer.name] = layer.kind;
      numKinds = std::max(numKinds, layer.kind + 1);
    }
    sites.resize(numKinds);
    isInner.resize(numKinds);
  }

  void add(size_t stage, const program::StageProgram &code,
           const program::StepTask &forward) {
    std::string first;
    for (const uint32_t position : forward.calls)
      for (const program::Instruction &instruction :
           code.routines[getCall(code, position)->routine].body.instructions) {
        const auto kind = findLayer(instruction.cell);
        if (kind == kinds.end())
          continue;
        if (first.empty())
          first = kind->first;
        const bool inner = kind->first != first;
        LayerSite &site = sites[kind->second];
        if (!site.layer.empty() && (!inner || isInner[kind->second]))
          continue;
        site = {stage, forward, kind->first};
        isInner[kind->second] = inner;
      }
  }
  std::vector<LayerSite> take() { return std::move(sites); }

private:
  /// The kinds of layers, by name.
  std::map<std::string, size_t> kinds;
  std::vector<LayerSite> sites;
  std::vector<bool> isInner;

  /// Returns the layer of a cell. The name of a layer may itself contain dots.
  std::map<std::string, size_t>::const_iterator
  findLayer(llvm::StringRef cell) const {
    for (size_t dot = cell.find('.'); dot != llvm::StringRef::npos;
         dot = cell.find('.', dot + 1))
      if (auto kind = kinds.find(cell.take_front(dot).str());
          kind != kinds.end())
        return kind;
    return kinds.end();
  }
};

} // namespace

static Expected<std::vector<LayerSite>> findSites(const CompiledStep &step) {
  SiteFinder finder(step.layers);
  for (size_t stage = 0; stage < step.program.stages.size(); ++stage) {
    const program::StageProgram &code = step.program.stages[stage];
    Expected<std::vector<program::StepTask>> tasks = program::findTasks(code);
    if (!tasks)
      return tasks.takeError();
    for (const program::StepTask &task : *tasks)
      if (task.phase == schedule::Phase::Forward)
        finder.add(stage, code, task);
  }
  return finder.take();
}

/// For each operator, separately for itself and its communication, returns the
/// time in a forward in seconds.
static std::map<std::string, std::map<bool, double>>
sumForward(const timeline::StepTimeline &timeline, size_t stage) {
  std::map<std::string, std::map<bool, double>> seconds;
  const timeline::StageTimeline &own = timeline.stages[stage];
  for (const timeline::StreamTimeline &stream : own.streams)
    for (const timeline::Span &span : stream.spans) {
      if (span.task < 0)
        continue;
      const timeline::TaskSpan &task =
          own.tasks[static_cast<size_t>(span.task)];
      const timeline::Activity &activity = timeline.activities[span.activity];
      if (task.phase != schedule::Phase::Forward || task.microBatch != 0 ||
          (activity.category != timeline::Category::Kernel &&
           activity.category != timeline::Category::Collective))
        continue;
      seconds[activity.cell]
             [activity.category == timeline::Category::Collective] +=
          span.end - span.start;
    }
  return seconds;
}

Expected<std::vector<LayerGraph>>
planner::buildLayerGraphs(const CompiledStep &step,
                          const timeline::StepTimeline &timeline) {
  Expected<std::vector<LayerSite>> sites = findSites(step);
  if (!sites)
    return sites.takeError();
  std::vector<LayerGraph> graphs;
  for (const LayerSite &site : *sites) {
    const std::map<std::string, std::map<bool, double>> seconds =
        sumForward(timeline, site.stage);
    auto names = step.names.find(site.layer);
    graphs.push_back(
        GraphBuilder(step.program, step.program.stages[site.stage], site.layer,
                     names == step.names.end() ? CellTree() : names->second,
                     seconds)
            .build(site.forward));
  }
  return graphs;
}
