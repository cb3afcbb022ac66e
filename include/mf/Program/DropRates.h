//===- DropRates.h - Fractions of tokens that experts dropped ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The drop rates as MoEDropRateCallback of MindSpore Transformers logs them,
// and the fractions of tokens that were really dropped.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_DROPRATES_H
#define MF_PROGRAM_DROPRATES_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mf {

/// The drop rates of one layer in the last micro-batch of a step, one entry for
/// each row of the router's input.
struct DropRates {
  int64_t layer = 0;
  /// The value that the callback computes: the sum over all experts of the
  /// amount by which the expert's share of the choices exceeds capacity_factor
  /// / expert_num.
  std::vector<float> logged;
  /// The fraction of choices that found no room at their expert. Empty if
  /// experts have room for all choices.
  std::vector<float> dropped;
};

namespace drop_rate {
/// The prefixes of the quantities that a program reports. The name of a
/// parameter follows.
inline constexpr char logged[] = "drop_rate.";
inline constexpr char dropped[] = "dropped.";
} // namespace drop_rate

/// Returns whether a report of this name is a drop rate.
bool isDropRate(const std::string &quantity);

/// Returns the number that follows `layers.` in a parameter's name, or 0 if
/// there is none.
int64_t getLayerNumber(llvm::StringRef parameter);

/// Groups the reports of ranks, keyed by quantity, by layer in ascending order.
std::vector<DropRates>
collectDropRates(const std::map<std::string, std::vector<float>> &reports);

/// Formats one line for each row of each layer, as the callback logs it.
std::vector<std::string> formatDropRates(const std::vector<DropRates> &rates);

} // namespace mf

#endif // MF_PROGRAM_DROPRATES_H
