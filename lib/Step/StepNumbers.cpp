//===- StepNumbers.cpp - What each step changes in host memory ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepNumbers.h"
#include <cstring>

using namespace mf::program;

namespace mf::step {

/// Fills `bytes` with copies of a value.
static void fill(std::vector<uint8_t> &bytes, float value) {
  for (size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float))
    std::memcpy(bytes.data() + at, &value, sizeof(float));
}

std::vector<uint8_t> makeStepBytes(const Static &buffer,
                                   const ranks::StepInput &input) {
  std::vector<uint8_t> bytes(static_cast<size_t>(buffer.bytes));
  switch (buffer.role) {
  case Role::StepNumber:
    fill(bytes, static_cast<float>(input.stepNumber));
    return bytes;
  case Role::LossScale:
    fill(bytes, input.lossScale);
    return bytes;
  case Role::LearningRate:
    std::memcpy(
        bytes.data(), input.learningRates.data(),
        std::min(bytes.size(), input.learningRates.size() * sizeof(float)));
    return bytes;
  case Role::Draw: {
    constexpr size_t drawBytes = sizeof(ranks::getDraw(input, 0));
    for (size_t at = 0; at + drawBytes <= bytes.size(); at += drawBytes) {
      const auto draw =
          ranks::getDraw(input, static_cast<int64_t>(at / drawBytes));
      std::memcpy(bytes.data() + at, draw.data(), drawBytes);
    }
    return bytes;
  }
  default:
    return {};
  }
}

} // namespace mf::step
