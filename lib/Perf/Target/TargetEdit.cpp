//===- TargetEdit.cpp - Replaces numbers in a target's file ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "NumberPlaces.h"
#include "TargetText.h"
#include "mf/Perf/Target/TargetFields.h"
#include "mf/Perf/Target/TargetFile.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <tuple>

using namespace llvm;

namespace mf::target {

/// A text that replaces the text between two offsets.
struct Replacement {
  size_t begin = 0, end = 0;
  std::string text;
};

static std::map<std::string, double> getNumbers(Target target) {
  std::map<std::string, double> numbers;
  forEachField(target, [&](StringRef path, const Field &field) {
    numbers[path.str()] = field.getNumber();
  });
  return numbers;
}

/// Returns the edits that change the numbers of `from` to those of `to`, or
/// none if the text has no place for one of them.
static std::optional<std::vector<Replacement>>
findReplacements(StringRef text, const Target &from, const Target &to) {
  const NumberPlaces places = findNumberPlaces(blankComments(text));
  const std::map<std::string, double> before = getNumbers(from);
  std::vector<Replacement> replacements;
  for (const auto &[path, number] : getNumbers(to)) {
    const auto known = before.find(path);
    if (known == before.end())
      return std::nullopt;
    if (known->second == number)
      continue;
    if (auto place = places.values.find(path); place != places.values.end()) {
      replacements.push_back(
          {place->second.begin, place->second.end, formatTargetNumber(number)});
      continue;
    }
    // The number had its default, so that the text lacks it.
    const auto [entry, key] = StringRef(path).rsplit('.');
    const bool isInside = !key.empty();
    const auto end = places.ends.find(isInside ? entry : "");
    if (end == places.ends.end())
      return std::nullopt;
    const bool isFirst = StringRef("<{").contains(text[end->second - 1]);
    replacements.push_back({end->second, end->second,
                            ((isFirst ? "" : ", ") + (isInside ? key : entry) +
                             " = " + formatTargetNumber(number))
                                .str()});
  }
  return replacements;
}

std::string editTarget(StringRef text, const Target &from, const Target &to,
                       mlir::MLIRContext &context, StringRef comment) {
  if (auto replacements = findReplacements(text, from, to)) {
    std::string edited = text.str();
    // Edits are applied from the end, so that earlier offsets stay valid.
    sort(*replacements, [](const Replacement &a, const Replacement &b) {
      return std::tie(b.begin, b.text) < std::tie(a.begin, a.text);
    });
    for (const Replacement &replacement : *replacements)
      edited.replace(replacement.begin, replacement.end - replacement.begin,
                     replacement.text);
    // Errors are dropped, because the target is then printed anew.
    mlir::ScopedDiagnosticHandler handler(&context, [](mlir::Diagnostic &) {});
    SourceMgr sources;
    sources.AddNewSourceBuffer(MemoryBuffer::getMemBufferCopy(edited), SMLoc());
    mlir::FailureOr<Target> read = parseTarget(sources, context);
    if (succeeded(read) && getNumbers(*read) == getNumbers(to))
      return makeComment(comment) + edited;
  }
  std::string printed;
  raw_string_ostream os(printed);
  printTarget(to, context, comment, os);
  return printed;
}

} // namespace mf::target
