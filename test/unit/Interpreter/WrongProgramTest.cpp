//===- WrongProgramTest.cpp - Broken programs that no proof may accept ----===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Breaks the decoded program of a lowered step at random: offsets, events,
// order, operands, slots, exchanges. A program that all proofs accept runs, in
// a random order of its streams, and must have the bits of the right one.
// MF_SEED and MF_COUNT draw others, and more.
//
//===----------------------------------------------------------------------===//

#include "LoweredSteps.h"
#include "mf/Decode/Decoder.h"
#include "mf/Exec/Runner/ModelState.h"
#include "mf/Program/Program.h"
#include "mf/Program/Verifier.h"
#include "test/unit/Campaign.h"
#include "test/unit/Program/ProgramMutator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"
#include <iostream>

using namespace mf::program;
using mf::tools::LoweredSteps;

namespace {

/// The checks that decoding has done before a proof sees a program: a mutation
/// that breaks one is no program.
class DecodableStage {
public:
  DecodableStage(const Program &program, const StageProgram &stage,
                 const StageProgram &right)
      : program(program), stage(stage), right(right) {}

  bool check() const {
    for (const Frame &frame : stage.frames)
      if (!isFrameInside(frame))
        return false;
    for (auto [number, routine] : llvm::enumerate(stage.routines))
      if (!checkList(routine.body, right.routines[number].body,
                     stage.layouts[routine.layout.value_or(0)], routine))
        return false;
    return checkList(stage.step, right.step, stage.layouts[0], {}) &&
           checkCalls();
  }

private:
  static bool isInside(int64_t begin, int64_t bytes, int64_t end) {
    return begin >= 0 && begin + bytes <= end;
  }

  bool isFrameInside(const Frame &frame) const {
    const FrameLayout &layout = stage.layouts[frame.layout];
    for (uint32_t part = 0; part < layout.parts.size(); ++part)
      if (!isInside(frame.offsets[part], layout.getPartBytes(part),
                    stage.arenaBytes))
        return false;
    return isInside(frame.hostOffset, layout.hostBytes, stage.hostBytes);
  }

  bool isBufferInside(const Buffer &buffer, const FrameLayout &layout,
                      const Routine &routine) const {
    const Address &address = buffer.address;
    // Statics lie where the stage says.
    if (buffer.kind == BufferKind::Static)
      return address.offset == stage.statics[buffer.index].offset;
    switch (address.base) {
    case Base::Device:
      return isInside(address.offset, buffer.bytes, stage.arenaBytes);
    case Base::Host:
      return isInside(address.offset, buffer.bytes, stage.hostBytes);
    case Base::HostFrame:
      return isInside(address.offset, buffer.bytes, layout.hostBytes);
    case Base::Scratch:
      return isInside(address.offset, buffer.bytes, routine.scratchBytes);
    case Base::Argument:
      return address.offset == 0;
    case Base::Frame:
      return isInside(address.offset, buffer.bytes,
                      layout.getPartBytes(address.number));
    }
    return false;
  }

  /// Events are recorded before they are awaited; operands have the shapes that
  /// kernels and exchanges were made for.
  bool checkList(const InstructionList &list, const InstructionList &rightList,
                 const FrameLayout &layout, const Routine &routine) const {
    for (const Buffer &buffer : list.buffers)
      if (!isBufferInside(buffer, layout, routine))
        return false;
    llvm::SmallVector<bool> isRecorded(list.numEvents);
    for (const Instruction &instruction : list.instructions) {
      for (const AwaitedEvent &awaited : instruction.awaited)
        if (!awaited.isArgument && !isRecorded[awaited.event])
          return false;
      if (instruction.recorded)
        isRecorded[*instruction.recorded] = true;
      if (instruction.work == Work::Kernel &&
          instruction.stream != stage.computeStream)
        return false;
      if (!hasOperands(list, instruction, rightList))
        return false;
      if (const Call *call = list.getCall(instruction)) {
        for (const uint32_t event : call->events)
          if (!isRecorded[event])
            return false;
        for (const CallRecord &record : call->records)
          if (record.record.recorded)
            isRecorded[*record.record.recorded] = true;
      }
    }
    return hasChannels(list, rightList);
  }

  bool hasOperands(const InstructionList &list, const Instruction &instruction,
                   const InstructionList &rightList) const {
    const auto like =
        llvm::find_if(rightList.instructions, [&](const Instruction &other) {
          return other.location == instruction.location &&
                 other.work == instruction.work &&
                 other.accesses.size() == instruction.accesses.size();
        });
    if (like == rightList.instructions.end())
      return instruction.accesses.empty();
    // A channel is used on one stream.
    if (instruction.work == Work::Exchange &&
        instruction.stream != like->stream)
      return false;
    for (auto [access, other] :
         llvm::zip_equal(instruction.accesses, like->accesses)) {
      const Buffer &buffer = list.buffers[access.operand.buffer];
      const Buffer &rightBuffer = rightList.buffers[other.operand.buffer];
      if (access.operand.bytes != other.operand.bytes ||
          buffer.shape != rightBuffer.shape ||
          buffer.space != rightBuffer.space)
        return false;
    }
    return true;
  }

  bool hasChannels(const InstructionList &list,
                   const InstructionList &rightList) const {
    for (auto [exchange, other] :
         llvm::zip_equal(list.exchanges, rightList.exchanges)) {
      const Channel &channel = program.channels[exchange.channel];
      const Channel &before = program.channels[other.channel];
      if (channel.isTransfer != before.isTransfer ||
          (channel.isTransfer && (channel.fromStage != before.fromStage ||
                                  channel.toStage != before.toStage)))
        return false;
    }
    return true;
  }

  bool checkCalls() const {
    for (auto [call, other] :
         llvm::zip_equal(stage.step.calls, right.step.calls)) {
      const Routine &routine = stage.routines[call.routine];
      if (call.frame.has_value() != other.frame.has_value() ||
          (call.frame && stage.frames[*call.frame].layout !=
                             stage.frames[*other.frame].layout))
        return false;
      if (!other.scratchOffset && call.scratchOffset)
        return false;
      if (call.scratchOffset &&
          !isInside(*call.scratchOffset, routine.scratchBytes,
                    stage.arenaBytes))
        return false;
      for (auto [argument, before] :
           llvm::zip_equal(call.arguments, other.arguments)) {
        const Buffer &buffer = stage.step.buffers[argument.buffer];
        if (argument.bytes != before.bytes ||
            buffer.space != stage.step.buffers[before.buffer].space)
          return false;
      }
      for (const CallRecord &record : call.records)
        if (record.instruction >= routine.body.instructions.size())
          return false;
    }
    return true;
  }

  const Program &program;
  const StageProgram &stage, &right;
};

/// Whether a program that was broken is one that decoding accepts, as it does
/// `right`.
bool isDecodable(const Program &program, const Program &right) {
  for (auto [stage, rightStage] : llvm::zip_equal(program.stages, right.stages))
    if (!DecodableStage(program, stage, rightStage).check())
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// All that two steps leave on the ranks, or why they could not run.
std::string runSteps(const Program &program, uint64_t seed) {
  mf::runner::RunnerOptions options;
  options.threads = 1;
  options.turns = std::make_shared<mf::TurnSchedule>(seed);
  auto runner = mf::runner::Runner::create(program, options);
  if (!runner)
    return llvm::toString(runner.takeError());
  mf::runner::ModelState state(**runner);
  if (llvm::Error error = state.initialize(1))
    return llvm::toString(std::move(error));
  const int64_t count =
      program.microBatches * program.microBatchSize * program.sequenceLength;
  std::vector<int32_t> tokens, labels;
  for (int64_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<int32_t>(7 * i % program.vocabSize));
    labels.push_back(static_cast<int32_t>(5 * i % program.vocabSize));
  }
  std::string result;
  for (int64_t step = 1; step <= 2; ++step) {
    mf::ranks::StepInput input;
    input.tokens = tokens;
    input.labels = labels;
    input.learningRates = {0.01F};
    input.stepNumber = step;
    auto output = (*runner)->runStep(input);
    if (!output)
      return llvm::toString(output.takeError());
    for (const float value :
         {output->loss.value_or(0), output->globalNorm.value_or(0),
          output->overflow ? 1.0F : 0.0F})
      result += llvm::utohexstr(llvm::bit_cast<uint32_t>(value)) + " ";
  }
  for (const int64_t rank : (*runner)->getLocalRanks())
    for (auto [number, buffer] :
         llvm::enumerate(program.getStageOf(rank).statics))
      if (buffer.role == Role::Parameter || buffer.role == Role::FirstMoment ||
          buffer.role == Role::SecondMoment)
        result += llvm::toStringRef(
            (*runner)->getStatic(rank, static_cast<uint32_t>(number)));
  return result;
}

std::string findRefusal(const Program &program) {
  llvm::Expected<ProgramProof> proof = mf::program::prove(program);
  if (!proof)
    return llvm::toString(proof.takeError());
  EXPECT_EQ(proof->describe(), "proven");
  return {};
}

/// Two stages, which swap.
constexpr llvm::StringLiteral yaml = R"(
parallel_config: {pipeline_stage: 2, micro_batch_num: 3}
swap_config:
  swap: True
  op_swap:
    - {op_name: 'feed_forward\.w1\.activation\.silu', backward_prefetch: 2, layers: True}
optimizer: {type: AdamW, betas: [0.9, 0.95], eps: 1.e-3, weight_decay: 0.1}
runner_wrapper:
  {type: MFTrainOneStepCell, scale_sense: 8, use_clip_grad: True, max_grad_norm: 0.01}
)";

bool areSame(const Operand &one, const Operand &two) {
  return one.buffer == two.buffer && one.offset == two.offset;
}

/// Whether two instructions use the same buffers and events.
bool hasSameOperands(const InstructionList &list, const Instruction &one,
                     const InstructionList &otherList, const Instruction &two) {
  for (auto [access, other] : llvm::zip(one.accesses, two.accesses))
    if (!areSame(access.operand, other.operand))
      return false;
  const Call *call = list.getCall(one), *otherCall = otherList.getCall(two);
  if (!call || !otherCall)
    return one.awaited.size() == two.awaited.size() && one.stream == two.stream;
  for (auto [argument, other] :
       llvm::zip(call->arguments, otherCall->arguments))
    if (!areSame(argument, other))
      return false;
  return call->frame == otherCall->frame && call->events == otherCall->events &&
         call->scratchOffset == otherCall->scratchOffset;
}

/// The first instruction of a list that is another one than in `right`.
std::string describeChange(const Program &right, const InstructionList &list,
                           const InstructionList &rightList) {
  for (auto [number, before] : llvm::enumerate(rightList.instructions)) {
    if (number < list.instructions.size() &&
        list.instructions[number].location == before.location &&
        hasSameOperands(list, list.instructions[number], rightList, before))
      continue;
    return "instruction " + std::to_string(number) + " ('" + before.cell +
           (before.work == Work::Kernel
                ? "', " + right.kernels[before.index].spec.name
                : "'") +
           ")";
  }
  return {};
}

/// Where the instructions of a program differ from those of the right one.
std::string describeChange(const Program &program, const Program &right) {
  for (auto [stage, before] : llvm::zip_equal(program.stages, right.stages)) {
    for (auto [routine, other] :
         llvm::zip_equal(stage.routines, before.routines))
      if (std::string text = describeChange(right, routine.body, other.body);
          !text.empty())
        return stage.name + ", " + routine.name + ": " + text;
    if (std::string text = describeChange(right, stage.step, before.step);
        !text.empty())
      return stage.name + ", step: " + text;
  }
  return "not the instructions";
}

/// A class of the detection table, and the mutations in it.
struct MutationClass {
  llvm::StringRef name;
  llvm::SmallVector<Mutation, 4> mutations;
};

struct WrongCounts {
  int64_t broken = 0, refused = 0, harmless = 0, missed = 0;
};

TEST(WrongProgramTest, AcceptsNoOtherBits) {
  const std::vector<MutationClass> classes = {
      {"offsets",
       {Mutation::FrameOffset, Mutation::HostFrameOffset,
        Mutation::ScratchOffset, Mutation::BufferOffset}},
      {"events",
       {Mutation::LeftOutWait, Mutation::OtherEvent, Mutation::RecordPlace,
        Mutation::OtherStream}},
      {"order", {Mutation::Order}},
      {"operands", {Mutation::OtherOperand, Mutation::OtherArgument}},
      {"slots", {Mutation::OtherSlot, Mutation::OtherFrame}},
      {"exchanges", {Mutation::OtherChannel, Mutation::OtherReduction}},
      {"instructions left out", {Mutation::LeftOut}}};
  LoweredSteps steps(yaml);
  ASSERT_FALSE(steps.snapshots.empty()) << steps.messages;
  auto decoded = decodeProgram(*steps.snapshots.back().module);
  ASSERT_TRUE(mlir::succeeded(decoded)) << steps.messages;
  const Program &right = decoded->program;
  ASSERT_EQ(findRefusal(right), "");
  const std::string expected = runSteps(right, 0);
  ProgramMutator mutator(mf::getCampaignSeed(1));
  std::vector<WrongCounts> counts(classes.size());
  const uint64_t wanted = mf::getCampaignCount(300);
  for (uint64_t broken = 0, tries = 0; broken < wanted && tries < 100 * wanted;
       ++tries) {
    const size_t number = tries % classes.size();
    const MutationClass &chosen = classes[number];
    const Mutation mutation =
        chosen.mutations[mutator.below(chosen.mutations.size())];
    Program program = right;
    if (!mutator.mutate(program, mutation) || !isDecodable(program, right))
      continue;
    ++broken;
    WrongCounts &count = counts[number];
    ++count.broken;
    if (!findRefusal(program).empty()) {
      ++count.refused;
      continue;
    }
    if (runSteps(program, tries) == expected) {
      ++count.harmless;
      continue;
    }
    ++count.missed;
    ADD_FAILURE() << "accepted with other bits: " << chosen.name.str()
                  << ", try " << tries << ", "
                  << describeChange(program, right);
  }
  for (auto [chosen, count] : llvm::zip_equal(classes, counts)) {
    // A share of a campaign may have few of a class.
    EXPECT_TRUE(count.refused > 0 || count.broken < 20) << chosen.name.str();
    std::cout << "detection: " << chosen.name.str() << ": " << count.broken
              << " injected, " << count.refused << " detected, "
              << count.harmless << " harmless, " << count.missed << " missed\n";
  }
}

} // namespace
