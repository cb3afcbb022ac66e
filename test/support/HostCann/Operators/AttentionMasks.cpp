//===- AttentionMasks.cpp - Which keys a query sees -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "AttentionMasks.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::hostcann {
namespace {

/// The number of rows, and of columns, of a mask that CANN takes in compressed
/// form.
constexpr int64_t compressedSize = 2048;

/// Returns whether a mask hides all keys behind the diagonal and no others.
bool isCausalMask(const uint8_t *bytes) {
  for (int64_t row = 0; row < compressedSize; ++row)
    for (int64_t column = 0; column < compressedSize; ++column)
      if ((bytes[row * compressedSize + column] != 0) != (column > row))
        return false;
  return true;
}

} // namespace

AttentionMask::AttentionMask(OperatorCall &call, const MaskArguments &arguments,
                             const aclTensor &query, const aclTensor &key)
    : mask(arguments.attenMask), batch(query.dims[0]), queries(query.dims[2]),
      keys(key.dims[2]) {
  const int64_t mode = arguments.sparseMode;
  call.require(mode == 0 || (mode >= 2 && mode <= 4),
               "sparseMode other than 0, 2, 3 and 4 is not in this host "
               "library");
  if (mode == 0)
    checkWhole(call);
  else
    checkCompressed(call, arguments);
}

/// Checks a mask of all pairs of queries and keys, which must be the same for
/// all heads.
void AttentionMask::checkWhole(OperatorCall &call) {
  if (!mask || call.hasFailed())
    return;
  sees = Sees::Documents;
  const llvm::SmallVector<int64_t, 4> expected = {batch, 1, queries, keys};
  call.require((mask->type == ACL_BOOL || mask->type == ACL_UINT8) &&
                   mask->dims == expected,
               "a mask with sparseMode 0 that is not BOOL or UINT8 of [batch, "
               "1, queries, keys] is not in this host library");
}

void AttentionMask::checkCompressed(OperatorCall &call,
                                    const MaskArguments &arguments) {
  call.requireThere(mask, "attenMask");
  if (call.hasFailed())
    return;
  const int64_t behind = keys - queries, mode = arguments.sparseMode;
  sees = mode == 4 ? Sees::Part : Sees::Causal;
  call.require((mask->type == ACL_BOOL || mask->type == ACL_UINT8) &&
                   mask->getNumElements() == compressedSize * compressedSize,
               "attenMask is not 2048 x 2048 of BOOL or UINT8, which "
               "sparseMode 2, 3 and 4 want");
  call.require(mode != 2 || behind == 0,
               "sparseMode 2 with more keys than queries is not in this host "
               "library: use 3");
  if (mode != 4)
    return;
  // With nextTokens 0 the last query sees all keys.
  first = arguments.nextTokens + behind;
  call.require(first >= 0 && first <= behind &&
                   arguments.preTokens >= queries + behind,
               "sparseMode 4 that hides early keys, or queries before the "
               "first or behind the last key, is not in this host library");
}

void AttentionMask::read(OperatorCall &call) {
  if (isCausal())
    operand = call.read(mask, "attenMask");
}

llvm::Expected<AttentionMask::Values>
AttentionMask::getValues(llvm::ArrayRef<void *> places) const {
  if (!isCausal())
    return Values();
  const auto *bytes = static_cast<const uint8_t *>(places[operand]);
  if (hasDocuments())
    return readWhole(bytes);
  if (!isChecked->exchange(true) && !isCausalMask(bytes))
    return llvm::createStringError(
        "attenMask does not hide the keys behind each query's own, as "
        "sparseMode 2, 3 and 4 want");
  return Values{static_cast<int32_t>(first), {}};
}

/// Reads a mask whose rows hide the keys before a document and those behind the
/// query.
llvm::Expected<AttentionMask::Values>
AttentionMask::readWhole(const uint8_t *hidden) const {
  Values values;
  for (int64_t row = 0; row < batch * queries; ++row) {
    const llvm::ArrayRef<uint8_t> line(hidden + row * keys, keys);
    const auto *begin = llvm::find(line, 0);
    const auto *end =
        std::find_if(begin, line.end(), [](uint8_t byte) { return byte != 0; });
    const auto seen = static_cast<int32_t>(end - line.begin());
    const auto own = static_cast<int32_t>(row % queries);
    if (row == 0)
      values.first = seen - 1;
    if (begin == end ||
        llvm::is_contained(llvm::make_range(end, line.end()), 0) ||
        seen - 1 - own != values.first)
      return llvm::createStringError(
          "a row of attenMask sees other keys than those from one on up to the "
          "query's own, which is not in this host library");
    values.starts.push_back(static_cast<int32_t>(begin - line.begin()));
  }
  return values;
}

} // namespace mf::hostcann
