//===- InitialValues.h - First values of statics ---------------*- C++ -*-===//

#ifndef MF_RANKS_INITIALVALUES_H
#define MF_RANKS_INITIALVALUES_H

#include "mf/Exec/Ranks/SliceRuns.h"
#include "llvm/Support/Error.h"
#include <functional>

namespace mf::ranks {

/// Fills `bytes` with the elements from `firstElement` on of a tensor of
/// `shape` under initial value `value`. `name` and `seed` decide random values.
/// Fails on integers that are not zeros, ones, a constant or coordinates, and
/// on coordinates that are no integers.
llvm::Error fillInitialValue(const program::InitialValue &value, uint64_t seed,
                             llvm::StringRef name, const TensorShape &shape,
                             int64_t firstElement,
                             llvm::MutableArrayRef<uint8_t> bytes);

/// The same for elements [begin, end) of a slice of a tensor of shape `whole`;
/// `bytes` are those of all the slice.
llvm::Error fillInitialSlice(const program::InitialValue &value, uint64_t seed,
                             llvm::StringRef name, const TensorShape &whole,
                             const SliceRuns &runs, int64_t begin, int64_t end,
                             llvm::MutableArrayRef<uint8_t> bytes);

/// Gets the first value of a whole parameter, which it may change, and the
/// parameter's name; a tied one has its owner's.
using TensorChange =
    std::function<llvm::Error(llvm::StringRef name, const TensorShape &shape,
                              llvm::MutableArrayRef<uint8_t> bytes)>;

/// Fills a slice with its part of what `change` makes of the whole.
llvm::Error fillChangedSlice(const program::InitialValue &value, uint64_t seed,
                             llvm::StringRef name, const TensorShape &whole,
                             const SliceRuns &runs, const TensorChange &change,
                             llvm::MutableArrayRef<uint8_t> bytes);

} // namespace mf::ranks

#endif // MF_RANKS_INITIALVALUES_H
