//===- ParameterRows.cpp - Where the parts lie in a tensor ----------------===//

#include "ParameterRows.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mf {

static Error rowsError(StringRef name, const Twine &message) {
  return createStringError(inconvertibleErrorCode(),
                           "tensor '" + name + "': " + message);
}

static bool isOfAttention(ParameterPart part) {
  return part == ParameterPart::Query || part == ParameterPart::Key ||
         part == ParameterPart::Value;
}

/// Heads that divide, and whose products are far from overflowing.
static bool isUsable(const ParameterLayout &layout) {
  constexpr int64_t limit = int64_t{1} << 30;
  return layout.numHeads > 0 && layout.numHeads <= limit &&
         layout.numKeyValueHeads > 0 &&
         layout.numHeads % layout.numKeyValueHeads == 0 &&
         layout.headSize > 0 && layout.headSize <= limit;
}

Expected<PartRows> PartRows::create(StringRef name, const ParameterName &parsed,
                                    ArrayRef<int64_t> dims,
                                    const ParameterLayout &layout) {
  if (dims.empty() || dims.size() > 2)
    return rowsError(name, "has " + Twine(dims.size()) +
                               " dimensions, expected 1 or 2");
  PartRows result;
  if (!isOfAttention(parsed.parts[0])) {
    const auto count = static_cast<int64_t>(parsed.parts.size());
    if (dims[0] % count != 0)
      return rowsError(name, "has " + Twine(dims[0]) +
                                 " rows, expected a multiple of " +
                                 Twine(count));
    result.other = dims[0] / count;
    return result;
  }

  if (!isUsable(layout))
    return rowsError(name,
                     "cannot be taken apart into " + Twine(layout.numHeads) +
                         " heads and " + Twine(layout.numKeyValueHeads) +
                         " key/value heads of size " + Twine(layout.headSize));
  result.query = layout.numHeads * layout.headSize;
  result.keyValue = layout.numKeyValueHeads * layout.headSize;
  int64_t expected = 0;
  for (ParameterPart part : parsed.parts)
    expected += result.getRows(part);
  if (dims[0] != expected)
    return rowsError(name, "has " + Twine(dims[0]) + " rows, expected " +
                               Twine(expected) + " (" + Twine(layout.numHeads) +
                               " heads and " + Twine(layout.numKeyValueHeads) +
                               " key/value heads of size " +
                               Twine(layout.headSize) + ")");
  return result;
}

int64_t PartRows::getRows(ParameterPart part) const {
  if (part == ParameterPart::Query)
    return query;
  return isOfAttention(part) ? keyValue : other;
}

std::vector<PartSegment> listSegments(ArrayRef<ParameterPart> parts,
                                      RowOrder order, const PartRows &rows,
                                      const ParameterLayout &layout) {
  std::vector<PartSegment> segments;
  const int64_t groups = order != RowOrder::Grouped ? 1
                         : isOfAttention(parts[0])  ? layout.numKeyValueHeads
                                                    : rows.getRows(parts[0]);
  int64_t row = 0;
  for (int64_t group = 0; group < groups; ++group)
    for (ParameterPart part : parts) {
      const int64_t count = rows.getRows(part) / groups;
      segments.push_back({part, group * count, row, count});
      row += count;
    }
  return segments;
}

} // namespace mf
