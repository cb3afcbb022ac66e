//===- ElementPlaces.h - Elements that are read several times ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_SUPPORT_HOSTCANN_OPERATORS_ELEMENTPLACES_H
#define MF_TEST_SUPPORT_HOSTCANN_OPERATORS_ELEMENTPLACES_H

#include "HostCann/Objects/Objects.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace mf::hostcann {

/// Calls `visit(element, place)` for each element of dimensions `dims`, where
/// the place is the sum over `strides`, which end with the last dimension.
template <typename Visit>
void visitElements(llvm::ArrayRef<int64_t> dims,
                   llvm::ArrayRef<int64_t> strides, Visit visit) {
  int64_t elements = 1;
  for (int64_t size : dims)
    elements *= size;
  for (int64_t element = 0; element < elements; ++element) {
    int64_t rest = element, place = 0;
    for (size_t i = dims.size(); i-- > 0; rest /= dims[i])
      place += rest % dims[i] * strides[i];
    visit(element, place);
  }
}

/// Returns the strides with which a tensor is read as one of dimensions `dims`.
/// Dimensions of one element, and leading dimensions that the tensor lacks, are
/// repeated. Returns none if the tensor does not have such a shape.
std::optional<llvm::SmallVector<int64_t, 4>>
getRepeatedStrides(const aclTensor &from, llvm::ArrayRef<int64_t> dims);

} // namespace mf::hostcann

#endif // MF_TEST_SUPPORT_HOSTCANN_OPERATORS_ELEMENTPLACES_H
