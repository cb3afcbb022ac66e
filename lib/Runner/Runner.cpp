//===- Runner.cpp - Executes a program on emulated devices ----------------===//

#include "mf/Runner/Runner.h"
#include "RankExecutor.h"
#include "mf/Program/LocatedError.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>
#include <mutex>
#include <thread>

using namespace mf::program;

namespace mf::runner {

class Runner::State {
public:
  State(const Program &program, const RunnerOptions &options)
      : program(program), options(options), communicator(program.channels) {}

  ~State() { communicator.abort(); }

  llvm::Error makeKernels();
  llvm::Error makeRanks();
  llvm::Error writeInput(const StepInput &input);
  llvm::Expected<StepOutput> readOutput() const;

  /// Calls `part` for every rank, each on a thread of its own.
  llvm::Error runOnRanks(llvm::Error (RankExecutor::*part)());

  const Program &program;
  const RunnerOptions options;
  std::vector<std::unique_ptr<Kernel>> kernels;
  Communicator communicator;
  std::vector<std::unique_ptr<RankExecutor>> ranks;

private:
  void failRank(size_t rank, const std::string &reason);
  template <typename Element>
  llvm::Error writeElements(Role role, llvm::ArrayRef<Element> values,
                            llvm::StringRef what);
  std::optional<float> readReport(llvm::StringRef quantity) const;

  std::mutex mutex;
  /// The first failure of any rank.
  std::string failure;
};

llvm::Error Runner::State::makeKernels() {
  for (size_t i = 0; i < program.kernels.size(); ++i) {
    auto kernel = makeKernel(program.kernels[i]);
    if (!kernel)
      return llvm::make_error<LocatedError>(program.kernelLocations[i],
                                            llvm::toString(kernel.takeError()));
    kernels.push_back(std::move(*kernel));
  }
  return llvm::Error::success();
}

llvm::Error Runner::State::makeRanks() {
  const size_t numRanks = program.ranks.size();
  const size_t threads =
      options.threads > 0
          ? options.threads
          : std::max<size_t>(1, std::thread::hardware_concurrency());
  for (size_t i = 0; i < numRanks; ++i) {
    const size_t share = threads / numRanks + (i < threads % numRanks ? 1 : 0);
    auto rank = RankExecutor::create(program, i, kernels, communicator,
                                     std::max<size_t>(1, share), options);
    if (!rank)
      return llvm::createStringError(
          llvm::formatv("rank {0}: {1}", i, llvm::toString(rank.takeError()))
              .str());
    (*rank)->getDevice().setFailureHandler(
        [this, i](const std::string &reason) { failRank(i, reason); });
    for (uint32_t buffer = 0; buffer < program.ranks[i].statics.size();
         ++buffer) {
      llvm::MutableArrayRef<uint8_t> bytes = (*rank)->getStatic(buffer);
      std::memset(bytes.data(), 0, bytes.size());
    }
    ranks.push_back(std::move(*rank));
  }
  return llvm::Error::success();
}

void Runner::State::failRank(size_t rank, const std::string &reason) {
  const std::string text = llvm::formatv("rank {0}: {1}", rank, reason).str();
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!failure.empty())
      return;
    failure = text;
  }
  communicator.abort();
  for (std::unique_ptr<RankExecutor> &other : ranks)
    other->getDevice().abort(text);
}

llvm::Error Runner::State::runOnRanks(llvm::Error (RankExecutor::*part)()) {
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

template <typename Element>
llvm::Error Runner::State::writeElements(Role role,
                                         llvm::ArrayRef<Element> values,
                                         llvm::StringRef what) {
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    size_t position = 0;
    bool isUsed = false;
    const std::vector<Static> &statics = program.ranks[rank].statics;
    for (uint32_t i = 0; i < statics.size(); ++i) {
      if (statics[i].role != role || statics[i].space != Space::Host)
        continue;
      isUsed = true;
      llvm::MutableArrayRef<uint8_t> bytes = ranks[rank]->getStatic(i);
      const size_t count = bytes.size() / sizeof(Element);
      if (count > values.size() - position)
        return llvm::make_error<LocatedError>(
            statics[i].location,
            llvm::formatv("expected no more than {0} {1} in a step",
                          values.size(), what));
      std::memcpy(bytes.data(), values.data() + position, bytes.size());
      position += count;
    }
    if (isUsed && position != values.size())
      return llvm::make_error<LocatedError>(
          program.ranks[rank].location,
          llvm::formatv("has room for {0} of the {1} {2} of a step", position,
                        values.size(), what));
  }
  return llvm::Error::success();
}

/// A scalar may be wanted in several places.
static void writeScalar(llvm::MutableArrayRef<uint8_t> bytes, float value) {
  for (size_t i = 0; i + sizeof(float) <= bytes.size(); i += sizeof(float))
    std::memcpy(bytes.data() + i, &value, sizeof(float));
}

llvm::Error Runner::State::writeInput(const StepInput &input) {
  if (llvm::Error error = writeElements(Role::Tokens, input.tokens, "tokens"))
    return error;
  if (llvm::Error error = writeElements(Role::Labels, input.labels, "labels"))
    return error;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::vector<Static> &statics = program.ranks[rank].statics;
    for (uint32_t i = 0; i < statics.size(); ++i) {
      if (statics[i].space != Space::Host)
        continue;
      if (statics[i].role == Role::LearningRate)
        writeScalar(ranks[rank]->getStatic(i), input.learningRate);
      else if (statics[i].role == Role::StepNumber)
        writeScalar(ranks[rank]->getStatic(i),
                    static_cast<float>(input.stepNumber));
      else if (statics[i].role == Role::LossScale)
        writeScalar(ranks[rank]->getStatic(i), input.lossScale);
    }
  }
  return llvm::Error::success();
}

// The mean over all elements that any rank reports: with one element for each
// micro-batch, that over the micro-batches.
std::optional<float> Runner::State::readReport(llvm::StringRef quantity) const {
  double sum = 0;
  int64_t count = 0;
  for (const std::unique_ptr<RankExecutor> &rank : ranks) {
    const std::vector<Static> &statics = rank->getRank().statics;
    for (uint32_t i = 0; i < statics.size(); ++i) {
      if (statics[i].role != Role::Report || statics[i].of != quantity ||
          statics[i].space != Space::Host ||
          statics[i].shape.type != DType::F32)
        continue;
      llvm::MutableArrayRef<uint8_t> bytes = rank->getStatic(i);
      for (size_t at = 0; at < bytes.size(); at += sizeof(float)) {
        float value;
        std::memcpy(&value, bytes.data() + at, sizeof(float));
        sum += value;
        ++count;
      }
    }
  }
  if (count == 0)
    return std::nullopt;
  return static_cast<float>(sum / static_cast<double>(count));
}

llvm::Expected<StepOutput> Runner::State::readOutput() const {
  StepOutput output;
  output.loss = readReport("loss");
  output.globalNorm = readReport("global_norm");
  output.overflow = readReport("overflow").value_or(0) != 0;
  return output;
}

Runner::Runner(std::unique_ptr<State> state) : state(std::move(state)) {}
Runner::~Runner() = default;

llvm::Expected<std::unique_ptr<Runner>>
Runner::create(const Program &program, const RunnerOptions &options) {
  auto state = std::make_unique<State>(program, options);
  if (llvm::Error error = state->makeKernels())
    return error;
  if (llvm::Error error = state->makeRanks())
    return error;
  return std::unique_ptr<Runner>(new Runner(std::move(state)));
}

const Program &Runner::getProgram() const { return state->program; }

llvm::MutableArrayRef<uint8_t> Runner::getStatic(size_t rank, uint32_t number) {
  return state->ranks[rank]->getStatic(number);
}

void Runner::parallelFor(int64_t tiles,
                         llvm::function_ref<void(int64_t)> body) {
  std::atomic<int64_t> next{0};
  auto work = [&](ThreadPool &pool) {
    pool.parallelFor(pool.getNumThreads(), [&](int64_t) {
      for (int64_t tile = next++; tile < tiles; tile = next++)
        body(tile);
    });
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < state->ranks.size(); ++i)
    threads.emplace_back([&, i] { work(state->ranks[i]->getPool()); });
  work(state->ranks.front()->getPool());
  for (std::thread &thread : threads)
    thread.join();
}

llvm::Expected<StepOutput>
Runner::runStep(const StepInput &input,
                llvm::function_ref<llvm::Error()> beforeUpdate) {
  if (llvm::Error error = state->writeInput(input))
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
  return state->readOutput();
}

std::vector<StreamUse> Runner::getStreamUse(size_t rank) const {
  return state->ranks[rank]->getStreamUse();
}

std::map<std::string, double> Runner::getStalls(size_t rank) const {
  return state->ranks[rank]->getStalls().getSeconds();
}

int64_t Runner::getTouchedBytes(size_t rank, Space space) const {
  const Device &device = state->ranks[rank]->getDevice();
  return (space == Space::Device ? device.getHbm() : device.getHost())
      .getTouchedBytes();
}

llvm::Error Runner::checkMemory() const {
  for (size_t i = 0; i < state->ranks.size(); ++i) {
    const Device &device = state->ranks[i]->getDevice();
    for (const Arena *arena : {&device.getHbm(), &device.getHost()})
      if (llvm::Error error = arena->checkCanaries())
        return llvm::createStringError(
            llvm::formatv("rank {0}: {1}", i, llvm::toString(std::move(error)))
                .str());
  }
  return llvm::Error::success();
}

std::optional<uint32_t> findUpdate(const Rank &rank) {
  std::optional<uint32_t> last, update;
  for (uint32_t i = 0; i < rank.step.instructions.size(); ++i) {
    const auto *call = std::get_if<Call>(&rank.step.instructions[i].action);
    if (!call)
      continue;
    last = i;
    llvm::StringRef name = rank.routines[call->routine].name;
    if (name.rtrim("0123456789") == "update")
      update = i;
  }
  return update ? update : last;
}

} // namespace mf::runner
