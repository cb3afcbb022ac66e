//===- DistributionVerifier.cpp - Checks the distributions of a step ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the step on distributions instead of numbers, in the order in which each
// stage issues it, which satisfies all dependences. All ranks of a stage are
// run at once, and each stage runs as far as messages allow.
//
//===----------------------------------------------------------------------===//

#include "StageDistributions.h"
#include "mf/Program/Description.h"
#include "mf/Program/Verifier.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

using llvm::Error;
using llvm::Expected;

namespace mf::program {

/// Returns the streams on which each instruction of the step works. A call
/// works on all streams of its routine.
static std::vector<std::set<uint32_t>> findStreams(const StageProgram &stage) {
  std::vector<std::set<uint32_t>> ofRoutines, found;
  for (const Routine &routine : stage.routines) {
    std::set<uint32_t> &streams = ofRoutines.emplace_back();
    for (const Instruction &instruction : routine.body.instructions)
      streams.insert(instruction.stream);
  }
  for (const Instruction &instruction : stage.step.instructions) {
    const Call *call = stage.step.getCall(instruction);
    found.push_back(call ? ofRoutines[call->routine] : std::set<uint32_t>());
    found.back().insert(instruction.stream);
  }
  return found;
}

namespace {

/// The instructions of the step on one stream, and the number of those that are
/// done.
struct StreamRun {
  std::vector<uint32_t> positions;
  size_t next = 0;
};

/// The progress of a stage.
struct StageRun {
  StageRun(const Program &program, const StageProgram &stage,
           DistributionTable &table, TransferQueues &queues)
      : stage(stage), distributions(program, stage, table, queues),
        streams(stage.streams.size()), worksOn(findStreams(stage)),
        isRecorded(stage.step.numEvents, false) {}

  const StageProgram &stage;
  StageDistributions distributions;
  std::vector<StreamRun> streams;
  /// The streams on which each instruction of the step works.
  std::vector<std::set<uint32_t>> worksOn;
  std::vector<bool> isRecorded;
};

class DistributionVerifier {
public:
  explicit DistributionVerifier(const Program &program)
      : program(program), table(program), queues(program.channels.size()) {}

  Error verify();

private:
  void begin(const StageProgram &stage);
  /// Advances a stream. Returns whether it made progress.
  Expected<bool> advance(StageRun &run, StreamRun &stream);
  Error advanceAll();
  bool isReady(const StageRun &run, const Instruction &instruction) const;
  Error finish(const StageRun &run);
  Error finishStatic(const StageRun &run, uint32_t number);

  const Program &program;
  DistributionTable table;
  TransferQueues queues;
  std::deque<StageRun> runs;
};

} // namespace

void DistributionVerifier::begin(const StageProgram &stage) {
  StageRun &run = runs.emplace_back(program, stage, table, queues);
  for (auto [position, numbers] : llvm::enumerate(run.worksOn))
    for (uint32_t number : numbers)
      run.streams[number].positions.push_back(position);
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

bool DistributionVerifier::isReady(const StageRun &run,
                                   const Instruction &instruction) const {
  const InstructionList &step = run.stage.step;
  const Exchange *exchange = step.getExchange(instruction);
  if (exchange && program.channels[exchange->channel].isTransfer &&
      !exchange->isSend && queues[exchange->channel].empty())
    return false;
  const Call *call = step.getCall(instruction);
  return llvm::all_of(instruction.awaited,
                      [&](const AwaitedEvent &awaited) {
                        return run.isRecorded[awaited.event];
                      }) &&
         (!call || llvm::all_of(call->events, [&](uint32_t event) {
           return run.isRecorded[event];
         }));
}

Expected<bool> DistributionVerifier::advance(StageRun &run, StreamRun &stream) {
  const InstructionList &step = run.stage.step;
  const size_t first = stream.next;
  while (stream.next < stream.positions.size()) {
    const uint32_t position = stream.positions[stream.next];
    const Instruction &instruction = step.instructions[position];
    // Work issued before a call is done before the call's own work on the same
    // stream.
    const std::set<uint32_t> &streams = run.worksOn[position];
    auto isNext = [&](uint32_t number) {
      const StreamRun &other = run.streams[number];
      return other.positions[other.next] == position;
    };
    if (!isReady(run, instruction) || !llvm::all_of(streams, isNext))
      break;
    if (Error error = run.distributions.run(position))
      return error;
    if (instruction.recorded)
      run.isRecorded[*instruction.recorded] = true;
    if (const Call *call = step.getCall(instruction))
      for (const CallRecord &record : call->records)
        run.isRecorded[*record.record.recorded] = true;
    for (uint32_t number : streams)
      ++run.streams[number].next;
  }
  return stream.next > first;
}

/// Advances all streams as far as possible.
Error DistributionVerifier::advanceAll() {
  bool isMoving = true;
  while (isMoving) {
    isMoving = false;
    for (StageRun &run : runs)
      for (StreamRun &stream : run.streams) {
        Expected<bool> moved = advance(run, stream);
        if (!moved)
          return moved.takeError();
        isMoving |= *moved;
      }
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The end of the step
//===----------------------------------------------------------------------===//

/// Returns whether contents are cut over `axis` inside of another axis that is
/// declared to be inside of it.
static bool areOrdersOpposite(size_t axis, const Distribution &held,
                              const Distribution &declared) {
  return llvm::any_of(declared.axes[axis].inside, [&](uint32_t inner) {
    return llvm::is_contained(held.axes[inner].inside, axis);
  });
}

/// Returns whether contents with holding `held` satisfy the declared holding.
static bool agrees(const AxisHolding &held, const AxisHolding &declared) {
  if (held.holding == Holding::Zero)
    return true;
  if (held.holding != declared.holding || held.shared != declared.shared)
    return false;
  return held.places.empty() || declared.places.empty() ||
         llvm::any_of(held.places, [&](int64_t place) {
           return llvm::is_contained(declared.places, place);
         });
}

/// Returns whether the contents on stages must agree with the declared holding.
/// This applies to the state of shared parameters, because each stage continues
/// with its own copy.
static bool isKeptAlike(const AxisHolding &declared, Role role) {
  return declared.shared && !isOfStep(role);
}

/// A buffer in which gradients are accumulated holds summands, except along
/// axes that cut it.
Error DistributionVerifier::finishStatic(const StageRun &run, uint32_t number) {
  const Static &buffer = run.stage.statics[number];
  const Content declared = table.getStatic(run.stage, buffer);
  const Distribution &wanted = table.get(table.read(declared, 0, buffer.bytes));
  const Distribution &held = table.get(
      table.read(run.distributions.getStatic(number), 0, buffer.bytes));
  for (auto [axis, both] :
       llvm::enumerate(llvm::zip_equal(held.axes, wanted.axes))) {
    const auto &[is, should] = both;
    const Axis &meshAxis = program.mesh.getAxes()[axis];
    if (meshAxis.name == stageAxis && !isKeptAlike(should, buffer.role))
      continue;
    const bool isOpposite = areOrdersOpposite(axis, held, wanted);
    if (!isOpposite && agrees(is, should))
      continue;
    if (buffer.role == Role::Accumulated && should.holding == Holding::Same &&
        (is.isSummand() || is.holding == Holding::Candidate))
      continue;
    // The host reads the reports of all ranks.
    if (buffer.role == Role::Report && is.holding == Holding::Part)
      continue;
    return llvm::make_error<LocatedError>(
        buffer.location,
        getName(buffer.role).str() + " '" +
            (buffer.of.empty() ? buffer.name : buffer.of) + "' is declared " +
            describe(should) + " over '" + meshAxis.name +
            "', but the step leaves in it " + describe(is) +
            (is.holding == Holding::Summand
                 ? ": its sum over '" + meshAxis.name + "' is missing"
             : should.shared ? ": the stages' copies would differ"
             : isOpposite    ? ", cut over the same axes the other way round"
             : is.holding == should.holding ? ", cut in another place"
                                            : ""));
  }
  return Error::success();
}

Error DistributionVerifier::finish(const StageRun &run) {
  for (const StreamRun &stream : run.streams)
    if (stream.next < stream.positions.size()) {
      const uint32_t position = stream.positions[stream.next];
      return llvm::make_error<LocatedError>(
          run.stage.step.instructions[position].location,
          describe(program, run.stage, position, callItself) +
              " waits for what a call does that waits for it: what ranks hold "
              "cannot be followed");
    }
  for (uint32_t i = 0; i < run.stage.statics.size(); ++i)
    if (Error error = finishStatic(run, i))
      return error;
  return Error::success();
}

Error DistributionVerifier::verify() {
  for (const StageProgram &stage : program.stages)
    begin(stage);
  if (Error error = advanceAll())
    return error;
  for (const StageRun &run : runs)
    if (Error error = finish(run))
      return error;
  return Error::success();
}

Error verifyDistribution(const Program &program) {
  return DistributionVerifier(program).verify();
}

} // namespace mf::program
