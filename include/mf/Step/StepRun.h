//===- StepRun.h - Training runs of programs outside of mf ------*- C++ -*-===//
//
// Emitted programs train with this: data, first values, learning rates,
// loss lines and files as mf-run has them. The interface has the standard
// library alone, so that a program needs neither LLVM's headers nor its flags.
//
//===----------------------------------------------------------------------===//

#ifndef MF_STEP_STEPRUN_H
#define MF_STEP_STEPRUN_H

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace mf::step {

/// The value of a buffer before the first step: a kind of
/// program::InitialValue, by its number; negative for zeros.
struct Initial {
  int kind = -1;
  double value = 0;
  double scale = 1;
  double amplitude = 1;
  std::vector<double> frequencies;
};

/// A static of the program.
struct StepBuffer {
  std::string name, role, of, tied, type;
  std::vector<int64_t> dims;
  int64_t bytes = 0;
  bool onHost = false;
  int64_t offset = 0;
  Initial initial;
  /// The part of a whole tensor that a rank holds, as program::Slice has it;
  /// without sizes it holds the whole.
  std::vector<int64_t> sliceDims;
  std::vector<std::vector<std::string>> sliceAxes;
};

/// `type` and parameters of a learning-rate schedule.
struct StepSchedule {
  std::string type;
  std::map<std::string, std::variant<bool, int64_t, double, std::string>>
      parameters;
};

/// A channel between ranks: the fields of program::Channel.
struct StepChannel {
  std::string name;
  bool isTransfer = false;
  std::vector<std::string> groupAxes;
  std::vector<int64_t> groupStages;
  int64_t fromStage = 0, toStage = 0;
  std::string axis;
  int64_t step = 0;
};

/// The settings of a program's run.
struct Facts {
  int64_t microBatches = 1;
  int64_t batchSize = 1;
  int64_t sequenceLength = 0;
  int64_t vocabularySize = 0;
  /// Negative if there is none.
  int64_t padTokenId = -1;
  int64_t ignoreIndex = -100;
  double lossScale = 1;
  int64_t lossScaleFactor = 0;
  int64_t lossScaleWindow = 0;
  double flopsPerStep = 0;
  bool hasSchedule = false;
  StepSchedule schedule;
  /// The schedules of groups of parameters.
  std::vector<StepSchedule> groups;
  /// The statics of each stage.
  std::vector<std::vector<StepBuffer>> stages;
  /// The axes of the mesh of ranks with their sizes, the stages' first.
  std::vector<std::pair<std::string, int64_t>> axes = {{"pp", 1}};
  std::vector<StepChannel> channels;
  /// A program::SampleOrder, by its number.
  int sampleOrder = 0;
  /// The rank that this process runs.
  int64_t rank = 0;
};

int64_t getNumRanks(const Facts &facts);
int64_t getStage(const Facts &facts, int64_t rank);
/// The ranks that use a channel together with `rank`, in their order.
std::vector<int64_t> getMembers(const Facts &facts, size_t channel,
                                int64_t rank, bool isSend);

/// How a program runs. Each function returns an error's text, or nothing.
struct StepDevice {
  /// Fills a buffer, or takes what it has; the device has nothing to do.
  std::function<std::string(const StepBuffer &, const void *)> write;
  std::function<std::string(const StepBuffer &, void *)> read;
  /// The halves of a step, and waiting for what they issued.
  std::function<std::string()> computeGradients;
  std::function<std::string()> finishStep;
  std::function<std::string()> synchronize;
  /// Gives all ranks as many bytes of rank `root`. All of them call it in the
  /// same order; a program of one rank needs none.
  std::function<std::string(int64_t root, void *, size_t)> broadcast;
};

/// Trains as the arguments of the command line say, and returns the exit code.
int run(int argc, char **argv, const Facts &facts, const StepDevice &device);

} // namespace mf::step

#endif // MF_STEP_STEPRUN_H
