//===- PackMemo.h - Packings that were found before -------------*- C++ -*-===//

#ifndef MF_MEMORY_PACKMEMO_H
#define MF_MEMORY_PACKMEMO_H

#include <memory>

namespace mf::memory {

/// Remembers how frames and scratch were packed, for the stages of a step, and
/// for steps, that have the same chunks. Plans are the same with it and without
/// it. May be used from several threads.
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

#endif // MF_MEMORY_PACKMEMO_H
