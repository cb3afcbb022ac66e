//===- SearchTree.cpp - Depth-first search over skylines ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SearchTree.h"
#include "lib/Program/Memory/packing/StableSort.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <array>

namespace mf::memory {

SearchTree::Outcome SearchTree::run(const SearchRun &run, int64_t workLimit) {
  current = &run;
  skyline.reset();
  depth = 0;
  entered = {0, problem.numSections, run.horizon};
  int64_t lastNode = nodes + run.nodeLimit;
  Move move = Move::Enter;
  while (true) {
    if (move == Move::Enter) {
      if (nodes >= lastNode || getWork() >= workLimit)
        return Outcome::LimitReached;
      ++nodes;
      move = enter(entered);
      continue;
    }
    if (depth == 0)
      return move == Move::Solved ? Outcome::Solved : Outcome::Exhausted;
    move = move == Move::Solved ? advance() : retry();
  }
}

std::vector<int64_t> SearchTree::getOffsets() const {
  std::vector<int64_t> offsets;
  for (size_t i = 0; i < problem.buffers.size(); ++i)
    offsets.push_back(skyline.getOffset(static_cast<int32_t>(i)));
  return offsets;
}

SearchTree::Move SearchTree::enter(const Stretch &whole) {
  Stretch stretch = whole;
  while (true) {
    View view = skyline.getView(stretch);
    if (skyline.isComplete(view)) {
      if (view.end == stretch.end)
        return Move::Solved;
      stretch.begin = view.end;
      continue;
    }
    if (!skyline.propagate(view))
      return Move::Failed;
    std::vector<Stretch> parts = skyline.split(stretch, view);
    if (parts.size() > 1)
      return openSplit(stretch, view, parts);
    if (parts.front().begin > stretch.begin) {
      stretch = parts.front();
      continue;
    }
    stretch.end = parts.front().end;
    findValleys(view, stretch.end);
    int32_t section = chooseSection(view);
    if (section < 0) {
      // The skyline falls throughout the view, so its lowest part is beyond.
      stretch.horizon = 2 * (view.lastBuffer - view.firstBuffer);
      continue;
    }
    StateHash hash = skyline.getHash(view);
    if (failed.contains(hash))
      return Move::Failed;
    openChoices(stretch, view, section, hash);
    return retry();
  }
}

/// Handles a solved part, whose decisions all stay. Continues with the next
/// part of the innermost split.
SearchTree::Move SearchTree::advance() {
  Level &level = levels[depth - 1];
  if (!level.isSplit || level.next == level.parts.size()) {
    --depth;
    return Move::Solved;
  }
  entered = level.parts[level.next++];
  return Move::Enter;
}

/// Undoes the innermost decision and takes the next alternative. The parts of a
/// split are independent: if one has no solution, changing the others does not
/// help.
SearchTree::Move SearchTree::retry() {
  Level &level = levels[depth - 1];
  skyline.undo(level.mark);
  if (!level.isSplit && level.next < level.choices.size()) {
    Choice choice = level.choices[level.next++];
    skyline.place(choice.buffer, choice.offset);
    entered = level.stretch;
    return Move::Enter;
  }
  if (!level.isSplit && !level.emptyTried) {
    level.emptyTried = true;
    int64_t slack = skyline.getSlack(level.section);
    if (slack > 0) {
      int64_t height = skyline.getHeightAboveBottom(level.view, level.section);
      if (height - level.bottom <= slack) {
        skyline.raise(level.section, height);
        entered = level.stretch;
        return Move::Enter;
      }
    }
  }
  if (!level.isSplit)
    failed.insert(level.hash);
  --depth;
  return Move::Failed;
}

SearchTree::Level &SearchTree::pushLevel(const Stretch &stretch,
                                         const View &view) {
  if (levels.size() == depth)
    levels.emplace_back();
  Level &level = levels[depth++];
  level.stretch = stretch;
  level.view = view;
  level.mark = skyline.getMark();
  level.choices.clear();
  level.parts.clear();
  level.next = 0;
  level.emptyTried = false;
  return level;
}

SearchTree::Move SearchTree::openSplit(const Stretch &stretch, const View &view,
                                       const std::vector<Stretch> &parts) {
  Level &level = pushLevel(stretch, view);
  level.isSplit = true;
  level.parts = parts;
  // The part that is most likely to fail comes first, but not before the parts
  // in view.
  std::vector<int64_t> slacks;
  for (const Stretch &part : parts) {
    int64_t slack = problem.capacity;
    for (int32_t s = part.begin; s < std::min(part.end, view.end); ++s)
      slack = std::min(slack, skyline.getSlack(s));
    slacks.push_back(part.end > view.end ? problem.capacity : slack);
  }
  std::vector<size_t> order = getSortedIndices<size_t>(
      parts.size(), [&](size_t a, size_t b) { return slacks[a] < slacks[b]; });
  for (size_t i = 0; i < parts.size(); ++i)
    level.parts[i] = parts[order[i]];
  return advance();
}

/// Marks the sections of all valleys and counts for each the buffers that can
/// be at its bottom.
void SearchTree::findValleys(const View &view, int32_t stretchEnd) {
  Stretch stretch = {view.begin, stretchEnd, 0};
  auto height = [&](int32_t section) { return getHeight(section, stretch); };
  inValley.resize(problem.numSections + 1);
  std::fill(inValley.begin() + view.begin, inValley.begin() + view.end, 0);
  for (int32_t s = view.begin; s < view.end;) {
    int32_t end = s + 1;
    while (end < stretchEnd && height(end) == height(s))
      ++end;
    if (height(s - 1) > height(s) && height(end) > height(s))
      std::fill(inValley.begin() + s,
                inValley.begin() + std::min(end, view.end), 1);
    s = end;
  }
  std::fill(choiceCounts.begin() + view.begin,
            choiceCounts.begin() + view.lastEnd + 1, 0);
  for (int32_t index = view.firstBuffer; index < view.lastBuffer; ++index) {
    if (skyline.isPlaced(index) || !isAtBottom(index))
      continue;
    ++choiceCounts[problem.buffers[index].begin];
    --choiceCounts[problem.buffers[index].end];
  }
  for (int32_t s = view.begin + 1; s < view.end; ++s)
    choiceCounts[s] += choiceCounts[s - 1];
  work += 4 * (view.end - view.begin);
}

/// Returns whether the buffer can be at the bottom of the valley in which it
/// begins: it is inside of the valley as a whole, and no obstacle prevents it.
bool SearchTree::isAtBottom(int32_t index) const {
  const SearchBuffer &buffer = problem.buffers[index];
  if (!inValley[buffer.begin])
    return false;
  int64_t bottom = skyline.getFloor(buffer.begin);
  if (problem.isUniform)
    return skyline.getLowest(index) == bottom;
  // With mixed alignments, the bottom may be misaligned for it.
  for (int32_t s = buffer.begin; s < buffer.end; ++s)
    if (skyline.getFloor(s) != bottom)
      return false;
  return skyline.getLowest(index) - bottom < buffer.alignment;
}

int32_t SearchTree::chooseSection(const View &view) const {
  using Key = std::array<int64_t, 3>;
  int32_t best = -1;
  Key bestKey = {};
  for (int32_t s = view.begin; s < view.end; ++s) {
    if (!inValley[s] || choiceCounts[s] == 0)
      continue;
    int64_t slack = skyline.getSlack(s), floor = skyline.getFloor(s);
    int64_t count = choiceCounts[s] + (slack > 0);
    Key key;
    switch (current->sectionRule) {
    case SectionRule::FewestChoices:
      key = {count, slack, floor};
      break;
    case SectionRule::Tightest:
      key = {slack, count, floor};
      break;
    case SectionRule::LowestFewest:
      key = {floor, count, slack};
      break;
    }
    if (best < 0 || key < bestKey) {
      bestKey = key;
      best = s;
    }
  }
  return best;
}

double SearchTree::rate(int32_t index, int32_t section,
                        const Stretch &stretch) const {
  double rating = current->priorities[index];
  if (!current->preferCorners)
    return rating;
  constexpr double bonus = 1e18;
  const SearchBuffer &buffer = problem.buffers[index];
  int64_t bottom = skyline.getFloor(section), top = bottom + buffer.size;
  for (int64_t wall :
       {getHeight(buffer.begin - 1, stretch), getHeight(buffer.end, stretch)})
    if (wall > bottom)
      rating += wall == top ? 3 * bonus : bonus;
  return rating;
}

void SearchTree::openChoices(const Stretch &stretch, const View &view,
                             int32_t section, StateHash hash) {
  Level &level = pushLevel(stretch, view);
  level.isSplit = false;
  level.hash = hash;
  level.section = section;
  level.bottom = skyline.getFloor(section);
  struct Candidate {
    double rating;
    int32_t buffer;
  };
  std::vector<Candidate> candidates;
  for (int32_t index = view.firstBuffer; index < view.lastBuffer; ++index) {
    const SearchBuffer &buffer = problem.buffers[index];
    if (!skyline.isPlaced(index) && buffer.begin <= level.section &&
        level.section < buffer.end && isAtBottom(index))
      candidates.push_back({rate(index, level.section, stretch), index});
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate &a, const Candidate &b) {
              return a.rating != b.rating ? a.rating > b.rating
                                          : a.buffer < b.buffer;
            });
  for (const Candidate &candidate : candidates) {
    const SearchBuffer &buffer = problem.buffers[candidate.buffer];
    // One of several equal buffers is enough.
    bool isRepeated = llvm::any_of(level.choices, [&](const Choice &choice) {
      const SearchBuffer &other = problem.buffers[choice.buffer];
      return other.begin == buffer.begin && other.end == buffer.end &&
             other.size == buffer.size && other.alignment == buffer.alignment;
    });
    if (!isRepeated)
      level.choices.push_back(
          {candidate.buffer, skyline.getLowest(candidate.buffer)});
  }
  work += static_cast<int64_t>(candidates.size()) * 16;
}

} // namespace mf::memory
