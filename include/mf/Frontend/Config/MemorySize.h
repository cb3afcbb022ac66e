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

/// Returns the bytes of a size such as `59GB`, `54.5GB`, `512MB`, `64KB` or a
/// plain number of bytes. GB is 2^30, as in MindSpore's max_device_memory. None
/// if the text is not a positive size.
std::optional<int64_t> parseMemorySize(llvm::StringRef text);

/// Formats a size for messages: `61963264 bytes (0.06 GiB)`. The second unit is
/// left out if it would be 0.00.
std::string describeMemorySize(int64_t bytes);

/// Returns the categories of memory, sorted by descending size and then by
/// name.
std::vector<std::pair<std::string, int64_t>>
sortBySize(const std::map<std::string, int64_t> &bytesByCategory);

} // namespace mf

#endif // MF_FRONTEND_CONFIG_MEMORYSIZE_H
