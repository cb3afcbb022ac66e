//===- DropRates.h - Rates of tokens that experts dropped -------*- C++ -*-===//
//
// The rates of dropped tokens that MoEDropRateCallback of MindSpore
// Transformers logs, and the true ones.
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

/// The drop rates of one layer in a step's last micro-batch, by row of the
/// router.
struct DropRates {
  int64_t layer = 0;
  /// The value that the callback computes: the sum over experts of the amount
  /// by which an expert's share of the choices exceeds capacity_factor /
  /// expert_num.
  std::vector<float> logged;
  /// The share of choices that their expert had no room for; empty where
  /// experts have room for all.
  std::vector<float> dropped;
};

namespace drop_rate {
/// Quantities that a program reports: these before the name of a parameter.
inline constexpr char logged[] = "drop_rate.";
inline constexpr char dropped[] = "dropped.";
} // namespace drop_rate

/// Whether a program reports drop rates under this name.
bool isDropRate(const std::string &quantity);

/// The number behind `layers.` in a parameter's name; 0 without one.
int64_t getLayerNumber(llvm::StringRef parameter);

/// Sorts what ranks report, by quantity, into layers, ascending.
std::vector<DropRates>
collectDropRates(const std::map<std::string, std::vector<float>> &reports);

/// A line for each row of each layer, as the callback logs them.
std::vector<std::string> formatDropRates(const std::vector<DropRates> &rates);

} // namespace mf

#endif // MF_PROGRAM_DROPRATES_H
