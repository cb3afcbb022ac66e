//===- OverlapPlan.h - Order of operators around collectives ----*- C++ -*-===//
//
// An order in which operators of one copy of a model run while another copy
// communicates. No IR: a graph is its operators' producers.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_OVERLAP_OVERLAPPLAN_H
#define MF_PASSES_OVERLAP_OVERLAPPLAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mf::passes {

/// One operator, in the order in which it stands.
struct OrderedOperator {
  std::string name;
  /// Whether it begins a collective, which its readers wait for.
  bool communicates = false;
  /// Whether it is made of parameters alone: any copy may be its reader.
  bool isConstant = false;
  /// Numbers of operators whose results it reads, all below its own.
  std::vector<int64_t> producers;
};

struct OverlapPlan {
  std::vector<int64_t> order;
  /// How many operators run between a collective and its first reader, added
  /// up over all collectives.
  int64_t distance = 0;

  void print(llvm::ArrayRef<OrderedOperator> operators,
             llvm::raw_ostream &os) const;
};

/// Among the operators whose operands are known, the first runs that reads no
/// collective that has just begun; if all read one, the reader of the
/// collective that began first, which is then over.
OverlapPlan planOverlap(llvm::ArrayRef<OrderedOperator> operators);

} // namespace mf::passes

#endif // MF_PASSES_OVERLAP_OVERLAPPLAN_H
