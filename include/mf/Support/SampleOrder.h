//===- SampleOrder.h - Order of samples on each replica ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_SUPPORT_SAMPLEORDER_H
#define MF_SUPPORT_SAMPLEORDER_H

#include "llvm/ADT/StringSwitch.h"
#include <optional>

namespace mf {

/// The value of full_batch in the YAML and, if it is False, the kind of dataset
/// that data_parallel ranks share. The rows of a step that a rank reads are
/// consecutive in the step's batch.
enum class SampleOrder : uint8_t {
  Whole, ///< full_batch: all ranks read the same global batch, row after row
  RoundRobin, ///< row i of rank d is row i * data_parallel + d, as for datasets
              ///< that are addressed by index
  Blocks ///< each rank reads a contiguous block of the data, as for MindDataset
};

inline llvm::StringRef getName(SampleOrder order) {
  switch (order) {
  case SampleOrder::Whole:
    return "whole";
  case SampleOrder::RoundRobin:
    return "round_robin";
  case SampleOrder::Blocks:
    return "blocks";
  }
  llvm_unreachable("unknown order of samples");
}

inline std::optional<SampleOrder> parseSampleOrder(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<SampleOrder>>(name)
      .Case("whole", SampleOrder::Whole)
      .Case("round_robin", SampleOrder::RoundRobin)
      .Case("blocks", SampleOrder::Blocks)
      .Default(std::nullopt);
}

} // namespace mf

#endif // MF_SUPPORT_SAMPLEORDER_H
