//===- mf_main.h - Runs a step for a training run ---------------*- C++ -*-===//

#ifndef MF_MAIN_H
#define MF_MAIN_H

#include "mf/Step/StepRun.h"
#include "mf_cann.h"
#include <cstdlib>
#include <functional>
#include <iostream>

namespace mf_cann {

inline CannTensor f32(char *data, Dims dims) {
  return {data, ACL_FLOAT, std::move(dims), {}};
}
inline CannTensor bf16(char *data, Dims dims) {
  return {data, ACL_BF16, std::move(dims), {}};
}
inline CannTensor f16(char *data, Dims dims) {
  return {data, ACL_FLOAT16, std::move(dims), {}};
}
inline CannTensor i32(char *data, Dims dims) {
  return {data, ACL_INT32, std::move(dims), {}};
}
inline CannTensor i64(char *data, Dims dims) {
  return {data, ACL_INT64, std::move(dims), {}};
}
/// Eight bits of a mask lie in a byte.
inline CannTensor bits(char *data, const Dims &dims) {
  return {data, ACL_UINT8, {(count(dims) + 7) / 8}, {}};
}

/// The memory of a step, and its functions.
struct Step {
  size_t arenaBytes, hostBytes, numStreams, numEvents;
  int64_t workspaceRoom;
  void (*addMirrors)(CannRank &);
  void (*computeGradients)(CannRank &);
  void (*finishStep)(CannRank &);
};

/// Exceptions end here: libmf-step is built without them.
inline std::string getFailure(const std::function<void()> &body) {
  try {
    body();
  } catch (const std::exception &error) {
    return *error.what() ? error.what() : "unknown error";
  }
  return "";
}

inline mf::step::StepDevice makeDevice(CannRank &rank, const Step &step) {
  mf::step::StepDevice device;
  device.write = [&rank](const mf::step::StepBuffer &buffer,
                         const void *bytes) {
    return getFailure([&] {
      const auto size = static_cast<size_t>(buffer.bytes);
      if (buffer.onHost)
        std::memcpy(rank.host(buffer.offset), bytes, size);
      else
        check(aclrtMemcpy(rank.device(buffer.offset), size, bytes, size,
                          ACL_MEMCPY_HOST_TO_DEVICE),
              "aclrtMemcpy");
    });
  };
  device.read = [&rank](const mf::step::StepBuffer &buffer, void *bytes) {
    return getFailure([&] {
      const auto size = static_cast<size_t>(buffer.bytes);
      if (buffer.onHost)
        std::memcpy(bytes, rank.host(buffer.offset), size);
      else
        check(aclrtMemcpy(bytes, size, rank.device(buffer.offset), size,
                          ACL_MEMCPY_DEVICE_TO_HOST),
              "aclrtMemcpy");
    });
  };
  device.computeGradients = [&rank, &step] {
    return getFailure([&] {
      rank.startStep();
      step.computeGradients(rank);
    });
  };
  device.synchronize = [&rank] {
    return getFailure([&] { rank.synchronize(); });
  };
  device.finishStep = [&rank, &step] {
    return getFailure([&] { step.finishStep(rank); });
  };
  return device;
}

inline int runMain(int argc, char **argv, const mf::step::Facts &facts,
                   const Step &step) {
  const char *number = std::getenv("ASCEND_DEVICE_ID");
  int result = 1;
  const std::string failure = getFailure([&] {
    const int32_t device = number ? std::atoi(number) : 0;
    check(aclInit(nullptr), "aclInit");
    check(aclrtSetDevice(device), "aclrtSetDevice");
    {
      CannRank rank(step.arenaBytes, step.hostBytes, step.numStreams,
                    step.numEvents);
      step.addMirrors(rank);
      rank.prepare(
          [&] {
            step.computeGradients(rank);
            step.finishStep(rank);
          },
          step.workspaceRoom);
      std::cerr << "arena " << step.arenaBytes << " bytes, workspaces "
                << rank.getWorkspaceBytes() << " bytes, " << step.numStreams
                << " streams, " << step.numEvents << " events\n";
      result = mf::step::run(argc, argv, facts, makeDevice(rank, step));
    }
    aclrtResetDevice(device);
    aclFinalize();
  });
  if (!failure.empty())
    std::cerr << "error: " << failure << "\n";
  return failure.empty() ? result : 1;
}

} // namespace mf_cann

#endif // MF_MAIN_H
