//===- LimitRange.cpp - The limits of --frontier --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LimitRange.h"
#include "mf/Frontend/Config/MemorySize.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;

namespace mf::tools {

static constexpr int defaultSteps = 10;
static constexpr int mostSteps = 1000;

/// Parses a size such as 40GB, or a number.
static std::optional<double> parseLimit(StringRef text) {
  double number = 0;
  if (!text.getAsDouble(number))
    return std::isfinite(number) && number > 0 ? std::optional(number)
                                               : std::nullopt;
  if (const auto bytes = parseMemorySize(text))
    return static_cast<double>(*bytes);
  return std::nullopt;
}

Expected<LimitRange> LimitRange::parse(StringRef text) {
  SmallVector<StringRef, 3> parts;
  text.split(parts, ':');
  std::vector<double> numbers;
  for (const StringRef part : parts)
    if (const auto number = parseLimit(part))
      numbers.push_back(*number);
  if (numbers.size() != parts.size() || parts.size() < 2 || parts.size() > 3)
    return createStringError("--frontier: expected LOW:HIGH or LOW:HIGH:STEP "
                             "in sizes such as 40GB or numbers, found '" +
                             text + "'");
  LimitRange range;
  range.low = numbers[0], range.high = numbers[1];
  if (range.low >= range.high)
    return createStringError("--frontier: expected the lower limit first, "
                             "found '" +
                             text + "'");
  range.step =
      numbers.size() > 2 ? numbers[2] : (range.high - range.low) / defaultSteps;
  const double steps = (range.high - range.low) / range.step;
  if (steps > mostSteps)
    return createStringError(formatv("--frontier: '{0}' makes {1:f0} limits, "
                                     "expected at most {2}",
                                     text, steps + 1, mostSteps + 1));
  return range;
}

std::vector<double> LimitRange::list() const {
  std::vector<double> limits;
  // A limit that is below the highest one only by a rounding error is left out,
  // because the highest one is added at the end.
  for (int i = 0; low + i * step < high - step * 1e-6; ++i)
    limits.push_back(low + i * step);
  limits.push_back(high);
  return limits;
}

} // namespace mf::tools
