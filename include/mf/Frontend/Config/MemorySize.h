//===- MemorySize.h - Sizes as users write them ----------------*- C++ -*-===//

#ifndef MF_CONFIG_MEMORYSIZE_H
#define MF_CONFIG_MEMORYSIZE_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mf {

/// Bytes of a size such as `59GB`, `54.5GB`, `512MB`, `64KB` or a plain number
/// of bytes; GB is 2^30, as in MindSpore's max_device_memory. None if the text
/// is no positive size.
std::optional<int64_t> parseMemorySize(llvm::StringRef text);

/// A size for people to read: `61963264 bytes (0.06 GiB)`; without the second
/// unit where that would be 0.00.
std::string describeMemorySize(int64_t bytes);

/// The categories that memory is spent on, largest first and then by name.
std::vector<std::pair<std::string, int64_t>>
sortBySize(const std::map<std::string, int64_t> &bytesByCategory);

} // namespace mf

#endif // MF_CONFIG_MEMORYSIZE_H
