//===- InitialValues.h - Initial values of statics --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_EXEC_RANKS_INITIALVALUES_H
#define MF_EXEC_RANKS_INITIALVALUES_H

#include "mf/Exec/Data/Safetensors.h"
#include "mf/Exec/Ranks/SliceRuns.h"
#include "llvm/Support/Error.h"
#include <functional>

namespace mf::ranks {

/// Fills `bytes` with the elements from `firstElement` on of a tensor of
/// `shape` with initial value `value`. Random values depend on `name` and
/// `seed`. Fails on integers that are not zeros, ones, a constant or
/// coordinates, and on coordinates that are not integers.
llvm::Error fillInitialValue(const program::InitialValue &value, uint64_t seed,
                             llvm::StringRef name, const TensorShape &shape,
                             int64_t firstElement,
                             llvm::MutableArrayRef<uint8_t> bytes);

/// Does the same for elements [begin, end) of a slice of a tensor of shape
/// `whole`. `bytes` are those of the whole slice.
llvm::Error fillInitialSlice(const program::InitialValue &value, uint64_t seed,
                             llvm::StringRef name, const TensorShape &whole,
                             const SliceRuns &runs, int64_t begin, int64_t end,
                             llvm::MutableArrayRef<uint8_t> bytes);

/// Changes the initial value of a whole parameter. `name` is that of the
/// parameter, or of its owner if it is tied.
using TensorChange =
    std::function<llvm::Error(llvm::StringRef name, const TensorShape &shape,
                              llvm::MutableArrayRef<uint8_t> bytes)>;

/// Fills a slice with its part of the whole value after applying `change` to
/// the whole value.
llvm::Error fillChangedSlice(const program::InitialValue &value, uint64_t seed,
                             llvm::StringRef name, const TensorShape &whole,
                             const SliceRuns &runs, const TensorChange &change,
                             llvm::MutableArrayRef<uint8_t> bytes);

/// Loads a rank's elements `own` of a table, which have their initial value,
/// from a file's tensor `given`. `whole` is the shape of the whole table. Files
/// have the experts of token ids. All other tables have the values that the
/// program gives them: fails if the file's differ by more than rounding.
llvm::Error loadTable(llvm::StringRef name, const TensorView &given,
                      const program::InitialValue &value,
                      const TensorShape &whole, const SliceRuns &runs,
                      llvm::MutableArrayRef<uint8_t> own);

} // namespace mf::ranks

#endif // MF_EXEC_RANKS_INITIALVALUES_H
