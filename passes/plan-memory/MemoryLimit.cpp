//===- MemoryLimit.cpp - Limit of a stage's device memory -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/plan-memory/MemoryLimit.h"
#include "mf/Frontend/Config/MemorySize.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using mf::passes::StageOverflow;

std::string StageOverflow::describe() const {
  const std::string name = "stage " + std::to_string(stage);
  return (isOfTrainer ? "on " + name + " the trainer holds "
                      : name + " needs ") +
         describeMemorySize(bytes) + " of device memory, but " +
         describeMemorySize(limitBytes) + " are allowed";
}

std::vector<std::string> StageOverflow::listFacts() const {
  std::vector<std::string> facts = {"the peak is at " + moment};
  for (const auto &[category, size] : categories)
    facts.push_back(category + ": " + describeMemorySize(size));
  for (const auto &[value, size] : largest)
    facts.push_back("live: " + describeMemorySize(size) + ", " + value);
  facts.insert(facts.end(), savings.begin(), savings.end());
  facts.insert(facts.end(), estimates.begin(), estimates.end());
  return facts;
}

/// Formats bytes in the unit of the step.
static std::string showSize(int64_t size, int64_t ofStep) {
  constexpr int64_t gib = 1 << 30, mib = 1 << 20;
  const int64_t unit = ofStep >= gib ? gib : mib;
  return llvm::formatv("{0:f2} {1}",
                       static_cast<double>(size) / static_cast<double>(unit),
                       unit == gib ? "GiB" : "MiB");
}

std::vector<std::string> StageOverflow::summarize() const {
  constexpr size_t mostCategories = 6, mostValues = 2, mostSavings = 2;
  std::string parts;
  int64_t rest = 0;
  for (size_t index = 0; index < categories.size(); ++index) {
    if (index >= mostCategories) {
      rest += categories[index].second;
      continue;
    }
    parts += (index > 0 ? ", " : "") + categories[index].first + " " +
             showSize(categories[index].second, bytes);
  }
  if (rest > 0)
    parts += ", others " + showSize(rest, bytes);
  std::vector<std::string> facts = {"the peak is at " + moment,
                                    "live then: " + parts};
  size_t shown = 0;
  for (size_t first = 0; first < largest.size() && shown < mostValues;
       ++shown) {
    size_t end = first;
    while (end < largest.size() && largest[end].second == largest[first].second)
      ++end;
    facts.push_back(
        (shown == 0 ? "the largest: " : "then: ") +
        showSize(largest[first].second, bytes) + ", " + largest[first].first +
        (end - first > 1
             ? " and others of this size (" + std::to_string(end - first) + ")"
             : ""));
    first = end;
  }
  facts.insert(facts.end(), savings.begin(),
               savings.begin() + static_cast<ptrdiff_t>(
                                     std::min(mostSavings, savings.size())));
  facts.insert(facts.end(), estimates.begin(), estimates.end());
  return facts;
}

FailureOr<std::optional<int64_t>>
mf::passes::getMemoryLimit(ascend::ProgramOp program, llvm::StringRef hbm) {
  if (hbm == noMemoryLimit)
    return std::optional<int64_t>();
  if (hbm.empty()) {
    std::optional<int64_t> limit;
    if (auto bytes = program.getHbmLimitBytes(); bytes && *bytes > 0)
      limit = static_cast<int64_t>(*bytes);
    return limit;
  }
  if (std::optional<int64_t> bytes = parseMemorySize(hbm))
    return bytes;
  program.emitOpError("got hbm=") << hbm << "; expected " << noMemoryLimit
                                  << " or " << explainMemorySize(hbm);
  return failure();
}
