//===- StepTrace.cpp - step_trace_time.csv --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ProfileTable.h"

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace mf::calibration {

Error readStepTrace(StringRef path, StringRef text, uint32_t folder,
                    Profile &profile) {
  constexpr double secondsPerMicrosecond = 1e-6;
  ProfileTable table(path, text);
  int step = -1, computing = -1, exposed = -1, free = -1;
  auto readRow = [&]() -> Error {
    ProfiledStep traced;
    traced.folder = folder;
    // The column is missing if the profiler was not told to record steps.
    if (Error error = table.readStep(step, traced.step))
      return error;
    double length = 0;
    for (int column : {computing, exposed, free}) {
      if (column < 0)
        continue;
      Expected<double> microseconds = table.getNumber(column);
      if (!microseconds)
        return microseconds.takeError();
      // The last column is the free time.
      traced.free = *microseconds * secondsPerMicrosecond;
      length += traced.free;
    }
    if (computing >= 0 && exposed >= 0)
      traced.length = length;
    profile.steps.push_back(traced);
    return Error::success();
  };
  return table.read({{"Step", false, &step},
                     {"Computing", false, &computing},
                     {"Communication(Not Overlapped)", false, &exposed},
                     {"Free", true, &free}},
                    readRow);
}

} // namespace mf::calibration
