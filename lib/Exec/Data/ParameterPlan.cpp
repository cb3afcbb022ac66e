//===- ParameterPlan.cpp - Assembles parameters ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ParameterNameTable.h"
#include "ParameterParts.h"
#include "mf/Exec/Data/ParameterNames.h"
#include "mf/Support/ShapeText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace mf {

namespace {

/// A tensor of the source that holds a part.
struct Source {
  std::string name;
  std::vector<PartSegment> segments;
};

class PartPlanner {
public:
  PartPlanner(StringRef target, ArrayRef<int64_t> dims, DimsLookup lookup,
              const ParameterLayout &layout)
      : target(target), dims(dims), lookup(lookup), layout(layout) {}

  Expected<std::vector<BlockCopy>> plan() {
    const std::optional<ParameterName> parsed =
        parseParameterName(target, layout);
    if (!parsed || !changesOrder(*parsed))
      if (const std::optional<ArrayRef<int64_t>> found = lookup(target))
        return planWhole(*found);
    if (!parsed)
      return createStringError(inconvertibleErrorCode(),
                               "no tensor '" + target +
                                   "', and it is no name of a parameter that "
                                   "other names are known for");
    Expected<PartShapes> shapes =
        PartShapes::create(target, *parsed, dims, layout);
    if (!shapes)
      return shapes.takeError();
    ParameterName inOrder = *parsed;
    inOrder.order = getOrder(target, parsed->order, layout.targetOrder);
    std::vector<BlockCopy> copies;
    for (const PartSegment &segment : listSegments(inOrder, *shapes, layout)) {
      ParameterName wanted = *parsed;
      wanted.expert = segment.expert;
      Expected<Source> source = findSource(wanted, segment.part, *shapes);
      if (!source)
        return source.takeError();
      addCopies(segment, *source, shapes->getColumns(), copies);
    }
    return copies;
  }

private:
  /// Returns the order of a tensor's rows: its scheme's, or the given one for
  /// names that occur with two orders.
  RowOrder getOrder(StringRef name, RowOrder order, RowOrder given) const {
    // The rows of a latent linear_qkv are not distributed over ranks, and the
    // first GLM has a single order of query_key_value.
    bool standsForTwo =
        order == RowOrder::Contiguous &&
        !(layout.latent && name.contains(".linear_qkv.")) &&
        any_of(ArrayRef<StringRef>{".linear_qkv.", ".linear_fc1.",
                                   ".query_key_value.", ".dense_h_to_4h."},
               [&](StringRef part) { return name.contains(part); });
    return standsForTwo ? given : order;
  }

  /// Returns whether the tensor of the same name has its rows in another order.
  bool changesOrder(const ParameterName &parsed) const {
    return getOrder(target, parsed.order, layout.sourceOrder) !=
           getOrder(target, parsed.order, layout.targetOrder);
  }

  Expected<std::vector<BlockCopy>> planWhole(ArrayRef<int64_t> found) {
    if (found != dims)
      return shapeError(target, found);
    int64_t columns = 1;
    for (int64_t dim : dims.drop_front(std::min<size_t>(1, dims.size())))
      columns *= dim;
    const BlockPlace place{0, columns, 1};
    return std::vector<BlockCopy>{
        {target.str(), dims.empty() ? 1 : dims[0], columns, place, place}};
  }

  Error shapeError(StringRef name, ArrayRef<int64_t> found) const {
    return createStringError(inconvertibleErrorCode(),
                             "tensor '" + name + "' has shape " +
                                 printDims(found) +
                                 ", which does not fit parameter '" + target +
                                 "' of shape " + printDims(dims));
  }

  Expected<Source> findSource(const ParameterName &wanted, ParameterPart part,
                              const PartShapes &shapes) {
    std::vector<std::string> tried;
    for (ParameterPart held : listSubstitutes(part))
      if (std::optional<Expected<Source>> found =
              lookUpPart(wanted, held, shapes, tried))
        return std::move(*found);
    std::string names = llvm::join(tried, ", ");
    if (wanted.expert > 0)
      if (std::string missing = findMissing(wanted, part); !missing.empty())
        names = missing + ", since there is one for expert 0";
    return createStringError(inconvertibleErrorCode(),
                             "no tensor for parameter '" + target +
                                 "'; looked for " + names);
  }

  /// Returns the parts from which `part` may be read.
  SmallVector<ParameterPart> listSubstitutes(ParameterPart part) const {
    SmallVector<ParameterPart> parts = {part};
    if (part == ParameterPart::PredictionEmbedding)
      parts.push_back(ParameterPart::Embedding);
    if (part == ParameterPart::PredictionHead)
      parts.push_back(ParameterPart::Head);
    if (parts.back() == ParameterPart::Head && layout.tiesWordEmbeddings)
      parts.push_back(ParameterPart::Embedding);
    return parts;
  }

  /// Returns the name that the expert's tensor would have according to that of
  /// expert 0.
  std::string findMissing(const ParameterName &wanted,
                          ParameterPart part) const {
    ParameterName first = wanted;
    first.expert = 0;
    for (const ParameterPattern &pattern : getParameterPatterns(layout))
      if (pattern.has(part) && lookup(pattern.getName(first, layout)))
        return pattern.getName(wanted, layout);
    return {};
  }

  /// Looks for `part` under each of its names, and records the names that do
  /// not exist.
  std::optional<Expected<Source>> lookUpPart(const ParameterName &wanted,
                                             ParameterPart part,
                                             const PartShapes &shapes,
                                             std::vector<std::string> &tried) {
    for (const ParameterPattern &pattern : getParameterPatterns(layout)) {
      if (!pattern.has(part))
        continue;
      std::string name = pattern.getName(wanted, layout);
      if (name.empty())
        continue;
      std::optional<ArrayRef<int64_t>> found = lookup(name);
      const StringRef extra = pattern.extraPrefix;
      if (!found && !extra.empty()) {
        found = lookup((extra + name).str());
        if (found)
          name.insert(0, extra.str());
      }
      if (StringRef bare = name; !found && !pattern.missingPrefix.empty() &&
                                 bare.consume_front(pattern.missingPrefix)) {
        found = lookup(bare);
        if (found)
          name = bare.str();
      }
      if (found)
        return makeSource(std::move(name), pattern.describe(wanted), part,
                          *found, shapes);
      tried.push_back(std::move(name));
    }
    return std::nullopt;
  }

  Expected<Source> makeSource(std::string name, ParameterName described,
                              ParameterPart part, ArrayRef<int64_t> found,
                              const PartShapes &shapes) {
    if (found != ArrayRef(shapes.getDims(described)))
      return shapeError(name, found);
    described.order = getOrder(name, described.order, layout.sourceOrder);
    Source source;
    for (const PartSegment &segment : listSegments(described, shapes, layout))
      if (segment.part == part && segment.expert == described.expert)
        source.segments.push_back(segment);
    source.name = std::move(name);
    return source;
  }

  /// Adds the rows of `segment`, wherever in `source` they are.
  static void addCopies(const PartSegment &segment, const Source &source,
                        int64_t columns, std::vector<BlockCopy> &copies) {
    const int64_t end = segment.partRow + segment.rows;
    // Segments of a part are in the order of its rows.
    auto begin = partition_point(source.segments, [&](const PartSegment &from) {
      return from.partRow + from.rows <= segment.partRow;
    });
    for (const PartSegment &from : make_range(begin, source.segments.end())) {
      if (from.partRow >= end)
        break;
      const int64_t first = std::max(segment.partRow, from.partRow);
      const int64_t last = std::min(end, from.partRow + from.rows);
      BlockCopy copy{source.name, last - first, columns,
                     skipRows(from.place, first - from.partRow),
                     skipRows(segment.place, first - segment.partRow)};
      if (copies.empty() || !extend(copies.back(), copy))
        copies.push_back(std::move(copy));
    }
  }

  static BlockPlace skipRows(BlockPlace place, int64_t rows) {
    place.offset += rows * place.rowStride;
    return place;
  }

  /// Makes `copy` more rows of `previous` if it continues them.
  static bool extend(BlockCopy &previous, const BlockCopy &copy) {
    if (previous.source != copy.source ||
        skipRows(previous.from, previous.rows) != copy.from ||
        skipRows(previous.to, previous.rows) != copy.to)
      return false;
    previous.rows += copy.rows;
    return true;
  }

  StringRef target;
  ArrayRef<int64_t> dims;
  DimsLookup lookup;
  const ParameterLayout &layout;
};

} // namespace

Expected<std::vector<BlockCopy>> planParameter(StringRef target,
                                               ArrayRef<int64_t> dims,
                                               DimsLookup lookup,
                                               const ParameterLayout &layout) {
  return PartPlanner(target, dims, lookup, layout).plan();
}

} // namespace mf
