//===- AllocationCsv.h - Text form of an allocation problem ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The comma-separated form that MiniMalloc reads and writes
// (https://github.com/google/minimalloc): a header line that names the
// columns in any order, then a line per buffer.
//
//   column                 meaning
//   id, buffer, buffer_id  name of the buffer (required, unique)
//   lower, start           first time at which it is alive (required)
//   upper                  first time at which it no longer is (required)
//   end                    instead of upper: last time at which it is alive
//   size                   bytes (required)
//   alignment              divisor of the offset; 1 if empty
//   hint                   an offset to try; none if empty
//   offset                 the offset that it must have; none if empty
//
// In a solution, `offset` is where each buffer was put.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_MEMORY_ALLOCATIONCSV_H
#define MF_PROGRAM_MEMORY_ALLOCATIONCSV_H

#include "mf/Program/Memory/AllocationProblem.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::memory {

/// Reads a problem from `text`. Errors start with `fileName:line:column: `; a
/// problem that is well-formed as text may still fail check().
llvm::Expected<AllocationProblem> parseAllocationCsv(llvm::StringRef text,
                                                     llvm::StringRef fileName);

/// Prints the problem; with `offsets` (one per buffer), prints the solution,
/// i.e. an `offset` for every buffer. Columns for alignment and hint appear if
/// a buffer has one.
void printAllocationCsv(const AllocationProblem &problem, llvm::raw_ostream &os,
                        llvm::ArrayRef<int64_t> offsets = {});

} // namespace mf::memory

#endif // MF_PROGRAM_MEMORY_ALLOCATIONCSV_H
