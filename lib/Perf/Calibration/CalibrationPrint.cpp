//===- CalibrationPrint.cpp - Prints how well a target fits ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Perf/Calibration/Calibration.h"
#include "mf/Support/NumberText.h"
#include "mf/Support/TextTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using llvm::raw_ostream;
using llvm::StringRef;

namespace mf::calibration {

/// Formats a fraction, for example "2.3 %".
static std::string formatShare(double share) {
  return formatFixed(share * 100, 1) + " %";
}

static void printKinds(const Calibration &calibration, raw_ostream &os) {
  TextTable table({"kind", "rows", "shapes", "outliers", "ms", "before", "90 %",
                   "after", "90 %"});
  for (const CalibratedKind &kind : calibration.kinds)
    table.addRow(
        {kind.kind, std::to_string(kind.rows), std::to_string(kind.shapes),
         std::to_string(kind.outliers), formatDigits(kind.seconds * 1e3, 4),
         formatShare(kind.before.median), formatShare(kind.before.most),
         formatShare(kind.after.median), formatShare(kind.after.most)});
  table.print(os);
}

/// Formats the error, for example "2.3 %", or states that the number is only a
/// bound.
static std::string formatError(const CalibratedNumber &number) {
  if (number.state == FitState::AtBound)
    return "at its end";
  if (number.isOpenAbove && !number.isOpenBelow)
    return "or more";
  if (number.isOpenBelow && !number.isOpenAbove)
    return "or less";
  return formatShare(number.relativeError);
}

static void printNumbers(const Calibration &calibration, raw_ostream &os) {
  TextTable table({"number", "before", "after", "+-", "rows"});
  for (const CalibratedNumber &number : calibration.numbers)
    if (number.state == FitState::Fitted || number.state == FitState::AtBound)
      table.addRow({number.path, formatDigits(number.before, 4),
                    formatDigits(number.after, 4), formatError(number),
                    std::to_string(number.rows)});
  table.print(os);
  TextTable kept;
  for (const CalibratedNumber &number : calibration.numbers)
    if (number.state == FitState::Undetermined)
      kept.addRow({number.path, formatDigits(number.before, 4)});
  if (kept.empty())
    return;
  os << "\nnot determined by this profile, kept:\n";
  kept.print(os);
}

/// Lists the numbers that no observation depends on, by the entry that they
/// belong to.
static void printUnused(const Calibration &calibration, raw_ostream &os) {
  std::vector<std::string> owners;
  for (const CalibratedNumber &number : calibration.numbers) {
    const std::string owner = StringRef(number.path).rsplit('.').first.str();
    if (number.state != FitState::Unused || llvm::is_contained(owners, owner))
      continue;
    // If the profile shows other numbers of the entry, the number is listed
    // instead of the entry.
    const bool isSeen =
        llvm::any_of(calibration.numbers, [&](const CalibratedNumber &other) {
          return other.state != FitState::Unused &&
                 StringRef(other.path).starts_with(owner + ".");
        });
    owners.push_back(isSeen ? number.path : owner);
  }
  if (!owners.empty())
    os << "\nnot seen in this profile, kept: " << llvm::join(owners, ", ")
       << '\n';
}

static void printRows(StringRef what,
                      const std::map<std::string, int64_t> &rows,
                      raw_ostream &os) {
  if (rows.empty())
    return;
  int64_t sum = 0;
  std::vector<std::pair<int64_t, StringRef>> order;
  for (const auto &[name, count] : rows) {
    sum += count;
    order.emplace_back(-count, name);
  }
  llvm::sort(order);
  os << what << ": " << sum << " rows (";
  llvm::interleaveComma(order, os, [&](const auto &entry) {
    os << entry.second << ' ' << -entry.first;
  });
  os << ")\n";
}

void printCalibration(const Calibration &calibration, raw_ostream &os) {
  os << "profile of " << calibration.folders
     << (calibration.folders == 1 ? " rank, " : " ranks, ") << calibration.rows
     << " rows\n\n";
  printKinds(calibration, os);
  os << '\n';
  printNumbers(calibration, os);
  printUnused(calibration, os);
  if (!calibration.unknownTypes.empty() || !calibration.unclear.empty() ||
      !calibration.withoutRate.empty() || !calibration.sharedLinks.empty() ||
      calibration.warmUpRows > 0)
    os << '\n';
  printRows("unknown types", calibration.unknownTypes, os);
  printRows("not clear what ran", calibration.unclear, os);
  printRows("no rate in the target", calibration.withoutRate, os);
  printRows("beside other exchanges, left out", calibration.sharedLinks, os);
  if (calibration.warmUpRows > 0)
    os << "first step of several, left out: " << calibration.warmUpRows
       << " rows\n";
}

std::string describeCalibration(const Calibration &calibration,
                                StringRef folder, StringRef startTarget) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << startTarget << ", fitted to the profile " << folder << " of "
     << calibration.folders << (calibration.folders == 1 ? " rank" : " ranks")
     << " and " << calibration.rows << " rows.\n"
     << "Median error of rows: ";
  llvm::interleaveComma(calibration.kinds, os, [&](const CalibratedKind &kind) {
    os << kind.kind << ' ' << formatShare(kind.after.median);
  });
  os << ".\n";
  const auto undetermined = llvm::make_filter_range(
      calibration.numbers, [](const CalibratedNumber &number) {
        return number.state == FitState::Undetermined;
      });
  if (undetermined.begin() == undetermined.end())
    return text;
  os << "Not determined, and kept: ";
  llvm::interleaveComma(undetermined, os, [&](const CalibratedNumber &number) {
    os << number.path;
  });
  os << ".\n";
  return text;
}

} // namespace mf::calibration
