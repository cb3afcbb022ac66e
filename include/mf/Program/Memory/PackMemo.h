//===- PackMemo.h - Cache of packings ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PROGRAM_MEMORY_PACKMEMO_H
#define MF_PROGRAM_MEMORY_PACKMEMO_H

#include <memory>

namespace mf::memory {

/// Caches how frames and scratch were packed, for use by stages and steps that
/// have the same chunks. It does not change plans. Safe to use from several
/// threads.
class PackMemo {
public:
  class Packings;

  PackMemo();
  ~PackMemo();

  Packings &get() { return *packings; }

private:
  std::unique_ptr<Packings> packings;
};

} // namespace mf::memory

#endif // MF_PROGRAM_MEMORY_PACKMEMO_H
