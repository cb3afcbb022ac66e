//===- MemorySize.h - Sizes as users write them ----------------*- C++ -*-===//

#ifndef MF_CONFIG_MEMORYSIZE_H
#define MF_CONFIG_MEMORYSIZE_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace mf {

/// Bytes of a size such as `59GB`, `54.5GB`, `512MB`, `64KB` or a plain number
/// of bytes; GB is 2^30, as in MindSpore's max_device_memory. None if the text
/// is no positive size.
std::optional<int64_t> parseMemorySize(llvm::StringRef text);

} // namespace mf

#endif // MF_CONFIG_MEMORYSIZE_H
