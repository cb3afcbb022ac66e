//===- IndexOperators.cpp - Rows and elements by index --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "IndexOperators.h"
#include "OperatorCall.h"
#include <cstring>

using namespace mf::hostcann;

namespace {

/// The dimensions of a tensor as three: those before `dim`, `dim`, and those
/// behind it.
struct DimensionView {
  int64_t before = 1, size = 0, behind = 1;

  DimensionView(llvm::ArrayRef<int64_t> dims, int64_t dim) : size(dims[dim]) {
    for (int64_t i = 0; i < static_cast<int64_t>(dims.size()); ++i)
      if (i != dim)
        (i < dim ? before : behind) *= dims[i];
  }
};

/// Reports a dimension that `tensor` does not have.
void requireDimension(OperatorCall &call, const aclTensor *tensor,
                      int64_t dim) {
  call.require(call.hasFailed() || (dim >= 0 && dim < static_cast<int64_t>(
                                                          tensor->dims.size())),
               "dim is negative, which is not in this host library, or too "
               "large");
}

void requireIndex(OperatorCall &call, const aclTensor *index) {
  call.require(call.hasFailed() || index->type == ACL_INT32 ||
                   index->type == ACL_INT64,
               "index is not INT32 or INT64");
}

/// Fails for an index outside of the dimension, with which a device would
/// access other memory.
llvm::Error checkIndices(llvm::ArrayRef<int32_t> indices, int64_t size) {
  for (int32_t index : indices)
    if (index < 0 || index >= size)
      return llvm::createStringError("index " + llvm::Twine(index) +
                                     " is outside of a dimension of " +
                                     llvm::Twine(size));
  return llvm::Error::success();
}

/// Requires that both tensors have the same sizes in all dimensions except
/// `dim`.
void requireSameBut(OperatorCall &call, llvm::ArrayRef<int64_t> self,
                    llvm::ArrayRef<int64_t> index, int64_t dim) {
  bool isSame = self.size() == index.size();
  for (size_t i = 0; isSame && i < self.size(); ++i)
    isSame = static_cast<int64_t>(i) == dim || self[i] == index[i];
  call.require(isSame, "index and self differ in a dimension other than dim, "
                       "which is not in this host library");
}

} // namespace

aclnnStatus mf::hostcann::makeIntegerDifference(OperatorCall &call,
                                                const aclTensor &self,
                                                const aclTensor &other,
                                                const aclTensor &out) {
  call.require(self.type == ACL_INT32 && out.dims == self.dims &&
                   (other.getNumElements() == 1 || other.dims == self.dims),
               "of integers, INT32 of one shape, or less one element, is in "
               "this host library");
  return call.finish(0, [count = self.getNumElements(),
                         step = int64_t{other.getNumElements() == 1 ? 0 : 1}](
                            llvm::ArrayRef<void *> places, void *) {
    const auto *from = static_cast<const int32_t *>(places[0]);
    const auto *less = static_cast<const int32_t *>(places[1]);
    for (int64_t i = 0; i < count; ++i)
      static_cast<int32_t *>(places[2])[i] = from[i] - less[i * step];
    return llvm::Error::success();
  });
}

aclnnStatus mf::hostcann::makeIndexSelect(OperatorCall &call,
                                          const aclTensor *self, int64_t dim,
                                          const aclTensor *index,
                                          aclTensor *out) {
  requireDimension(call, self, dim);
  requireIndex(call, index);
  if (call.hasFailed())
    return call.finish(0, nullptr);
  llvm::SmallVector<int64_t, 4> expected(self->dims);
  expected[dim] = index->getNumElements();
  call.require(out->dims == expected && out->type == self->type &&
                   index->dims.size() == 1,
               "out is not self with as many slices as there are indices");
  const DimensionView view(self->dims, dim);
  return call.finish(
      0,
      [view, type = index->type, count = index->getNumElements(),
       bytes = view.behind * getElementBytes(self->type)](
          llvm::ArrayRef<void *> places, void *) -> llvm::Error {
        const std::vector<int32_t> indices =
            readIntegers(places[1], type, count);
        if (llvm::Error error = checkIndices(indices, view.size))
          return error;
        const char *from = static_cast<const char *>(places[0]);
        char *to = static_cast<char *>(places[2]);
        for (int64_t i = 0; i < view.before; ++i)
          for (int32_t index : indices) {
            std::memcpy(to, from + (i * view.size + index) * bytes, bytes);
            to += bytes;
          }
        return llvm::Error::success();
      });
}

aclnnStatus mf::hostcann::makeGather(OperatorCall &call, const aclTensor *self,
                                     int64_t dim, const aclTensor *index,
                                     aclTensor *out) {
  requireDimension(call, self, dim);
  requireIndex(call, index);
  if (call.hasFailed())
    return call.finish(0, nullptr);
  requireSameBut(call, self->dims, index->dims, dim);
  call.require(out->dims == index->dims && out->type == self->type,
               "out does not have index's dimensions and self's type");
  const DimensionView from(self->dims, dim), to(index->dims, dim);
  return call.finish(
      0,
      [from, to, type = index->type, count = index->getNumElements(),
       bytes = getElementBytes(self->type)](llvm::ArrayRef<void *> places,
                                            void *) -> llvm::Error {
        const std::vector<int32_t> indices =
            readIntegers(places[1], type, count);
        if (llvm::Error error = checkIndices(indices, from.size))
          return error;
        for (int64_t i = 0; i < count; ++i) {
          const int64_t before = i / (to.size * to.behind);
          const int64_t place =
              (before * from.size + indices[i]) * from.behind + i % to.behind;
          std::memcpy(static_cast<char *>(places[2]) + i * bytes,
                      static_cast<const char *>(places[0]) + place * bytes,
                      bytes);
        }
        return llvm::Error::success();
      });
}

aclnnStatus mf::hostcann::makeScatterAdd(OperatorCall &call,
                                         const aclTensor *self, int64_t dim,
                                         const aclTensor *index,
                                         const aclTensor *src, aclTensor *out) {
  requireDimension(call, self, dim);
  requireIndex(call, index);
  if (call.hasFailed())
    return call.finish(0, nullptr);
  requireSameBut(call, self->dims, index->dims, dim);
  call.require(src->dims == index->dims && src->type == self->type &&
                   out->dims == self->dims && out->type == self->type &&
                   self->type == ACL_FLOAT,
               "expected src of index's dimensions, out of self's, and FLOAT; "
               "other types are not in this host library");
  const DimensionView to(self->dims, dim), from(index->dims, dim);
  return call.finish(
      0,
      [from, to, type = index->type, count = index->getNumElements(),
       bytes = self->getNumElements() * getElementBytes(self->type)](
          llvm::ArrayRef<void *> places, void *) -> llvm::Error {
        const std::vector<int32_t> indices =
            readIntegers(places[1], type, count);
        if (llvm::Error error = checkIndices(indices, to.size))
          return error;
        std::memmove(places[3], places[0], bytes);
        for (int64_t i = 0; i < count; ++i) {
          const int64_t before = i / (from.size * from.behind);
          const int64_t place =
              (before * to.size + indices[i]) * to.behind + i % from.behind;
          static_cast<float *>(places[3])[place] +=
              static_cast<const float *>(places[2])[i];
        }
        return llvm::Error::success();
      });
}
