//===- IssueList.cpp - A stage's step in a form to issue ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "IssueList.h"
#include "RankExecutor.h"
#include "mf/Exec/Runner/Runner.h"
#include "mf/Program/Liveness.h"
#include "llvm/ADT/STLExtras.h"
#include <array>
#include <set>

using namespace mf::program;

namespace mf::runner {

PoisonPlan::PoisonPlan(const StageProgram &stage) {
  for (const Lifetime &lifetime : computeLifetimes(stage))
    if (lifetime.kind != BufferKind::Static &&
        lifetime.space == Space::Device && lifetime.onlyCompute &&
        lifetime.begin < lifetime.end)
      ranges[{lifetime.lastPosition, lifetime.lastInstruction}].push_back(
          {lifetime.offset, lifetime.bytes});
}

llvm::ArrayRef<PoisonPlan::Range>
PoisonPlan::getRanges(uint32_t position, uint32_t instruction) const {
  auto found = ranges.find({position, instruction});
  if (found == ranges.end())
    return {};
  return found->second;
}

/// The list that an instruction belongs to, and the objects that its indices
/// refer to.
struct WorkSource {
  const program::Program &program;
  const program::InstructionList &list;
  /// The number of buffers that the list takes as arguments.
  uint32_t numArguments = 0;
  /// Resolves the addresses of operands in calls.
  const program::StepWalker &walker;
  llvm::ArrayRef<std::unique_ptr<Kernel>> kernels;
};

static OperandAddress getAddress(const WorkSource &source,
                                 const Operand &operand) {
  const Address &address = source.list.buffers[operand.buffer].address;
  return {getBaseNumber(address, source.numArguments),
          address.offset + operand.offset, operand.bytes};
}

/// Returns the address of access `number` of an instruction.
static OperandAddress getAddress(const WorkSource &source,
                                 const Instruction &instruction,
                                 size_t number) {
  return getAddress(source, instruction.accesses[number].operand);
}

namespace {

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Successive launches of kernels.
class LaunchRange : public IssuedWork {
public:
  bool append(const WorkSource &source, const Instruction &instruction,
              uint32_t number) override {
    if (instruction.work != Work::Kernel)
      return false;
    const KernelSpec &spec = source.program.kernels[instruction.index].spec;
    Launch launch;
    launch.kernel = source.kernels[instruction.index].get();
    launch.firstOperand = operands.size();
    launch.numInputs = spec.inputs.size();
    launch.numOutputs = spec.outputs.size();
    launch.numOperands = instruction.accesses.size();
    launch.instruction = number;
    for (const MemoryAccess &access : instruction.accesses)
      operands.push_back(getAddress(source, access.operand));
    launches.push_back(launch);
    return true;
  }

  void issue(RankExecutor &rank, const IssueContext &context,
             const IssueItem &item) const override {
    IssueContext captured = context.withoutEvents();
    RecordedWork *record = nullptr;
    for (const Launch &launch : launches) {
      RecordedWork *place = rank.record(context, item, launch.instruction);
      record = record ? record : place;
    }
    rank.getStream(item.stream)
        .launch([this, &rank, captured = std::move(captured), record] {
          const ThreadPool::Computing computing(rank.getPool());
          if (record)
            runRecorded(rank, captured, record);
          else
            runAll(rank, captured);
        });
  }

private:
  struct Launch {
    const Kernel *kernel = nullptr;
    /// Inputs, outputs and other operands of the kernel are consecutive.
    uint32_t firstOperand = 0;
    uint32_t numInputs = 0;
    uint32_t numOutputs = 0;
    uint32_t numOperands = 0;
    uint32_t instruction = 0;
  };

  void runAll(RankExecutor &rank, const IssueContext &context) const {
    for (const Launch &launch : launches) {
      if (rank.getDevice().hasFailed())
        return;
      run(rank, context, launch);
    }
  }

  /// `record` is the record of the first launch. The records of the other
  /// launches follow it.
  void runRecorded(RankExecutor &rank, const IssueContext &context,
                   RecordedWork *record) const {
    auto now = std::chrono::steady_clock::now();
    for (const Launch &launch : launches) {
      if (rank.getDevice().hasFailed())
        return;
      record->times.start = now;
      run(rank, context, launch);
      record->times.end = now = std::chrono::steady_clock::now();
      ++record;
    }
  }

  void run(RankExecutor &rank, const IssueContext &context,
           const Launch &launch) const {
    llvm::SmallVector<void *, 16> addresses;
    for (const OperandAddress &operand : llvm::ArrayRef(operands).slice(
             launch.firstOperand, launch.numOperands)) {
      addresses.push_back(context.bases->getAddress(operand));
      rank.touch(*context.bases, operand);
    }
    const llvm::ArrayRef<void *> all = addresses;
    KernelOperands run;
    run.inputs = all.take_front(launch.numInputs);
    run.outputs = all.slice(launch.numInputs, launch.numOutputs);
    if (launch.numOperands > launch.numInputs + launch.numOutputs)
      run.workspace = all.back();
    launch.kernel->run(run, rank.getPool());
    rank.dump(context, launch.instruction);
    rank.poisonAfter(context, launch.instruction);
  }

  std::vector<Launch> launches;
  std::vector<OperandAddress> operands;
};

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Returns where the times of a record are stored; null if there is none.
static WorkTimes *getTimes(RecordedWork *record) {
  return record ? &record->times : nullptr;
}

class CopyWork : public IssuedWork {
public:
  CopyWork(const WorkSource &source, const Instruction &instruction)
      : from(getAddress(source, instruction, 0)),
        to(getAddress(source, instruction, 1)) {
    auto isHost = [&](size_t number) {
      const uint32_t buffer = instruction.accesses[number].operand.buffer;
      return source.list.buffers[buffer].space == Space::Host;
    };
    kind = isHost(0)   ? CopyKind::HostToDevice
           : isHost(1) ? CopyKind::DeviceToHost
                       : CopyKind::DeviceToDevice;
  }

  void issue(RankExecutor &rank, const IssueContext &context,
             const IssueItem &item) const override {
    rank.touch(*context.bases, from);
    rank.touch(*context.bases, to);
    rank.getStream(item.stream)
        .memcpyAsync(context.bases->getAddress(to),
                     context.bases->getAddress(from), from.bytes, kind,
                     getTimes(rank.record(context, item, item.begin)));
  }

private:
  OperandAddress from, to;
  CopyKind kind;
};

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

/// Calls `exchange(times)`. The communicator does not know when this rank
/// arrived, so that is recorded here.
template <typename Exchanging>
static llvm::Error runExchange(RecordedWork *record, Exchanging exchange) {
  if (!record)
    return exchange(nullptr);
  WorkTimes moved;
  const auto came = std::chrono::steady_clock::now();
  llvm::Error error = exchange(&moved);
  record->times = moved.end == WorkTimes().end
                      ? WorkTimes{came, std::chrono::steady_clock::now()}
                      : moved;
  return error;
}

/// A message that a rank sends or receives.
class TransferWork : public IssuedWork {
public:
  TransferWork(const WorkSource &source, const Instruction &instruction)
      : exchange(source.list.exchanges[instruction.index]),
        buffer(getAddress(source, instruction, 0)) {}

  void issue(RankExecutor &rank, const IssueContext &context,
             const IssueItem &item) const override {
    rank.touch(*context.bases, buffer);
    rank.getStream(item.stream)
        .launch([this, &rank, address = context.bases->getAddress(buffer),
                 record = rank.record(context, item, item.begin)] {
          Communicator &communicator = rank.getCommunicator();
          return runExchange(record, [&](WorkTimes *times) {
            return exchange.isSend
                       ? communicator.send(exchange.channel, rank.getRank(),
                                           address, buffer.bytes, times)
                       : communicator.receive(exchange.channel, rank.getRank(),
                                              address, buffer.bytes, times);
          });
        });
  }

private:
  const Exchange &exchange;
  OperandAddress buffer;
};

class CollectiveWork : public IssuedWork {
public:
  CollectiveWork(const WorkSource &source, const Instruction &instruction)
      : exchange(source.list.exchanges[instruction.index]) {
    for (const MemoryAccess &access : instruction.accesses)
      operands.push_back(getAddress(source, access.operand));
  }

  void issue(RankExecutor &rank, const IssueContext &context,
             const IssueItem &item) const override {
    for (const OperandAddress &operand : operands)
      rank.touch(*context.bases, operand);
    rank.getStream(item.stream)
        .launch([this, &rank, captured = context.withoutEvents(),
                 number = item.begin, own = getContribution(*context.bases),
                 record = rank.record(context, item, item.begin)] {
          llvm::Error error = runExchange(record, [&](WorkTimes *times) {
            return rank.getCommunicator().collective(
                exchange.channel, rank.getRank(), exchange, own, times);
          });
          if (!error)
            rank.dump(captured, number);
          return error;
        });
  }

private:
  Contribution getContribution(const BaseTable &bases) const {
    Contribution own;
    own.input = bases.getAddress(operands.front());
    own.inputBytes = operands.front().bytes;
    own.output = bases.getAddress(operands.back());
    own.outputBytes = operands.back().bytes;
    if (exchange.kind == CollectiveKind::AllToAllV) {
      own.send = reinterpret_cast<const float *>(bases.getAddress(operands[1]));
      own.receive =
          reinterpret_cast<const float *>(bases.getAddress(operands[2]));
    }
    return own;
  }

  const Exchange &exchange;
  /// The operands that are read or written.
  llvm::SmallVector<OperandAddress, 4> operands;
};

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

class CallWork : public IssuedWork {
public:
  CallWork(const WorkSource &source, const Instruction &instruction,
           uint32_t number)
      : call(source.list.calls[instruction.index]),
        bases(source.walker.enter(number).bases) {}

  void issue(RankExecutor &rank, const IssueContext &context,
             const IssueItem &item) const override {
    const Device &device = rank.getDevice();
    rank.issueCall(call, item.begin,
                   std::make_shared<BaseTable>(bases, device.getHbm().getBase(),
                                               device.getHost().getBase()));
  }

private:
  const Call &call;
  const llvm::SmallVector<BasePlace, 16> bases;
};

} // namespace

//===----------------------------------------------------------------------===//
// Factories
//===----------------------------------------------------------------------===//

static std::unique_ptr<IssuedWork> makeLaunch(const WorkSource &source,
                                              const Instruction &instruction,
                                              uint32_t number) {
  auto range = std::make_unique<LaunchRange>();
  range->append(source, instruction, number);
  return range;
}

static std::unique_ptr<IssuedWork>
makeCopy(const WorkSource &source, const Instruction &instruction, uint32_t) {
  return std::make_unique<CopyWork>(source, instruction);
}

static std::unique_ptr<IssuedWork> makeExchange(const WorkSource &source,
                                                const Instruction &instruction,
                                                uint32_t) {
  const Exchange &exchange = source.list.exchanges[instruction.index];
  if (source.program.channels[exchange.channel].isTransfer)
    return std::make_unique<TransferWork>(source, instruction);
  return std::make_unique<CollectiveWork>(source, instruction);
}

static std::unique_ptr<IssuedWork> makeCall(const WorkSource &source,
                                            const Instruction &instruction,
                                            uint32_t number) {
  return std::make_unique<CallWork>(source, instruction, number);
}

/// Returns the work of `instruction`, instruction `number` of the list; null if
/// it has none. The program and the kernels must outlive it.
static std::unique_ptr<IssuedWork> makeWork(const WorkSource &source,
                                            const Instruction &instruction,
                                            uint32_t number) {
  using Maker = std::unique_ptr<IssuedWork> (*)(const WorkSource &,
                                                const Instruction &, uint32_t);
  // The functions are in the order of the alternatives of Work.
  static constexpr std::array<Maker, 5> makers = {nullptr, makeLaunch, makeCopy,
                                                  makeExchange, makeCall};
  const Maker maker = makers[static_cast<size_t>(instruction.work)];
  return maker ? maker(source, instruction, number) : nullptr;
}

IssuedWork::~IssuedWork() = default;

/// Instructions of a list after which some call records an event.
using Cuts = std::set<uint32_t>;

/// Returns whether the stream runs the instruction right after the item.
static bool isDirectlyBehind(const IssueItem &item,
                             const Instruction &instruction, const Cuts &cuts) {
  return item.work && item.stream == instruction.stream && !item.recorded &&
         instruction.awaited.empty() && cuts.count(item.end - 1) == 0;
}

static IssueList prepareList(const WorkSource &source, const Cuts &cuts) {
  IssueList result;
  result.numEvents = source.list.numEvents;
  const std::vector<Instruction> &instructions = source.list.instructions;
  for (uint32_t i = 0; i < instructions.size(); ++i) {
    const Instruction &instruction = instructions[i];
    if (!result.items.empty()) {
      IssueItem &last = result.items.back();
      if (isDirectlyBehind(last, instruction, cuts) &&
          last.work->append(source, instruction, i)) {
        last.end = i + 1;
        last.recorded = instruction.recorded;
        continue;
      }
    }
    IssueItem item;
    item.begin = i;
    item.end = i + 1;
    item.stream = instruction.stream;
    item.awaited = instruction.awaited;
    item.recorded = instruction.recorded;
    item.work = makeWork(source, instruction, i);
    result.items.push_back(std::move(item));
  }
  return result;
}

PreparedStage prepareStage(const Program &program, const StageProgram &stage,
                           llvm::ArrayRef<std::unique_ptr<Kernel>> kernels,
                           bool debugsMemory) {
  PreparedStage result;
  result.program = &program;
  result.stage = &stage;
  std::vector<Cuts> cuts(stage.routines.size());
  for (const Call &call : stage.step.calls)
    for (const CallRecord &record : call.records)
      cuts[call.routine].insert(record.instruction);
  const InstanceTable table(stage);
  const StepWalker walker(stage, table);
  result.stepBases = walker.getStep().bases;
  for (uint32_t i = 0; i < stage.routines.size(); ++i) {
    const Routine &routine = stage.routines[i];
    result.routines.push_back(prepareList(
        {program, routine.body, routine.numArguments, walker, kernels},
        cuts[i]));
    result.routines.back().routine = i;
  }
  result.step = prepareList({program, stage.step, 0, walker, kernels}, {});
  const std::optional<uint32_t> update = findUpdate(stage);
  while (result.updateItem < result.step.items.size() &&
         result.step.items[result.updateItem].begin != update)
    ++result.updateItem;
  if (debugsMemory)
    result.poison = std::make_unique<PoisonPlan>(stage);
  return result;
}

} // namespace mf::runner
