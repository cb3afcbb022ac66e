//===- Liveness.h - When each buffer of a step is alive -------*- C++ -*-===//
//
// Lifetimes over the whole step, in the order in which the host issues it,
// with routines expanded: a frame's residuals once for each micro-batch, a
// routine's temporaries once for each call.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_LIVENESS_H
#define MF_PROGRAM_LIVENESS_H

#include "mf/Program/Program.h"
#include <array>

namespace mf::program {

/// What memory is spent on; the dialect's categories.
enum class Category : uint8_t {
  Parameter,
  Gradient,
  OptimizerState,
  Activation,
  Temporary,
  Communication,
  Input
};
constexpr size_t numCategories = 7;

/// The dialect's spelling: "optimizer_state".
llvm::StringRef getName(Category category);

/// An instruction of the expanded step.
struct Moment {
  /// Counts all instructions but calls, from 0.
  uint64_t time = 0;
  /// Place in the step; of the call, if it is inside one.
  uint32_t position = 0;
  /// Place in the routine; 0 outside of a call.
  uint32_t instruction = 0;
};

/// One buffer instance that the step uses.
struct Lifetime {
  BufferKind kind = BufferKind::Temporary;
  Category category = Category::Temporary;
  Space space = Space::Device;
  int64_t offset = 0;
  int64_t bytes = 0;
  /// The first and the last instruction that uses it. Statics live throughout,
  /// whatever this says.
  Moment first;
  Moment last;
  /// Time after which the compute stream knows that every use is over: that of
  /// `last`, or later if another stream uses the buffer.
  uint64_t end = 0;
  /// No other stream uses it.
  bool onlyCompute = true;
};

/// The lifetimes of a rank, in the order of their first use (statics first).
std::vector<Lifetime> computeLifetimes(const Program &program,
                                       const Rank &rank);

/// Bytes in use at one time.
struct MemoryUse {
  int64_t bytes = 0;
  std::array<int64_t, numCategories> byCategory{};
  /// The first time at which it is reached.
  uint64_t time = 0;
};

/// The most bytes of `space` alive at one time, buffers counted without
/// padding. Statics count always.
MemoryUse findPeak(const std::vector<Lifetime> &lifetimes, Space space);

/// The end of the furthest byte of `space` that the step uses: what an arena
/// must have.
int64_t findExtent(const std::vector<Lifetime> &lifetimes, Space space);

} // namespace mf::program

#endif // MF_PROGRAM_LIVENESS_H
