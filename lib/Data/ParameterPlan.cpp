//===- ParameterPlan.cpp - Putting parameters together --------------------===//

#include "ParameterNameTable.h"
#include "ParameterRows.h"
#include "ShapeText.h"
#include "mf/Data/ElementConversion.h"
#include "mf/Data/ParameterNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace mf {

namespace {

/// A tensor of the source that holds a part.
struct Source {
  std::string name;
  std::vector<PartSegment> segments;
};

class Planner {
public:
  Planner(StringRef target, ArrayRef<int64_t> dims, DimsLookup lookup,
          const ParameterLayout &layout)
      : target(target), dims(dims), lookup(lookup), layout(layout) {}

  Expected<std::vector<RowCopy>> plan() {
    const std::optional<ParameterName> parsed = parseParameterName(target);
    if (!parsed || !changesOrder(*parsed))
      if (const std::optional<ArrayRef<int64_t>> found = lookup(target))
        return planWhole(*found);
    if (!parsed)
      return createStringError(inconvertibleErrorCode(),
                               "no tensor '" + target +
                                   "', and it is no name of a parameter that "
                                   "other names are known for");
    Expected<PartRows> rows = PartRows::create(target, *parsed, dims, layout);
    if (!rows)
      return rows.takeError();
    std::vector<RowCopy> copies;
    for (const PartSegment &segment : listSegments(
             parsed->parts, getOrder(target, parsed->order, layout.targetOrder),
             *rows, layout)) {
      Expected<Source> source = findSource(*parsed, segment.part, *rows);
      if (!source)
        return source.takeError();
      addCopies(segment, *source, copies);
    }
    return copies;
  }

private:
  /// The order of a tensor's rows: its scheme's, or the given one for names
  /// that stand for two.
  static RowOrder getOrder(StringRef name, RowOrder order, RowOrder given) {
    bool standsForTwo =
        any_of(ArrayRef<StringRef>{".linear_qkv.", ".linear_fc1.",
                                   ".query_key_value.", ".dense_h_to_4h."},
               [&](StringRef part) { return name.contains(part); });
    return standsForTwo ? given : order;
  }

  /// Whether the tensor of the same name has its rows elsewhere.
  bool changesOrder(const ParameterName &parsed) const {
    return getOrder(target, parsed.order, layout.sourceOrder) !=
           getOrder(target, parsed.order, layout.targetOrder);
  }

  Expected<std::vector<RowCopy>> planWhole(ArrayRef<int64_t> found) {
    if (found != dims)
      return shapeError(target, found);
    return std::vector<RowCopy>{
        {target.str(), 0, 0, dims.empty() ? 1 : dims[0]}};
  }

  Error shapeError(StringRef name, ArrayRef<int64_t> found) const {
    return createStringError(inconvertibleErrorCode(),
                             "tensor '" + name + "' has shape " +
                                 printDims(found) +
                                 ", which does not fit parameter '" + target +
                                 "' of shape " + printDims(dims));
  }

  Expected<Source> findSource(const ParameterName &parsed, ParameterPart part,
                              const PartRows &rows) {
    std::vector<std::string> tried;
    if (std::optional<Expected<Source>> found =
            lookUpPart(parsed, part, rows, tried))
      return std::move(*found);
    if (part == ParameterPart::Head && layout.tiesWordEmbeddings)
      if (std::optional<Expected<Source>> found =
              lookUpPart(parsed, ParameterPart::Embedding, rows, tried))
        return std::move(*found);
    return createStringError(inconvertibleErrorCode(),
                             "no tensor for parameter '" + target +
                                 "'; looked for " + join(tried, ", "));
  }

  /// Looks for `part` under each of its names; notes those that are not there.
  std::optional<Expected<Source>> lookUpPart(const ParameterName &parsed,
                                             ParameterPart part,
                                             const PartRows &rows,
                                             std::vector<std::string> &tried) {
    for (const ParameterPattern &pattern : getParameterPatterns()) {
      if (!pattern.has(part))
        continue;
      std::string name = pattern.getName(parsed.layer, parsed.isBias);
      if (name.empty())
        continue;
      std::optional<ArrayRef<int64_t>> found = lookup(name);
      if (!found && pattern.isIn(NameScheme::Mcore)) {
        found = lookup(("model." + Twine(name)).str());
        if (found)
          name.insert(0, "model.");
      }
      if (found)
        return makeSource(std::move(name), pattern, part, *found, rows);
      tried.push_back(std::move(name));
    }
    return std::nullopt;
  }

  Expected<Source> makeSource(std::string name, const ParameterPattern &pattern,
                              ParameterPart part, ArrayRef<int64_t> found,
                              const PartRows &rows) {
    int64_t expected = 0;
    for (ParameterPart held : pattern.parts.get())
      expected += rows.getRows(held);
    if (found.size() != dims.size() || found[0] != expected ||
        found.drop_front() != dims.drop_front())
      return shapeError(name, found);
    const RowOrder order = getOrder(name, pattern.order, layout.sourceOrder);
    Source source;
    for (const PartSegment &segment :
         listSegments(pattern.parts.get(), order, rows, layout))
      if (segment.part == part)
        source.segments.push_back(segment);
    source.name = std::move(name);
    return source;
  }

  /// Adds the rows of `segment`, wherever in `source` they are.
  static void addCopies(const PartSegment &segment, const Source &source,
                        std::vector<RowCopy> &copies) {
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
      RowCopy copy{source.name, from.row + first - from.partRow,
                   segment.row + first - segment.partRow, last - first};
      RowCopy *previous = copies.empty() ? nullptr : &copies.back();
      if (previous && previous->source == copy.source &&
          previous->sourceRow + previous->rows == copy.sourceRow &&
          previous->targetRow + previous->rows == copy.targetRow)
        previous->rows += copy.rows;
      else
        copies.push_back(std::move(copy));
    }
  }

  StringRef target;
  ArrayRef<int64_t> dims;
  DimsLookup lookup;
  const ParameterLayout &layout;
};

} // namespace

Expected<std::vector<RowCopy>> planParameter(StringRef target,
                                             ArrayRef<int64_t> dims,
                                             DimsLookup lookup,
                                             const ParameterLayout &layout) {
  return Planner(target, dims, lookup, layout).plan();
}

Expected<std::vector<RowCopy>>
planParameter(StringRef target, ArrayRef<int64_t> dims,
              const SafetensorsCheckpoint &checkpoint,
              const ParameterLayout &layout) {
  auto lookup = [&](StringRef name) -> std::optional<ArrayRef<int64_t>> {
    const SafetensorsEntry *entry = checkpoint.lookup(name);
    return entry ? std::optional<ArrayRef<int64_t>>(entry->dims) : std::nullopt;
  };
  return planParameter(target, dims, lookup, layout);
}

Error loadParameter(const SafetensorsCheckpoint &checkpoint, StringRef target,
                    const TensorShape &shape, const ParameterLayout &layout,
                    MutableArrayRef<uint8_t> to) {
  Expected<std::vector<RowCopy>> copies =
      planParameter(target, shape.dims, checkpoint, layout);
  if (!copies)
    return copies.takeError();
  if (to.size() != static_cast<size_t>(shape.getBytes()))
    return createStringError(
        inconvertibleErrorCode(),
        "parameter '" + target + "' has " + Twine(shape.getBytes()) +
            " bytes, but the buffer has " + Twine(to.size()));
  int64_t columns = 1;
  for (int64_t dim : ArrayRef<int64_t>(shape.dims)
                         .drop_front(std::min<size_t>(1, shape.dims.size())))
    columns *= dim;
  for (const RowCopy &copy : *copies) {
    Expected<TensorView> view = checkpoint.find(copy.source);
    if (!view)
      return view.takeError();
    const int64_t fromBytes = columns * getBytes(view->shape.type);
    const int64_t toBytes = columns * getBytes(shape.type);
    if (Error error = convertElements(
            view->shape.type,
            view->bytes.slice(copy.sourceRow * fromBytes,
                              copy.rows * fromBytes),
            shape.type,
            to.slice(copy.targetRow * toBytes, copy.rows * toBytes)))
      return createStringError(inconvertibleErrorCode(),
                               "parameter '" + target +
                                   "': " + toString(std::move(error)));
  }
  return Error::success();
}

} // namespace mf
