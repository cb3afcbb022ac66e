//===- StepRegions.h - Blocks of a step and what lies in them ---*- C++ -*-===//
//
// The check of a step's plan compares regions that share addresses at a time.
// Both finding them and looking into them take time for what they share, not
// for all that is alive or lies in them.
//
//===----------------------------------------------------------------------===//

#ifndef MF_MEMORY_STEPREGIONS_H
#define MF_MEMORY_STEPREGIONS_H

#include "StepBlocks.h"
#include "StepPlaces.h"
#include <array>
#include <map>

namespace mf::memory {

/// A block whose inside may be free at times.
struct Region {
  enum class Kind { Frame, Scratch, Buffer };
  Kind kind;
  MemoryBlock block;
  /// The number of the frame instance or of the task.
  size_t index = 0;
  /// The part of the frame.
  size_t part = 0;
};

/// The residuals and temporaries of frames and scratch.
class RegionContents {
public:
  /// Refers to all.
  RegionContents(const StepProblem &problem, const StepPlan &plan,
                 const StepPlaces &timeline);

  /// Adds what a region has in [begin, end), without names unless `hasNames`.
  void add(const Region &region, int64_t begin, int64_t end, bool hasNames,
           std::vector<MemoryBlock> &blocks) const;

private:
  /// A buffer in a part of a frame or in scratch: `offset` counts from there,
  /// and moments from the phases of the frame or from the task.
  struct Content {
    int64_t offset = 0;
    int64_t size = 0;
    PhaseMoment first;
    PhaseMoment last;
    const std::string *name = nullptr;
    bool isResidual = false;
  };
  /// Contents by offset.
  struct SortedContents {
    std::vector<Content> contents;
    /// The greatest end of a content and those before it.
    std::vector<int64_t> reaches;

    void sort();
  };

  void addTemporaries(size_t routine);

  const StepProblem &problem;
  const StepPlan &plan;
  const StepPlaces &timeline;
  /// By frame and part, and by routine.
  std::vector<std::vector<SortedContents>> frames;
  std::vector<SortedContents> scratches;
};

/// Ranges of addresses that may overlap, by number. Ranges of about one size
/// are kept apart, by address: an address is within few of them.
class AddressRanges {
public:
  void insert(size_t number, int64_t begin, int64_t end);
  void erase(size_t number, int64_t begin, int64_t end);
  /// Numbers of the ranges that share an address with [begin, end), ascending.
  std::vector<size_t> find(int64_t begin, int64_t end) const;

private:
  static unsigned getClass(int64_t size);

  /// Each power of two has the ranges that are smaller and not smaller than its
  /// half, with their ends.
  std::array<std::map<std::pair<int64_t, size_t>, int64_t>, 65> classes;
};

} // namespace mf::memory

#endif // MF_MEMORY_STEPREGIONS_H
