//===- StepRun.h - Training runs of programs outside of mf ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Emitted programs use this interface to train with the same data, initial
// values, learning rates, loss lines and files as mf-run. It depends on the
// standard library alone, so that a program needs neither LLVM's headers nor
// its flags.
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

/// The version of this interface and of the names in Facts. It changes whenever
/// a program that was emitted before would be misread.
constexpr int64_t interfaceVersion = 1;

/// The value of a buffer before the first step. `kind` is the name of a
/// program::InitialValue::Kind, or empty for zeros.
struct Initial {
  std::string kind;
  double value = 0;
  double scale = 1;
  double amplitude = 1;
  std::vector<double> frequencies;
};

/// A static of the program. `role` and `type` are the names of a program::Role
/// and of a DType.
struct StepBuffer {
  std::string name, role, of, tied, type;
  std::vector<int64_t> dims;
  int64_t bytes = 0;
  bool onHost = false;
  int64_t offset = 0;
  Initial initial;
  /// The shard of a tensor that a rank holds, as in program::Slice. Empty sizes
  /// mean that it holds the whole tensor.
  std::vector<int64_t> sliceDims;
  std::vector<std::vector<std::string>> sliceAxes;
};

/// The `type` and the parameters of a learning-rate schedule.
struct StepSchedule {
  std::string type;
  std::map<std::string, std::variant<bool, int64_t, double, std::string>>
      parameters;
};

/// A channel between ranks, with the fields of program::Channel.
struct StepChannel {
  std::string name;
  bool isTransfer = false;
  std::vector<std::string> groupAxes;
  std::vector<int64_t> groupStages;
  int64_t fromStage = 0, toStage = 0;
  std::string axis;
  int64_t shift = 0;
};

/// The properties of a program and of its run.
struct Facts {
  /// The interfaceVersion for which the program was emitted. It stays the first
  /// member, so that programs of any other version are recognised.
  int64_t version = 0;
  int64_t microBatches = 1;
  int64_t batchSize = 1;
  int64_t sequenceLength = 0;
  int64_t vocabularySize = 0;
  /// Negative if samples have no padding token.
  int64_t padTokenId = -1;
  int64_t ignoreIndex = -100;
  double lossScale = 1;
  int64_t lossScaleFactor = 0;
  int64_t lossScaleWindow = 0;
  double flopsPerStep = 0;
  bool hasSchedule = false;
  StepSchedule schedule;
  /// The schedules of parameter groups.
  std::vector<StepSchedule> groups;
  /// The statics of each stage.
  std::vector<std::vector<StepBuffer>> stages;
  /// The axes of the mesh of ranks with their sizes. The axis of stages comes
  /// first.
  std::vector<std::pair<std::string, int64_t>> axes = {{"pp", 1}};
  std::vector<StepChannel> channels;
  /// The name of a SampleOrder.
  std::string sampleOrder = "whole";
  /// The rank that this process runs.
  int64_t rank = 0;
};

/// Returns the text of an error if the facts are those of another version, or
/// have a role, type, kind, axis or order that this version does not know. All
/// functions below expect facts without an error.
std::string checkFacts(const Facts &facts);

int64_t getNumRanks(const Facts &facts);
int64_t getStage(const Facts &facts, int64_t rank);
/// Returns the ranks that use a channel together with `rank`, in their order.
std::vector<int64_t> getMembers(const Facts &facts, size_t channel,
                                int64_t rank, bool isSend);

/// Finds the single integers of this rank that never change, such as where its
/// part of a tensor begins, by their offsets on the device. Returns the text of
/// an error, or an empty string.
std::string getKnownIntegers(const Facts &facts,
                             std::vector<std::pair<int64_t, int32_t>> &known);

/// A value that an operator computes, with the fields of ranks::MadeTensor.
struct KeptTensor {
  /// The kernel's name for it. Empty if it is the only one.
  std::string name;
  std::string type;
  std::vector<int64_t> dims;
  std::vector<uint8_t> bytes;
};

/// One run of an operator for a micro-batch.
struct KeptOperator {
  int64_t microBatch = 0;
  bool isForward = true;
  /// The operator's place in the model.
  std::string cell;
  std::vector<KeptTensor> made;
};

/// Operations of the device that runs the program. Each function returns the
/// text of an error, or an empty string.
struct StepDevice {
  /// Writes a buffer to the device or reads it back. The device is idle then.
  std::function<std::string(const StepBuffer &, const void *)> write;
  std::function<std::string(const StepBuffer &, void *)> read;
  /// The two halves of a step, and a function that waits until all issued work
  /// is done.
  std::function<std::string()> computeGradients;
  std::function<std::string()> finishStep;
  std::function<std::string()> synchronize;
  /// Start to keep the results of operators, and return those that were kept.
  std::function<void()> startKeeping;
  std::function<std::vector<KeptOperator>()> takeKept;
  /// Sends the given number of bytes from rank `root` to all ranks. All of them
  /// call it in the same order. Programs of one rank do not use it.
  std::function<std::string(int64_t root, void *, size_t)> broadcast;
};

/// The mask of a dropout, with the operands of mf-run's kernel
/// aclnnDropoutGenMask.
struct StepMask {
  std::vector<int64_t> sizes, whole, starts;
  double rate = 0;
  int64_t key = 0;
  int64_t draw[3] = {0, 0, 0};
};

/// Draws the bits of mf-run, filled up to units of 128, on several threads.
void drawMask(const StepMask &mask, std::vector<uint8_t> &bits);

/// Trains as the command line's arguments say, and returns the exit code.
int run(int argc, char **argv, const Facts &facts, const StepDevice &device);

} // namespace mf::step

#endif // MF_STEP_STEPRUN_H
