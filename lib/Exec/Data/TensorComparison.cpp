//===- TensorComparison.cpp - Compares the tensors of two runs ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/TensorComparison.h"
#include "mf/Exec/Data/ElementConversion.h"
#include "mf/Support/NumberText.h"
#include "mf/Support/ShapeText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Endian.h"
#include <cmath>
#include <limits>

using namespace llvm;

namespace mf {

/// Finds the texts in `name` that match the stars of `pattern`, each as short
/// as possible. Two stars are never adjacent.
static bool matchStars(StringRef pattern, StringRef name,
                       SmallVectorImpl<StringRef> &stars) {
  const size_t star = pattern.find('*');
  if (star == StringRef::npos)
    return pattern == name;
  if (!name.consume_front(pattern.take_front(star)))
    return false;
  const StringRef rest = pattern.drop_front(star + 1);
  const size_t numBefore = stars.size();
  for (size_t length = 0; length <= name.size(); ++length) {
    stars.push_back(name.take_front(length));
    if (matchStars(rest, name.drop_front(length), stars))
      return true;
    stars.truncate(numBefore);
  }
  return false;
}

/// Returns the line without its comment. A comment may begin only where a word
/// may begin: `name#2` is a name.
static StringRef dropComment(StringRef line) {
  for (size_t at = line.find('#'); at != StringRef::npos;
       at = line.find('#', at + 1))
    if (at == 0 || isSpace(line[at - 1]))
      return line.take_front(at);
  return line;
}

Expected<NamePairs> NamePairs::parse(StringRef text, StringRef path) {
  // A pattern with more stars would take too long to match, because each star
  // may stand for a text of any length.
  constexpr size_t maxStars = 4;
  NamePairs pairs;
  SmallVector<StringRef> texts;
  text.split(texts, '\n');
  for (size_t i = 0; i < texts.size(); ++i) {
    const StringRef line = dropComment(texts[i]).trim();
    if (line.empty())
      continue;
    auto fail = [&](const Twine &message) {
      return createStringError(path + ":" + Twine(i + 1) + ": " + message);
    };
    const auto [left, right] = line.split('=');
    const StringRef ours = left.trim(), theirs = right.trim();
    if (ours.empty() || theirs.empty() || theirs.contains('='))
      return fail("expected a name of the first file, '=' and one of the "
                  "second");
    if (ours.count('*') != theirs.count('*'))
      return fail("expected as many stars on both sides of '='");
    if (ours.count('*') > maxStars || ours.contains("**"))
      return fail("expected at most " + Twine(maxStars) +
                  " stars, and none beside another");
    pairs.lines.push_back(
        {static_cast<unsigned>(i + 1), ours.str(), theirs.str()});
  }
  if (pairs.lines.empty())
    return createStringError(path + ": expected lines such as 'name = other "
                                    "name'");
  return pairs;
}

std::optional<NamePairs::Pair> NamePairs::find(StringRef ours) const {
  for (size_t i = 0; i < lines.size(); ++i) {
    SmallVector<StringRef> stars;
    if (!matchStars(lines[i].ours, ours, stars))
      continue;
    Pair pair;
    pair.line = i;
    size_t star = 0;
    for (const char character : lines[i].theirs)
      if (character == '*')
        pair.theirs += stars[star++];
      else
        pair.theirs += character;
    return pair;
  }
  return std::nullopt;
}

const ComparedTensor *TensorComparison::findFirstWrong() const {
  const auto found = find_if(
      tensors, [](const ComparedTensor &tensor) { return tensor.isWrong(); });
  return found == tensors.end() ? nullptr : &*found;
}

/// Returns the trace of a file. A file without one has its tensors in the order
/// of their bytes.
static Expected<TensorTrace> getTrace(const SafetensorsFile &file) {
  Expected<TensorTrace> trace = readTrace(file);
  if (!trace || !trace->empty())
    return trace;
  for (const SafetensorsEntry &entry : file.getTensors()) {
    const std::optional<DType> type = toDType(entry.type);
    trace->push_back({entry.name, static_cast<int64_t>(trace->size()) + 1,
                      type ? getUnitRoundoff(*type) : 0});
  }
  return trace;
}

/// Calls `use(element)` for all elements of a tensor as doubles. The tensor may
/// be unaligned.
template <typename Use>
static void forEachElement(const TensorView &view, Use use) {
  const uint8_t *at = view.bytes.data(), *const end = view.bytes.end();
  using support::endian::read;
  switch (view.shape.type) {
  case DType::F32:
    for (; at != end; at += sizeof(float))
      use(read<float, endianness::little>(at));
    return;
  case DType::BF16:
    for (; at != end; at += sizeof(uint16_t))
      use(bfloat16ToFloat(read<uint16_t, endianness::little>(at)));
    return;
  case DType::F16:
    for (; at != end; at += sizeof(uint16_t))
      use(halfToFloat(read<uint16_t, endianness::little>(at)));
    return;
  case DType::I32:
    for (; at != end; at += sizeof(int32_t))
      use(read<int32_t, endianness::little>(at));
    return;
  case DType::I64:
    for (; at != end; at += sizeof(int64_t))
      use(static_cast<double>(read<int64_t, endianness::little>(at)));
    return;
  case DType::I1:
    llvm_unreachable("safetensors files have no bits");
  }
}

static double measureError(const TensorView &ours, const TensorView &theirs) {
  std::vector<double> expected;
  expected.reserve(ours.shape.getNumElements());
  forEachElement(ours, [&](double value) { expected.push_back(value); });
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double norm = 0, difference = 0;
  const double *next = expected.data();
  forEachElement(theirs, [&](double value) {
    const double reference = *next++;
    // Masked scores are the same infinity on both sides.
    if (value == reference || (std::isnan(value) && std::isnan(reference)))
      return;
    const double distance = value - reference;
    difference += std::isfinite(distance) ? distance * distance : infinity;
  });
  for (const double value : expected)
    norm += std::isfinite(value) ? value * value : 0;
  if (difference == 0)
    return 0;
  return norm == 0 ? infinity : std::sqrt(difference / norm);
}

/// Compares one pair, and adds the data of the second file's trace about it.
static Error compare(const SafetensorsFile &ours, const SafetensorsFile &theirs,
                     const TracedTensor *theirTrace, double factor,
                     ComparedTensor &tensor) {
  auto one = ours.find(tensor.ours);
  if (!one)
    return one.takeError();
  auto two = theirs.find(tensor.theirs);
  if (!two)
    return two.takeError();
  const DType types[] = {one->shape.type, two->shape.type};
  auto fail = [&](const Twine &message) {
    return createStringError(theirs.getPath() + ": tensor '" + tensor.theirs +
                             "' " + message + " '" + tensor.ours + "' of " +
                             ours.getPath());
  };
  if (one->shape.dims != two->shape.dims)
    return fail("has shape " + printDims(two->shape.dims) + ", expected " +
                printDims(one->shape.dims) + " as of");
  if (isFloatType(types[0]) != isFloatType(types[1]))
    return fail("is " + getName(types[1]) + ", expected " + getName(types[0]) +
                " as");
  if (isFloatType(types[0])) {
    for (const DType type : types)
      tensor.rounding = std::max(tensor.rounding, getUnitRoundoff(type));
    if (theirTrace) {
      tensor.rounding = std::max(tensor.rounding, theirTrace->rounding);
      tensor.depth = std::max(tensor.depth, theirTrace->depth);
    }
    tensor.tolerance =
        factor * tensor.rounding * std::sqrt(static_cast<double>(tensor.depth));
  }
  tensor.error = measureError(*one, *two);
  return Error::success();
}

/// Fails if a line of the file of names fits no tensor of the first file,
/// because the line was then written for another file.
static Error checkLines(const NamePairs &names, ArrayRef<bool> isUsed,
                        const SafetensorsFile &ours) {
  for (const auto &[line, used] : zip_equal(names.getLines(), isUsed))
    if (!used)
      return createStringError("line " + Twine(line.number) +
                               " of the names: no tensor of " + ours.getPath() +
                               " is called '" + line.ours + "'");
  return Error::success();
}

Expected<TensorComparison> compareTensors(const SafetensorsFile &ours,
                                          const SafetensorsFile &theirs,
                                          const ComparisonRule &rule) {
  Expected<TensorTrace> trace = getTrace(ours);
  if (!trace)
    return trace.takeError();
  Expected<TensorTrace> otherTrace = readTrace(theirs);
  if (!otherTrace)
    return otherTrace.takeError();
  StringMap<const TracedTensor *> traced;
  for (const TracedTensor &tensor : *otherTrace)
    traced[tensor.name] = &tensor;

  TensorComparison comparison;
  SmallVector<bool> isUsed(rule.names ? rule.names->getLines().size() : 0);
  for (const TracedTensor &tensor : *trace) {
    std::optional<NamePairs::Pair> pair = NamePairs::Pair{tensor.name};
    if (rule.names) {
      pair = rule.names->find(tensor.name);
      if (pair)
        isUsed[pair->line] = true;
    }
    // Whoever writes a pair of names down expects both tensors.
    if (!pair || (!rule.names && !theirs.lookup(pair->theirs))) {
      comparison.skipped.push_back(tensor.name);
      continue;
    }
    ComparedTensor compared{tensor.name, pair->theirs};
    compared.depth = tensor.depth;
    compared.rounding = tensor.rounding;
    if (Error error = compare(ours, theirs, traced.lookup(pair->theirs),
                              rule.factor, compared))
      return error;
    comparison.tensors.push_back(std::move(compared));
  }
  if (rule.names)
    if (Error error = checkLines(*rule.names, isUsed, ours))
      return error;
  if (comparison.tensors.empty())
    return createStringError("no tensor of " + theirs.getPath() +
                             " has a name that " + ours.getPath() +
                             " has; expected some, or --names with a table of "
                             "pairs");
  return comparison;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

/// Returns, for example, "2^-24", or the number itself if it is no power of
/// two.
static std::string describeRounding(double rounding) {
  int exponent = 0;
  if (rounding > 0 && std::frexp(rounding, &exponent) == 0.5)
    return "2^" + std::to_string(exponent - 1);
  return formatDigits(rounding, 3);
}

void printFirstWrong(const TensorComparison &comparison, raw_ostream &os) {
  const ComparedTensor &first = *comparison.findFirstWrong();
  const ptrdiff_t numBefore = &first - comparison.tensors.data();
  const auto numWrong =
      count_if(comparison.tensors,
               [](const ComparedTensor &tensor) { return tensor.isWrong(); });
  os << "first wrong: " << first.ours;
  if (first.ours != first.theirs)
    os << " (" << first.theirs << ")";
  os << "\n  error " << formatDigits(first.error, 3) << ", allowed "
     << formatDigits(first.tolerance, 3) << ": roundings of "
     << describeRounding(first.rounding) << " in " << first.depth
     << (first.depth == 1 ? " operator" : " operators") << "\n  " << numBefore
     << " of " << comparison.tensors.size()
     << " tensors come before it and agree";
  if (numBefore > 0)
    os << ", the last is " << (&first - 1)->ours;
  os << "\n  " << numWrong - 1 << " behind it are wrong, too\n";
}

} // namespace mf
