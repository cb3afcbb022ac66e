//===- MemorySize.h - Sizes as users write them ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_FRONTEND_CONFIG_MEMORYSIZE_H
#define MF_FRONTEND_CONFIG_MEMORYSIZE_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mf {

/// Returns the bytes of a size such as `59GB`, `54.5G`, `512MiB`, `64KB` or
/// `4096B`. G, GB and GiB are 2^30, as in MindSpore's max_device_memory. None
/// if the text is not a positive size, or has no unit: a bare number could mean
/// bytes as well as GB.
std::optional<int64_t> parseMemorySize(llvm::StringRef text);

/// Returns what is expected instead of a text that is not a size:
/// `a size with a unit, such as 54GB, 512MiB or 4096B, but got 52.5, which has
/// no unit; 52.5GB is 56371445760 bytes (52.50 GiB)`.
std::string explainMemorySize(llvm::StringRef text);

/// Writes a size as the value of max_device_memory: the largest unit of which
/// it has at most two decimals. A size that is not a multiple of 1 KB is
/// rounded up to one.
std::string writeMemorySize(int64_t bytes);

/// Formats a size for messages: `61963264 bytes (0.06 GiB)`. The second unit is
/// left out if it would be 0.00.
std::string describeMemorySize(int64_t bytes);

/// Returns the categories of memory, sorted by descending size and then by
/// name.
std::vector<std::pair<std::string, int64_t>>
sortBySize(const std::map<std::string, int64_t> &bytesByCategory);

} // namespace mf

#endif // MF_FRONTEND_CONFIG_MEMORYSIZE_H
