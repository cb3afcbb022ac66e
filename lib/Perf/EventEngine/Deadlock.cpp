//===- Deadlock.cpp - Who waits for whom ----------------------------------===//

#include "Deadlock.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <optional>

using llvm::Twine;

namespace mf::sim {

namespace {

/// A line that waits, and what it waits for.
class WaitsFor {
public:
  WaitsFor(const Lines &lines, llvm::ArrayRef<int32_t> positions);

  bool stands(LineId line) const {
    return positions[line] < lines.getNumItems(line);
  }
  ItemId getItem(LineId line) const { return {line, positions[line]}; }
  /// The item that the line's waits for, further back on the line returned;
  /// none if nothing records the event.
  std::optional<ItemId> getAwaited(LineId line) const;

private:
  const Lines &lines;
  llvm::ArrayRef<int32_t> positions;
  /// An item that has not been reached and records the event, or is of the
  /// group.
  std::vector<std::optional<ItemId>> recordOfEvent, missingOfGroup;
};

WaitsFor::WaitsFor(const Lines &lines, llvm::ArrayRef<int32_t> positions)
    : lines(lines), positions(positions), recordOfEvent(lines.getNumEvents()),
      missingOfGroup(lines.getNumGroups()) {
  for (LineId line = 0; line < lines.getNumLines(); ++line) {
    for (int32_t index = positions[line]; index < lines.getNumItems(line);
         ++index) {
      ItemId item{line, index};
      ItemKind kind = lines.getKind(item);
      if (kind == ItemKind::Record)
        recordOfEvent[lines.getOperand(item)] = item;
      else if (kind == ItemKind::Rendezvous && index > positions[line])
        missingOfGroup[lines.getOperand(item)] = item;
    }
  }
}

std::optional<ItemId> WaitsFor::getAwaited(LineId line) const {
  ItemId item = getItem(line);
  int32_t operand = lines.getOperand(item);
  return lines.getKind(item) == ItemKind::Wait ? recordOfEvent[operand]
                                               : missingOfGroup[operand];
}

std::string getNumberedName(ItemId item) {
  return ("item " + Twine(item.index) + " of line " + Twine(item.line)).str();
}

} // namespace

llvm::Error explainDeadlock(const Lines &lines,
                            llvm::ArrayRef<int32_t> positions,
                            llvm::function_ref<std::string(ItemId)> getName) {
  if (!getName)
    getName = getNumberedName;
  WaitsFor waits(lines, positions);
  LineId line = 0;
  while (!waits.stands(line))
    ++line;

  // Every line that stands waits for another that does, so following them
  // comes back to one already seen, unless an event is never recorded.
  std::vector<LineId> path;
  while (!llvm::is_contained(path, line)) {
    path.push_back(line);
    std::optional<ItemId> awaited = waits.getAwaited(line);
    if (!awaited) {
      ItemId item = waits.getItem(line);
      return llvm::make_error<DeadlockError>(
          std::vector<ItemId>{item},
          getName(item) + " waits for an event that nothing records");
    }
    line = awaited->line;
  }
  path.erase(path.begin(), llvm::find(path, line));

  std::string message = "deadlock: ";
  std::vector<ItemId> items;
  for (LineId member : path) {
    ItemId item = waits.getItem(member);
    if (!items.empty())
      message += ", ";
    message +=
        getName(item) + " waits for " + getName(*waits.getAwaited(member));
    items.push_back(item);
  }
  return llvm::make_error<DeadlockError>(std::move(items), std::move(message));
}

} // namespace mf::sim
