//===- IssueList.h - A stage's step in a form to issue ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A StageProgram with kernels instead of their indices, and operands as a base
// and an offset, so that issuing costs next to nothing. Successive kernels in a
// list are merged into one piece of work of their stream. All ranks of a stage
// share its lists.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_EXEC_RUNNER_ISSUELIST_H
#define MF_LIB_EXEC_RUNNER_ISSUELIST_H

#include "mf/Exec/Kernels/Kernel.h"
#include "mf/Program/Program.h"
#include "mf/Program/StepWalker.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstddef>
#include <deque>
#include <map>
#include <memory>

namespace mf {
class Event;
} // namespace mf

namespace mf::runner {

/// The device memory whose last use on the compute stream ends with an
/// instruction, and that nobody may read again. Buffers that other streams use
/// are left out, because the compute stream may be ahead of those.
class PoisonPlan {
public:
  struct Range {
    int64_t offset = 0;
    int64_t bytes = 0;
  };

  explicit PoisonPlan(const program::StageProgram &stage);

  /// Returns the ranges for an instruction of the routine called at `position`
  /// of the step.
  llvm::ArrayRef<Range> getRanges(uint32_t position,
                                  uint32_t instruction) const;

private:
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Range>> ranges;
};

class RankExecutor;
struct IssueItem;
struct IssueList;
struct WorkSource;

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

/// The `bytes` bytes from `offset` on, relative to the base of that index.
struct OperandAddress {
  uint32_t base = 0;
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// The addresses of the bases of a list on a device, by program::getBaseNumber.
struct BaseTable {
  std::vector<std::byte *> bases;

  /// Puts the places of a scope into a device's arena and host memory.
  BaseTable(llvm::ArrayRef<program::BasePlace> places, std::byte *arena,
            std::byte *host) {
    for (const program::BasePlace &place : places)
      bases.push_back((place.space == program::Space::Device ? arena : host) +
                      place.offset);
  }
  std::byte *getAddress(const OperandAddress &operand) const {
    return bases[operand.base] + operand.offset;
  }
};

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

/// The list being issued: the step or one call of a routine.
struct IssueContext {
  const IssueList *list = nullptr;
  std::shared_ptr<const BaseTable> bases;
  /// The events of the list. For the issuing thread only.
  std::deque<Event> *events = nullptr;
  /// The call that is issued, and its position in the step.
  uint32_t position = 0;
  const program::Call *call = nullptr;

  /// Returns the context for work that runs later, on a stream.
  IssueContext withoutEvents() const {
    IssueContext later = *this;
    later.events = nullptr;
    return later;
  }
};

/// The work that one instruction, or several that are merged, put on a stream.
class IssuedWork {
public:
  virtual ~IssuedWork();

  /// Enqueues the work on the stream of `item` on the device of `rank`.
  virtual void issue(RankExecutor &rank, const IssueContext &context,
                     const IssueItem &item) const = 0;

  /// Merges instruction `number` of the list, which is the next one, with the
  /// previous ones if possible.
  virtual bool append(const WorkSource &source,
                      const program::Instruction &instruction,
                      uint32_t number) {
    return false;
  }
};

/// Instructions [begin, end) of a list.
struct IssueItem {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t stream = 0;
  /// The events that the stream waits for before the work, and the one that it
  /// records after it.
  llvm::SmallVector<program::AwaitedEvent, 1> awaited;
  std::optional<uint32_t> recorded;
  /// Null if there is none.
  std::unique_ptr<IssuedWork> work;
};

struct IssueList {
  std::vector<IssueItem> items;
  uint32_t numEvents = 0;
  /// The index of the routine. Empty for the step.
  std::optional<uint32_t> routine;
};

/// A stage's lists, and other data that do not depend on the rank.
struct PreparedStage {
  const program::Program *program = nullptr;
  const program::StageProgram *stage = nullptr;
  IssueList step;
  llvm::SmallVector<program::BasePlace, 16> stepBases;
  std::vector<IssueList> routines;
  /// Item of the step that is the first update of parameters, or its end.
  size_t updateItem = 0;
  /// Set if memory is debugged.
  std::unique_ptr<PoisonPlan> poison;
};

/// `kernels[i]` must be kernel i of the program.
PreparedStage prepareStage(const program::Program &program,
                           const program::StageProgram &stage,
                           llvm::ArrayRef<std::unique_ptr<Kernel>> kernels,
                           bool debugsMemory);

} // namespace mf::runner

#endif // MF_LIB_EXEC_RUNNER_ISSUELIST_H
