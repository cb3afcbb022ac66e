//===- InitialValues.h - First values of statics ---------------*- C++ -*-===//

#ifndef MF_RUNNER_INITIALVALUES_H
#define MF_RUNNER_INITIALVALUES_H

#include "mf/Program/Program.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace mf::runner {

/// Fills `bytes` with the elements from `firstElement` on of a tensor of
/// `shape` under initial value `value`. `name` and `seed` decide random values.
/// Fails on integers that are not zeros, ones, a constant or coordinates, and
/// on coordinates that are no integers.
llvm::Error fillInitialValue(const program::InitialValue &value, uint64_t seed,
                             llvm::StringRef name, const TensorShape &shape,
                             int64_t firstElement,
                             llvm::MutableArrayRef<uint8_t> bytes);

} // namespace mf::runner

#endif // MF_RUNNER_INITIALVALUES_H
