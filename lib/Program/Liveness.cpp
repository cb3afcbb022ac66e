//===- Liveness.cpp - When each buffer of a step is alive -----------------===//

#include "mf/Program/Liveness.h"
#include "StepWalker.h"
#include "StreamClocks.h"
#include "mf/Program/KernelTraits.h"
#include <deque>

namespace mf::program {

llvm::StringRef getName(Category category) {
  switch (category) {
  case Category::Parameter:
    return "parameter";
  case Category::Gradient:
    return "gradient";
  case Category::OptimizerState:
    return "optimizer_state";
  case Category::Activation:
    return "activation";
  case Category::Temporary:
    return "temporary";
  case Category::Communication:
    return "communication";
  case Category::Input:
    return "input";
  }
  return "";
}

static Category getCategory(Role role) {
  switch (role) {
  case Role::Parameter:
  case Role::Table:
  case Role::Constant:
    return Category::Parameter;
  case Role::Gradient:
    return Category::Gradient;
  case Role::FirstMoment:
  case Role::SecondMoment:
    return Category::OptimizerState;
  case Role::Tokens:
  case Role::Labels:
  case Role::LearningRate:
  case Role::StepNumber:
  case Role::Report:
  case Role::LossScale:
    return Category::Input;
  }
  return Category::Parameter;
}

namespace {

class LivenessAnalysis {
public:
  LivenessAnalysis(const Program &program, const Rank &rank)
      : program(program), rank(rank), table(rank), walker(rank, table),
        clocks(rank), numbers(table.getNumInstances(), none),
        pending(rank.streams.size()) {}

  std::vector<Lifetime> run() {
    for (uint32_t i = 0; i < rank.statics.size(); ++i)
      find(table.getStatic(i));
    walker.walk([&](const Scope &scope, const Instruction &instruction,
                    uint32_t number) {
      visit(scope, instruction, number);
      ++time;
      return true;
    });
    // The host waits for all streams at the end.
    for (auto &uses : pending)
      for (const PendingUse &use : uses)
        lifetimes[use.lifetime].end = time;
    return std::move(lifetimes);
  }

private:
  static constexpr uint32_t none = ~uint32_t{0};

  /// A use on another stream that the compute stream does not know to be over.
  struct PendingUse {
    uint64_t streamPosition = 0;
    uint32_t lifetime = 0;
  };

  void visit(const Scope &scope, const Instruction &instruction,
             uint32_t number) {
    const uint32_t stream = *getStream(rank, instruction);
    const uint64_t streamPosition = clocks.advance(stream);
    if (const auto *record = std::get_if<Record>(&instruction.action))
      clocks.record(scope, *record);
    if (const auto *wait = std::get_if<Wait>(&instruction.action)) {
      clocks.wait(scope, *wait);
      if (stream == rank.computeStream)
        settle();
    }
    const Moment moment = {time, scope.call ? scope.callPosition : number,
                           scope.call ? number : 0};
    forEachOperand(
        instruction,
        [&](uint32_t kernel) {
          return readsOutputs(program.kernels[kernel].name);
        },
        [&](const Operand &operand, bool) {
          const Access access = walker.resolve(scope, operand);
          use(find(access.instance), instruction, moment, stream,
              streamPosition);
        });
  }

  void use(uint32_t index, const Instruction &instruction, const Moment &moment,
           uint32_t stream, uint64_t streamPosition) {
    Lifetime &lifetime = lifetimes[index];
    if (!used[index])
      lifetime.first = moment;
    used[index] = true;
    lifetime.last = moment;
    lifetime.end = std::max(lifetime.end, time);
    if (stream != rank.computeStream) {
      lifetime.onlyCompute = false;
      pending[stream].push_back({streamPosition, index});
    }
    if (lifetime.kind != BufferKind::Message)
      return;
    if (std::holds_alternative<Transfer>(instruction.action) ||
        std::holds_alternative<AllReduce>(instruction.action))
      lifetime.category = Category::Communication;
    else if (std::holds_alternative<Copy>(instruction.action) &&
             lifetime.category == Category::Activation)
      lifetime.category = Category::Input;
  }

  uint32_t find(uint64_t instance) {
    uint32_t &number = numbers[instance];
    if (number != none)
      return number;
    number = lifetimes.size();
    const Access memory = table.getMemory(instance);
    const InstanceTable::Origin origin = table.getOrigin(instance);
    Lifetime lifetime;
    lifetime.kind = origin.kind;
    lifetime.space = memory.space;
    lifetime.offset = memory.offset;
    lifetime.bytes = memory.bytes;
    if (origin.kind == BufferKind::Static)
      lifetime.category = getCategory(rank.statics[origin.index].role);
    else if (origin.kind == BufferKind::Temporary)
      lifetime.category = Category::Temporary;
    else
      lifetime.category = Category::Activation;
    lifetimes.push_back(lifetime);
    used.push_back(false);
    return number;
  }

  /// Ends the uses on other streams that the compute stream waited for.
  void settle() {
    for (uint32_t stream = 0; stream < pending.size(); ++stream) {
      const uint64_t over = clocks.getClock(rank.computeStream, stream);
      std::deque<PendingUse> &uses = pending[stream];
      while (!uses.empty() && uses.front().streamPosition <= over) {
        Lifetime &lifetime = lifetimes[uses.front().lifetime];
        lifetime.end = std::max(lifetime.end, time);
        uses.pop_front();
      }
    }
  }

  const Program &program;
  const Rank &rank;
  InstanceTable table;
  StepWalker walker;
  StreamClocks clocks;
  uint64_t time = 0;
  std::vector<Lifetime> lifetimes;
  std::vector<bool> used;
  /// Of each instance, its place in `lifetimes`.
  std::vector<uint32_t> numbers;
  std::vector<std::deque<PendingUse>> pending;
};

} // namespace

std::vector<Lifetime> computeLifetimes(const Program &program,
                                       const Rank &rank) {
  return LivenessAnalysis(program, rank).run();
}

MemoryUse findPeak(const std::vector<Lifetime> &lifetimes, Space space) {
  struct Change {
    uint64_t time;
    Category category;
    int64_t bytes;
  };
  MemoryUse use;
  std::vector<Change> changes;
  for (const Lifetime &lifetime : lifetimes) {
    if (lifetime.space != space)
      continue;
    if (lifetime.kind == BufferKind::Static) {
      use.byCategory[static_cast<size_t>(lifetime.category)] += lifetime.bytes;
      use.bytes += lifetime.bytes;
      continue;
    }
    changes.push_back({lifetime.first.time, lifetime.category, lifetime.bytes});
    changes.push_back({lifetime.end + 1, lifetime.category, -lifetime.bytes});
  }
  // What ends goes before what begins at the same time.
  std::sort(changes.begin(), changes.end(),
            [](const Change &a, const Change &b) {
              return a.time != b.time ? a.time < b.time : a.bytes < b.bytes;
            });
  MemoryUse peak = use;
  for (const Change &change : changes) {
    use.bytes += change.bytes;
    use.byCategory[static_cast<size_t>(change.category)] += change.bytes;
    use.time = change.time;
    if (use.bytes > peak.bytes)
      peak = use;
  }
  return peak;
}

int64_t findExtent(const std::vector<Lifetime> &lifetimes, Space space) {
  int64_t extent = 0;
  for (const Lifetime &lifetime : lifetimes)
    if (lifetime.space == space)
      extent = std::max(extent, lifetime.offset + lifetime.bytes);
  return extent;
}

} // namespace mf::program
