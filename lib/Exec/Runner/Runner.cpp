//===- Runner.cpp - Executes a program on emulated devices ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Runner/Runner.h"
#include "RankExecutor.h"
#include "mf/Exec/Ranks/SliceRuns.h"
#include "mf/Program/LocatedError.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>
#include <mutex>
#include <thread>

using namespace mf::program;
using namespace mf::ranks;

namespace mf::runner {

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// Writes the elements of a step to the statics of a role. Statics follow each
/// other: each takes as many elements as it has, or its slice of them.
static llvm::Error writeElements(const Mesh &mesh, RankExecutor &rank,
                                 Role role, llvm::ArrayRef<int32_t> values,
                                 llvm::StringRef what) {
  size_t position = 0;
  bool isUsed = false;
  const std::vector<Static> &statics = rank.getStage().statics;
  for (uint32_t i = 0; i < statics.size(); ++i) {
    if (statics[i].role != role || statics[i].space != Space::Host)
      continue;
    isUsed = true;
    const auto count =
        static_cast<size_t>(ranks::getWholeShape(statics[i]).getNumElements());
    if (getBytes(statics[i].shape.type) != sizeof(int32_t))
      return llvm::make_error<LocatedError>(
          statics[i].location, llvm::Twine("expected ") + what + " as i32");
    if (count > values.size() - position)
      return llvm::make_error<LocatedError>(
          statics[i].location,
          llvm::formatv("expected no more than {0} {1} in a step",
                        values.size(), what));
    const llvm::ArrayRef<int32_t> whole = values.slice(position, count);
    SliceRuns(mesh, statics[i], rank.getRank())
        .take({reinterpret_cast<const uint8_t *>(whole.data()),
               count * sizeof(int32_t)},
              rank.getStatic(i), sizeof(int32_t));
    position += count;
  }
  if (isUsed && position != values.size())
    return llvm::make_error<LocatedError>(
        rank.getStage().location,
        llvm::formatv("has room for {0} of the {1} {2} of a step", position,
                      values.size(), what));
  return llvm::Error::success();
}

/// Writes those parts of `input` to the statics of the rank in host memory that
/// the statics are for. Fails with a LocatedError if they do not hold the
/// step's tokens or labels.
static llvm::Error writeInput(const Program &program, RankExecutor &rank,
                              const StepInput &input) {
  if (llvm::Error error = writeElements(program.mesh, rank, Role::Tokens,
                                        input.tokens, "tokens"))
    return error;
  if (llvm::Error error = writeElements(program.mesh, rank, Role::Labels,
                                        input.labels, "labels"))
    return error;
  const std::vector<Static> &statics = rank.getStage().statics;
  for (uint32_t i = 0; i < statics.size(); ++i) {
    if (statics[i].space != Space::Host)
      continue;
    const llvm::MutableArrayRef<uint8_t> bytes = rank.getStatic(i);
    if (statics[i].role == Role::Draw &&
        (statics[i].shape.type != DType::I64 ||
         bytes.size() % sizeof(getDraw(input, 0)) != 0))
      return llvm::make_error<LocatedError>(
          statics[i].location,
          "expected draws as three i64 for each micro-batch");
    ranks::writeStepValue(statics[i].role, input, bytes);
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

/// Reads the reports of ranks, which must be of one program.
static StepReports
readReports(llvm::ArrayRef<std::unique_ptr<RankExecutor>> ranks) {
  StepReports reports;
  std::vector<float> values;
  for (const std::unique_ptr<RankExecutor> &rank : ranks) {
    const StageProgram &stage = rank->getStage();
    for (uint32_t i = 0; i < stage.statics.size(); ++i) {
      const Static &buffer = stage.statics[i];
      if (buffer.role != Role::Report || buffer.space != Space::Host ||
          buffer.shape.type != DType::F32)
        continue;
      llvm::MutableArrayRef<uint8_t> bytes = rank->getStatic(i);
      values.resize(bytes.size() / sizeof(float));
      std::memcpy(values.data(), bytes.data(), bytes.size());
      reports.add(stage.stage, buffer.of, values);
    }
  }
  return reports;
}

class Runner::State {
public:
  State(const Program &program, const RunnerOptions &options)
      : program(program), options(options), localRanks(options.localRanks),
        communicator(options.communicator), stages(program.stages.size()),
        threads(std::make_shared<ThreadTeam>(
            options.threads > 0
                ? options.threads
                : static_cast<int>(std::thread::hardware_concurrency()))),
        pool(threads) {}

  llvm::Error chooseRanks() {
    const int64_t numRanks = program.getNumRanks();
    if (localRanks.empty())
      llvm::append_range(localRanks, llvm::seq<int64_t>(0, numRanks));
    for (auto [index, rank] : llvm::enumerate(localRanks))
      if (rank < 0 || rank >= numRanks ||
          (index > 0 && rank <= localRanks[index - 1]))
        return llvm::createStringError(
            "expected ranks from 0 to " + std::to_string(numRanks - 1) +
            " in ascending order, but got " + std::to_string(rank));
    if (communicator)
      return llvm::Error::success();
    if (static_cast<int64_t>(localRanks.size()) != numRanks)
      return llvm::createStringError(
          "the program has " + std::to_string(numRanks) + " ranks and " +
          std::to_string(localRanks.size()) +
          " live here; a communicator must reach the others");
    communicator = makeLocalCommunicator(program.mesh, program.channels);
    return llvm::Error::success();
  }
  llvm::Error makeKernels() {
    for (const LaunchedKernel &launched : program.kernels) {
      auto kernel = makeKernel(launched.spec);
      if (!kernel)
        return llvm::make_error<LocatedError>(
            launched.location, llvm::toString(kernel.takeError()));
      kernels.push_back(options.routerChoices
                            ? options.routerChoices->replace(launched.spec,
                                                             std::move(*kernel))
                            : std::move(*kernel));
    }
    return llvm::Error::success();
  }
  llvm::Error makeRanks() {
    const auto all = static_cast<size_t>(pool.getNumThreads());
    const size_t numRanks = localRanks.size();
    for (auto [index, rank] : llvm::enumerate(localRanks)) {
      const size_t share = all / numRanks + (index < all % numRanks ? 1 : 0);
      if (llvm::Error error = makeRank(
              rank, options.dividesThreads
                        ? std::make_shared<ThreadTeam>(static_cast<int>(share))
                        : threads))
        return error;
    }
    return llvm::Error::success();
  }
  llvm::Error writeStepInput(const StepInput &input) {
    for (std::unique_ptr<RankExecutor> &rank : ranks)
      if (llvm::Error error = writeInput(program, *rank, input))
        return error;
    return llvm::Error::success();
  }

  /// Calls `part` for every rank, each on a thread of its own.
  llvm::Error runOnRanks(llvm::Error (RankExecutor::*part)()) {
    std::vector<std::thread> threads;
    for (size_t i = 1; i < ranks.size(); ++i)
      threads.emplace_back([this, i, part] {
        // The first failure is kept by failRank.
        llvm::consumeError((ranks[i].get()->*part)());
      });
    llvm::Error first = (ranks.front().get()->*part)();
    for (std::thread &thread : threads)
      thread.join();
    std::lock_guard<std::mutex> lock(mutex);
    if (failure.empty())
      return first;
    llvm::consumeError(std::move(first));
    return llvm::createStringError(failure);
  }

  RankExecutor &get(int64_t rank) const {
    return *ranks[llvm::lower_bound(localRanks, rank) - localRanks.begin()];
  }

private:
  std::mutex mutex;
  /// The first failure of any rank.
  std::string failure;

public:
  const Program &program;
  const RunnerOptions options;
  std::vector<int64_t> localRanks;
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::shared_ptr<Communicator> communicator;
  /// For each stage; null for one without ranks in this process.
  std::vector<std::unique_ptr<PreparedStage>> stages;
  /// All threads of these ranks, and the pool for work between steps.
  std::shared_ptr<ThreadTeam> threads;
  ThreadPool pool;
  /// In the order of localRanks.
  std::vector<std::unique_ptr<RankExecutor>> ranks;
  /// The ranks whose steps are recorded.
  std::vector<int64_t> recordedRanks;

private:
  llvm::Error makeRank(int64_t rank,
                       const std::shared_ptr<ThreadTeam> &threads) {
    const StageProgram &stage = program.getStageOf(rank);
    std::unique_ptr<PreparedStage> &prepared = stages[stage.stage];
    if (!prepared)
      prepared = std::make_unique<PreparedStage>(
          prepareStage(program, stage, kernels, options.debugMemory));
    auto executor =
        RankExecutor::create(rank, *prepared, *communicator, threads, options);
    if (!executor)
      return llvm::createStringError(describeRank(program.mesh, rank) + ": " +
                                     llvm::toString(executor.takeError()));
    (*executor)->getDevice().setFailureHandler(
        [this, rank](const std::string &reason) { failRank(rank, reason); });
    for (uint32_t i = 0; i < stage.statics.size(); ++i) {
      llvm::MutableArrayRef<uint8_t> bytes = (*executor)->getStatic(i);
      std::memset(bytes.data(), 0, bytes.size());
    }
    ranks.push_back(std::move(*executor));
    return llvm::Error::success();
  }
  void failRank(int64_t rank, const std::string &reason) {
    const std::string text = describeRank(program.mesh, rank) + ": " + reason;
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (!failure.empty())
        return;
      failure = text;
    }
    communicator->abort();
    for (std::unique_ptr<RankExecutor> &other : ranks)
      other->getDevice().abort(text);
  }
};

Runner::Runner(std::unique_ptr<State> state) : state(std::move(state)) {}
Runner::~Runner() = default;

llvm::Expected<std::unique_ptr<Runner>>
Runner::create(const Program &program, const RunnerOptions &options) {
  auto state = std::make_unique<State>(program, options);
  if (llvm::Error error = state->chooseRanks())
    return error;
  if (llvm::Error error = state->makeKernels())
    return error;
  if (llvm::Error error = state->makeRanks())
    return error;
  return std::unique_ptr<Runner>(new Runner(std::move(state)));
}

const Program &Runner::getProgram() const { return state->program; }

llvm::ArrayRef<int64_t> Runner::getLocalRanks() const {
  return state->localRanks;
}

llvm::MutableArrayRef<uint8_t> Runner::getStatic(int64_t rank,
                                                 uint32_t number) {
  return state->get(rank).getStatic(number);
}

ThreadPool &Runner::getPool(int64_t rank) { return state->get(rank).getPool(); }

void Runner::parallelFor(int64_t tiles,
                         llvm::function_ref<void(int64_t)> body) {
  state->pool.parallelFor(tiles, body);
}

llvm::Expected<StepOutput>
Runner::runStep(const StepInput &input,
                llvm::function_ref<llvm::Error()> beforeUpdate) {
  if (llvm::Error error = state->writeStepInput(input))
    return error;
  if (beforeUpdate) {
    if (llvm::Error error = state->runOnRanks(&RankExecutor::runUntilUpdate))
      return error;
    if (llvm::Error error = beforeUpdate())
      return error;
    if (llvm::Error error = state->runOnRanks(&RankExecutor::runFromUpdate))
      return error;
  } else if (llvm::Error error = state->runOnRanks(&RankExecutor::runStep)) {
    return error;
  }
  return StepOutput(getReports());
}

void Runner::recordNextStep(llvm::ArrayRef<int64_t> ranks) {
  state->recordedRanks = ranks.vec();
  for (const int64_t rank : ranks)
    state->get(rank).startRecording();
}

std::vector<RankRecord> Runner::takeRecord() {
  std::vector<RankRecord> record;
  for (const int64_t rank : state->recordedRanks)
    record.push_back(state->get(rank).takeRecord());
  state->recordedRanks.clear();
  return record;
}

StepReports Runner::getReports() const { return readReports(state->ranks); }

std::vector<StreamUse> Runner::getStreamUse(int64_t rank) const {
  return state->get(rank).getStreamUse();
}

std::map<std::string, double> Runner::getStalls(int64_t rank) const {
  return state->get(rank).getStalls().getSeconds();
}

int64_t Runner::getTouchedBytes(int64_t rank, Space space) const {
  const Device &device = state->get(rank).getDevice();
  return (space == Space::Device ? device.getHbm() : device.getHost())
      .getTouchedBytes();
}

llvm::Error Runner::checkMemory() const {
  for (const std::unique_ptr<RankExecutor> &rank : state->ranks) {
    const Device &device = rank->getDevice();
    for (const Arena *arena : {&device.getHbm(), &device.getHost()})
      if (llvm::Error error = arena->checkCanaries())
        return llvm::createStringError(
            describeRank(state->program.mesh, rank->getRank()) + ": " +
            llvm::toString(std::move(error)));
  }
  return llvm::Error::success();
}

std::optional<uint32_t> findUpdate(const StageProgram &stage) {
  for (uint32_t i = 0; i < stage.step.instructions.size(); ++i) {
    const Call *call = stage.step.getCall(stage.step.instructions[i]);
    if (call && stage.routines[call->routine].updatesParameters)
      return i;
  }
  return std::nullopt;
}

} // namespace mf::runner
