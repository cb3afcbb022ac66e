//===- mf_main.cpp - Runs a step for a training run -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf_main.h"
#include "mf_capture.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>

namespace mf_cann {

/// Runs `body`, and returns the text of its exception. libmf-step is built
/// without exceptions.
static std::string getFailure(const std::function<void()> &body) {
  try {
    body();
  } catch (const std::exception &error) {
    return *error.what() ? error.what() : "unknown error";
  }
  return "";
}

/// Describes the device to libmf-step. If `captured` is not null, the first
/// half of the step is captured.
static mf::step::StepDevice makeDevice(CannRank &rank, const Step &step,
                                       CannChannels &channels,
                                       CapturedPart *captured) {
  mf::step::StepDevice device;
  device.write = [&rank](const mf::step::StepBuffer &buffer,
                         const void *bytes) {
    return getFailure([&] {
      const auto size = static_cast<size_t>(buffer.bytes);
      check(aclrtMemcpy(buffer.onHost ? rank.host(buffer.offset)
                                      : rank.device(buffer.offset),
                        size, bytes, size,
                        buffer.onHost ? ACL_MEMCPY_HOST_TO_HOST
                                      : ACL_MEMCPY_HOST_TO_DEVICE),
            "aclrtMemcpy");
    });
  };
  device.read = [&rank](const mf::step::StepBuffer &buffer, void *bytes) {
    return getFailure([&] {
      const auto size = static_cast<size_t>(buffer.bytes);
      check(aclrtMemcpy(bytes, size,
                        buffer.onHost ? rank.host(buffer.offset)
                                      : rank.device(buffer.offset),
                        size,
                        buffer.onHost ? ACL_MEMCPY_HOST_TO_HOST
                                      : ACL_MEMCPY_DEVICE_TO_HOST),
            "aclrtMemcpy");
    });
  };
  device.computeGradients = [&rank, &step, captured] {
    return getFailure([&] {
      if (captured && rank.getKept().isStarted())
        throw std::runtime_error("--dump-tensors waits behind each operator, "
                                 "which cannot be captured; run without "
                                 "--capture");
      rank.startStep();
      rank.startPart(0);
      if (captured)
        captured->run(rank, step.computeGradients);
      else
        step.computeGradients(rank);
    });
  };
  device.synchronize = [&rank] {
    return getFailure([&] { rank.synchronize(); });
  };
  device.startKeeping = [&rank] { rank.getKept().start(); };
  device.takeKept = [&rank] { return rank.getKept().take(); };
  device.broadcast = [&channels](int64_t root, void *bytes, size_t size) {
    return getFailure([&] { channels.broadcast(root, bytes, size); });
  };
  device.finishStep = [&rank, &step] {
    return getFailure([&] {
      rank.startPart(1);
      step.finishStep(rank);
    });
  };
  return device;
}

static int64_t readNumber(const char *variable, int64_t otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::strtoll(text, nullptr, 10) : otherwise;
}

/// Ends the process at once after a failure if there are other ranks. Work that
/// waits for them might never end, and they notice that this process has ended.
static void endWithOthers(const std::string &failure, int result,
                          int64_t numRanks) {
  if (numRanks == 1 || (failure.empty() && result == 0))
    return;
  std::cout.flush();
  if (!failure.empty())
    std::cerr << "error: " << failure << "\n";
  std::cerr.flush();
  std::_Exit(1);
}

/// Removes a flag from the arguments, because libmf-step rejects unknown ones.
/// Returns whether it was there.
static bool takeFlag(int &argc, char **argv, const char *flag) {
  char **end = std::remove_if(argv + 1, argv + argc, [&](const char *argument) {
    return std::strcmp(argument, flag) == 0;
  });
  const bool isThere = end != argv + argc;
  argc = static_cast<int>(end - argv);
  return isThere;
}

static int runStage(int argc, char **argv, const mf::step::Facts &facts,
                    const Step &step) {
  const bool captures = takeFlag(argc, argv, "--capture");
  CannChannels channels(facts, step.uses);
  CannRank rank(step.arenaBytes, step.hostBytes, step.numStreams,
                step.numEvents, step.largest);
  rank.connect(channels, channels.getBufferBytes());
  step.addMirrors(rank);
  std::vector<std::pair<int64_t, int32_t>> known;
  if (const std::string error = mf::step::getKnownIntegers(facts, known);
      !error.empty())
    throw std::runtime_error(error);
  for (const auto &[offset, value] : known)
    rank.addKnown(rank.device(offset), value);
  rank.prepare(
      [&] {
        rank.startPart(0);
        step.computeGradients(rank);
        rank.startPart(1);
        step.finishStep(rank);
      },
      step.workspaceRoom);
  if (facts.rank == 0)
    std::cerr << "arena " << step.arenaBytes << " bytes, workspaces "
              << rank.getWorkspaceBytes() << " bytes, " << step.numStreams
              << " streams, " << step.numEvents << " events, "
              << rank.countExecutors() << " operators prepared\n";
  CapturedPart captured;
  const int result = mf::step::run(
      argc, argv, facts,
      makeDevice(rank, step, channels, captures ? &captured : nullptr));
  endWithOthers("", result, mf::step::getNumRanks(facts));
  return result;
}

int runMain(int argc, char **argv, mf::step::Facts facts,
            const std::vector<Step> &steps) {
  int result = 1;
  if (const std::string error = mf::step::checkFacts(facts); !error.empty()) {
    std::cerr << "error: " << error << "\n";
    return result;
  }
  const int64_t numRanks = mf::step::getNumRanks(facts);
  std::string failure = getFailure([&] {
    facts.rank = readNumber("RANK_ID", 0);
    if (readNumber("RANK_SIZE", numRanks) != numRanks || facts.rank < 0 ||
        facts.rank >= numRanks || (numRanks > 1 && !std::getenv("RANK_ID")))
      throw std::runtime_error("RANK_ID and RANK_SIZE: expected a rank of " +
                               std::to_string(numRanks));
    check(aclInit(nullptr), "aclInit");
    uint32_t numDevices = 1;
    check(aclrtGetDeviceCount(&numDevices), "aclrtGetDeviceCount");
    const auto device = static_cast<int32_t>(
        readNumber("ASCEND_DEVICE_ID", facts.rank % numDevices));
    check(aclrtSetDevice(device), "aclrtSetDevice");
    result = runStage(
        argc, argv, facts,
        steps[static_cast<size_t>(mf::step::getStage(facts, facts.rank))]);
    check(aclrtResetDevice(device), "aclrtResetDevice");
    check(aclFinalize(), "aclFinalize");
  });
  if (!failure.empty() && numRanks > 1)
    failure = "rank " + std::to_string(facts.rank) + ": " + failure;
  endWithOthers(failure, failure.empty() ? result : 1, numRanks);
  if (!failure.empty())
    std::cerr << "error: " << failure << "\n";
  return failure.empty() ? result : 1;
}

} // namespace mf_cann
