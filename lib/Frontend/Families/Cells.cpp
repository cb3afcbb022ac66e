//===- Cells.cpp - Tables of Cells and of what they store -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Families/Cells.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace mf {

/// Returns what the same Cell stores in a feed forward of experts.
static Stored getStored(const CellRow &row, FeedForwardUse use) {
  Stored stored = row.stored;
  if (use == FeedForwardUse::Dense)
    return stored;
  const bool isShared = use == FeedForwardUse::Shared;
  for (ParameterPart &part : stored.parts.parts) {
    if (part == ParameterPart::Gate)
      part = isShared ? ParameterPart::SharedGate : ParameterPart::ExpertGate;
    else if (part == ParameterPart::Up)
      part = isShared ? ParameterPart::SharedUp : ParameterPart::ExpertUp;
    else if (part == ParameterPart::Down)
      part = isShared ? ParameterPart::SharedDown : ParameterPart::ExpertDown;
  }
  if (!isShared)
    stored.form = TensorForm::Stacked;
  return stored;
}

static void visit(ArrayRef<CellRow> rows, function_ref<bool(When)> test,
                  function_ref<void(const CellRow &, const std::string &)> act,
                  const std::string &outer, FeedForwardUse use) {
  for (const CellRow &row : rows) {
    if (!test(row.when))
      continue;
    std::string path = outer;
    if (!outer.empty() && !row.cell.empty())
      path += ".";
    path += row.cell;
    CellRow own = row;
    own.stored = getStored(row, use);
    act(own, path);
    visit(row.cells, test, act, path,
          row.use == FeedForwardUse::Dense ? use : row.use);
  }
}

void visitCells(ArrayRef<CellRow> rows, function_ref<bool(When)> test,
                function_ref<void(const CellRow &, const std::string &)> act) {
  visit(rows, test, act, "", FeedForwardUse::Dense);
}

std::vector<std::string> listCellNames(ArrayRef<CellRow> rows, FactSet facts) {
  std::vector<std::string> names;
  visitCells(
      rows, [&](When when) { return when.holds(facts); },
      [&](const CellRow &row, const std::string &path) {
        if (row.leaves.empty())
          return;
        const std::string prefix = path.empty() ? path : path + ".";
        bool isFirst = true;
        for (StringRef leaf : split(row.leaves, ' ')) {
          names.push_back(prefix + leaf.str());
          if (isFirst && row.bias && When(*row.bias).holds(facts))
            names.push_back(prefix + "bias_add");
          isFirst = false;
        }
      });
  return names;
}

std::string findCell(ArrayRef<CellRow> rows, FactSet facts, PartList parts,
                     StringRef outer) {
  std::string found;
  visitCells(
      rows, [&](When when) { return when.holds(facts); },
      [&](const CellRow &row, const std::string &path) {
        StringRef rest(path);
        if (row.stored.parts == parts &&
            (outer.empty() ||
             (rest.consume_front(outer) && rest.consume_front("."))))
          found = rest.str();
      });
  return found;
}

std::string findParameter(ArrayRef<CellRow> rows, FactSet facts,
                          ParameterPart part) {
  std::string found;
  visitCells(
      rows, [&](When when) { return when.holds(facts); },
      [&](const CellRow &row, const std::string &path) {
        if (row.stored.parts == PartList(part))
          found = row.isParameter ? path : path + ".weight";
      });
  return found;
}

} // namespace mf
