//===- Philox.h - Counter-based random bits -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy
// as 1, 2, 3; SC 2011). Random bits are a function of a counter and a key.
// There is no state to advance, so a value depends neither on earlier draws nor
// on the rank that draws it.
//
//===----------------------------------------------------------------------===//

#ifndef MF_SUPPORT_PHILOX_H
#define MF_SUPPORT_PHILOX_H

#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>

namespace mf {

/// Returns the 128 random bits of `counter` with `key`.
inline std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                          std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t even = uint64_t{0xD2511F53} * counter[0];
    const uint64_t odd = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(odd >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(odd),
               static_cast<uint32_t>(even >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(even)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

/// Returns the key of a randomly drawn tensor or mask: the 64-bit FNV-1a hash
/// of its name.
inline uint64_t hashDrawnName(llvm::StringRef name) {
  uint64_t hash = 0xCBF29CE484222325;
  for (char c : name) {
    hash ^= static_cast<uint8_t>(c);
    hash *= 0x100000001B3;
  }
  return hash;
}

} // namespace mf

#endif // MF_SUPPORT_PHILOX_H
