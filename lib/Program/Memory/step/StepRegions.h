//===- StepRegions.h - Blocks of a step and their contents ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The check of a step's plan compares regions that share addresses at the same
// time. Both finding such regions and comparing their contents take time in
// proportion to what they share, not to all that is live or that they contain.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PROGRAM_MEMORY_STEP_STEPREGIONS_H
#define MF_LIB_PROGRAM_MEMORY_STEP_STEPREGIONS_H

#include "StepBlocks.h"
#include "StepPlaces.h"
#include <array>
#include <map>

namespace mf::memory {

/// A block that may be partly free at times.
struct Region {
  enum class Kind { Frame, Scratch, Buffer };
  Kind kind;
  MemoryBlock block;
  /// The index of the frame instance or of the task.
  size_t index = 0;
  /// The part of the frame.
  size_t part = 0;
};

/// The residuals and temporaries of frames and scratch.
class RegionContents {
public:
  /// Keeps references to all arguments.
  RegionContents(const StepProblem &problem, const StepPlan &plan,
                 const StepPlaces &timeline);

  /// Adds the contents of a region in [begin, end). They have names only if
  /// `hasNames` is true.
  void add(const Region &region, int64_t begin, int64_t end, bool hasNames,
           std::vector<MemoryBlock> &blocks) const;

private:
  /// A buffer in a part of a frame or in scratch. `offset` is relative to it,
  /// and moments are relative to the phases of the frame or to the task.
  struct Content {
    int64_t offset = 0;
    int64_t size = 0;
    PhaseMoment first;
    PhaseMoment last;
    const std::string *name = nullptr;
    bool isResidual = false;
  };
  /// Contents in order of offset.
  struct SortedContents {
    std::vector<Content> contents;
    /// For each content, the highest end of it and the preceding ones.
    std::vector<int64_t> reaches;

    void sort();
  };

  void addTemporaries(size_t routine);

  const StepProblem &problem;
  const StepPlan &plan;
  const StepPlaces &timeline;
  /// The contents by frame and part, and by routine.
  std::vector<std::vector<SortedContents>> frames;
  std::vector<SortedContents> scratches;
};

/// Numbered ranges of addresses that may overlap. Ranges of similar size are
/// stored together, by address, so that few of them contain a given address.
class AddressRanges {
public:
  void insert(size_t number, int64_t begin, int64_t end);
  void erase(size_t number, int64_t begin, int64_t end);
  /// Returns the numbers of the ranges that share an address with [begin, end),
  /// ascending.
  std::vector<size_t> find(int64_t begin, int64_t end) const;

private:
  static unsigned getClass(int64_t size);

  /// For each power of two, the ranges that are smaller than it but not than
  /// its half, with their ends.
  std::array<std::map<std::pair<int64_t, size_t>, int64_t>, 65> classes;
};

} // namespace mf::memory

#endif // MF_LIB_PROGRAM_MEMORY_STEP_STEPREGIONS_H
