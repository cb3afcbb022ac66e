//===- LayerGraphs.cpp - Layers of a compiled step as graphs --------------===//

#include "lib/Plan/Settings/LayerGraphs.h"
#include "mf/Perf/Simulator/StepSimulator.h"
#include "mf/Program/StepTasks.h"
#include "passes/adapters/AdapterPlan.h"
#include <map>

using namespace mf;
using namespace mf::planner;
using llvm::Expected;

namespace {

/// An operator of a layer, or its communication.
using OperatorName = std::pair<std::string, bool>;

/// The place at which a layer of some kind is computed.
struct LayerSite {
  size_t stage = 0;
  uint32_t routine = 0;
  std::string layer;
};

/// Gathers the graph of one layer from the routine of its chunk's forward.
class GraphBuilder {
public:
  GraphBuilder(const program::Program &program,
               const program::InstructionList &list, llvm::StringRef layer,
               const std::map<std::string, std::map<bool, double>> &seconds)
      : program(program), list(list), prefix((layer + ".").str()),
        seconds(seconds) {}

  LayerGraph build() {
    for (const program::Instruction &instruction : list.instructions)
      if (llvm::StringRef(instruction.cell).starts_with(prefix) &&
          (instruction.work == program::Work::Kernel ||
           instruction.work == program::Work::Exchange))
        add(instruction);
    std::vector<std::string> names;
    for (const LayerGraph::Operator &op : graph.operators)
      names.push_back(op.name);
    const std::set<std::string> adapters = passes::findAdapterOperators(names);
    for (LayerGraph::Operator &op : graph.operators)
      op.mayRepeat = adapters.count(op.name) == 0;
    return std::move(graph);
  }

private:
  const program::Program &program;
  const program::InstructionList &list;
  std::string prefix;
  const std::map<std::string, std::map<bool, double>> &seconds;
  LayerGraph graph;
  std::map<OperatorName, size_t> operators;
  std::map<uint32_t, size_t> values;

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

  size_t getValue(uint32_t buffer) {
    auto [found, isNew] = values.try_emplace(buffer, graph.values.size());
    if (isNew) {
      const program::Buffer &of = list.buffers[buffer];
      LayerGraph::Value value;
      value.bytes = of.bytes;
      value.isNeeded = of.kind == program::BufferKind::Slot;
      value.isFree = of.kind == program::BufferKind::Static;
      graph.values.push_back(std::move(value));
    }
    return found->second;
  }

  void add(const program::Instruction &instruction) {
    const size_t op = getOperator(instruction);
    if (instruction.work == program::Work::Kernel &&
        program.kernels[instruction.index].signature->kind == "grouped_matmul")
      graph.experts = op;
    for (const program::MemoryAccess &access : instruction.accesses) {
      const size_t value = getValue(access.operand.buffer);
      if (readsMemory(access.access) &&
          !llvm::is_contained(graph.values[value].producers, op))
        graph.operators[op].inputs.push_back(value);
      if (writesMemory(access.access) &&
          !llvm::is_contained(graph.values[value].producers, op))
        graph.values[value].producers.push_back(op);
    }
  }
};

} // namespace

/// Returns the layer to examine for each kind. If possible it is not the first
/// of its chunk, so that its input is a value like any other.
static Expected<std::vector<LayerSite>> findSites(const CompiledStep &step) {
  std::map<std::string, size_t> kinds;
  size_t numKinds = 0;
  for (const ModelLayer &layer : step.layers) {
    kinds[layer.name] = layer.kind;
    numKinds = std::max(numKinds, layer.kind + 1);
  }
  std::vector<LayerSite> sites(numKinds);
  std::vector<bool> isInner(numKinds);
  for (size_t stage = 0; stage < step.program.stages.size(); ++stage) {
    const program::StageProgram &code = step.program.stages[stage];
    Expected<std::vector<program::StepTask>> tasks = program::findTasks(code);
    if (!tasks)
      return tasks.takeError();
    for (const program::StepTask &task : *tasks) {
      if (task.phase != schedule::Phase::Forward)
        continue;
      // A task in a pair may have several calls. Operators that the others run
      // are not among the choices.
      const uint32_t position = task.calls.front();
      const uint32_t routine =
          code.step.getCall(code.step.instructions[position])->routine;
      std::string first;
      for (const program::Instruction &instruction :
           code.routines[routine].body.instructions) {
        const llvm::StringRef cell = instruction.cell;
        // The name of a layer may have dots itself.
        for (size_t dot = cell.find('.'); dot != llvm::StringRef::npos;
             dot = cell.find('.', dot + 1)) {
          auto kind = kinds.find(cell.take_front(dot).str());
          if (kind == kinds.end())
            continue;
          if (first.empty())
            first = kind->first;
          const bool inner = kind->first != first;
          if (!sites[kind->second].layer.empty() &&
              (!inner || isInner[kind->second]))
            break;
          sites[kind->second] = {stage, routine, kind->first};
          isInner[kind->second] = inner;
          break;
        }
      }
    }
  }
  return sites;
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
                          const target::Target &target) {
  Expected<std::vector<LayerSite>> sites = findSites(step);
  if (!sites)
    return sites.takeError();
  Expected<timeline::StepTimeline> timeline =
      simulator::simulate(step.program, target);
  if (!timeline)
    return timeline.takeError();
  std::vector<LayerGraph> graphs;
  for (const LayerSite &site : *sites) {
    const std::map<std::string, std::map<bool, double>> seconds =
        sumForward(*timeline, site.stage);
    graphs.push_back(
        GraphBuilder(
            step.program,
            step.program.stages[site.stage].routines[site.routine].body,
            site.layer, seconds)
            .build());
  }
  return graphs;
}
