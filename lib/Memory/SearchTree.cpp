//===- SearchTree.cpp - Depth-first search over skylines ------------------===//

#include "SearchTree.h"
#include <algorithm>
#include <array>

namespace mf::memory {

SearchTree::Outcome SearchTree::run(const SearchRun &run, int64_t workLimit) {
  current = &run;
  skyline.reset();
  depth = 0;
  entered = skyline.getWhole();
  int64_t lastNode = nodes + run.nodeLimit;
  Step step = Step::Enter;
  while (true) {
    if (step == Step::Enter) {
      if (nodes >= lastNode || getWork() >= workLimit)
        return Outcome::LimitReached;
      ++nodes;
      step = enter(entered);
      continue;
    }
    if (depth == 0)
      return step == Step::Solved ? Outcome::Solved : Outcome::Exhausted;
    step = step == Step::Solved ? advance() : retry();
  }
}

std::vector<int64_t> SearchTree::getOffsets() const {
  std::vector<int64_t> offsets;
  for (size_t i = 0; i < problem.buffers.size(); ++i)
    offsets.push_back(skyline.getOffset(static_cast<int32_t>(i)));
  return offsets;
}

SearchTree::Step SearchTree::enter(const Stretch &stretch) {
  if (stretch.firstBuffer == stretch.lastBuffer)
    return Step::Solved;
  if (!skyline.propagate(stretch))
    return Step::Failed;
  std::vector<Stretch> parts = skyline.split(stretch);
  if (parts.size() > 1)
    return openSplit(stretch, std::move(parts));
  StateHash hash = skyline.getHash(parts.front());
  if (failed.contains(hash))
    return Step::Failed;
  openChoices(parts.front(), hash);
  return retry();
}

/// A part is solved, hence all that was decided in it stays; goes on with the
/// next part of the innermost split.
SearchTree::Step SearchTree::advance() {
  Frame &frame = frames[depth - 1];
  if (!frame.isSplit || frame.next == frame.parts.size()) {
    --depth;
    return Step::Solved;
  }
  entered = frame.parts[frame.next++];
  return Step::Enter;
}

/// Undoes the innermost decision and takes the next alternative. The parts of
/// a split do not depend on each other: if one has no solution, others have no
/// say in it.
SearchTree::Step SearchTree::retry() {
  Frame &frame = frames[depth - 1];
  skyline.undo(frame.mark);
  if (!frame.isSplit && frame.next < frame.choices.size()) {
    Choice choice = frame.choices[frame.next++];
    entered = skyline.place(frame.stretch, choice.buffer, choice.offset);
    return Step::Enter;
  }
  if (!frame.isSplit && !frame.emptyTried) {
    frame.emptyTried = true;
    int64_t slack = skyline.getSlack(frame.section);
    if (slack > 0) {
      int64_t height =
          skyline.getHeightAboveBottom(frame.stretch, frame.section);
      if (height - frame.bottom <= slack) {
        skyline.raise(frame.section, height);
        entered = frame.stretch;
        return Step::Enter;
      }
    }
  }
  if (!frame.isSplit)
    failed.insert(frame.hash);
  --depth;
  return Step::Failed;
}

SearchTree::Step SearchTree::openSplit(const Stretch &stretch,
                                       std::vector<Stretch> parts) {
  // What is most likely to fail goes first.
  std::vector<std::pair<int64_t, Stretch>> bySlack;
  for (const Stretch &part : parts) {
    int64_t slack = problem.capacity;
    for (int32_t s = part.begin; s < part.end; ++s)
      slack = std::min(slack, skyline.getSlack(s));
    bySlack.push_back({slack, part});
  }
  std::sort(bySlack.begin(), bySlack.end(), [](const auto &a, const auto &b) {
    return std::tie(a.first, a.second.begin) <
           std::tie(b.first, b.second.begin);
  });
  if (frames.size() == depth)
    frames.emplace_back();
  Frame &frame = frames[depth++];
  frame.isSplit = true;
  frame.stretch = stretch;
  frame.mark = skyline.getMark();
  frame.parts.clear();
  for (const auto &[slack, part] : bySlack)
    frame.parts.push_back(part);
  frame.next = 0;
  return advance();
}

/// Marks the sections of all valleys and counts, in each, the buffers that can
/// be at its bottom.
void SearchTree::findValleys(const Stretch &stretch) {
  inValley.assign(problem.numSections + 1, 0);
  auto height = [&](int32_t section) {
    return section < stretch.begin || section >= stretch.end
               ? std::numeric_limits<int64_t>::max()
               : skyline.getHeight(section);
  };
  for (int32_t s = stretch.begin; s < stretch.end;) {
    int32_t end = s + 1;
    while (end < stretch.end && height(end) == height(s))
      ++end;
    if (height(s - 1) > height(s) && height(end) > height(s))
      std::fill(inValley.begin() + s, inValley.begin() + end, 1);
    s = end;
  }
  std::fill(choiceCounts.begin() + stretch.begin,
            choiceCounts.begin() + stretch.end + 1, 0);
  for (int32_t index : skyline.getBuffers(stretch)) {
    if (!isAtBottom(index))
      continue;
    ++choiceCounts[problem.buffers[index].begin];
    --choiceCounts[problem.buffers[index].end];
  }
  for (int32_t s = stretch.begin + 1; s < stretch.end; ++s)
    choiceCounts[s] += choiceCounts[s - 1];
  work += 4 * (stretch.end - stretch.begin);
}

/// The buffer can be at the bottom of the valley that it begins in: it lies in
/// the valley as a whole, and no obstacle keeps it up.
bool SearchTree::isAtBottom(int32_t index) const {
  const SearchBuffer &buffer = problem.buffers[index];
  if (!inValley[buffer.begin])
    return false;
  int64_t bottom = skyline.getFloor(buffer.begin);
  if (problem.isUniform)
    return skyline.getLowest(index) == bottom;
  // With mixed alignments the bottom may be unaligned for it.
  for (int32_t s = buffer.begin; s < buffer.end; ++s)
    if (skyline.getFloor(s) != bottom)
      return false;
  return skyline.getLowest(index) - bottom < buffer.alignment;
}

int32_t SearchTree::chooseSection(const Stretch &stretch) const {
  using Key = std::array<int64_t, 3>;
  int32_t best = -1;
  Key bestKey = {};
  for (int32_t s = stretch.begin; s < stretch.end; ++s) {
    if (!inValley[s] || skyline.getLeft(s) == 0)
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
  auto height = [&](int32_t s) {
    return s < stretch.begin || s >= stretch.end
               ? std::numeric_limits<int64_t>::max()
               : skyline.getHeight(s);
  };
  for (int64_t wall : {height(buffer.begin - 1), height(buffer.end)})
    if (wall > bottom)
      rating += wall == top ? 3 * bonus : bonus;
  return rating;
}

void SearchTree::openChoices(const Stretch &stretch, StateHash hash) {
  findValleys(stretch);
  if (frames.size() == depth)
    frames.emplace_back();
  Frame &frame = frames[depth++];
  frame.isSplit = false;
  frame.stretch = stretch;
  frame.mark = skyline.getMark();
  frame.hash = hash;
  frame.section = chooseSection(stretch);
  frame.bottom = skyline.getFloor(frame.section);
  frame.choices.clear();
  frame.next = 0;
  frame.emptyTried = false;

  struct Candidate {
    double rating;
    int32_t buffer;
  };
  std::vector<Candidate> candidates;
  for (int32_t index : skyline.getBuffers(stretch)) {
    const SearchBuffer &buffer = problem.buffers[index];
    if (buffer.begin <= frame.section && frame.section < buffer.end &&
        isAtBottom(index))
      candidates.push_back({rate(index, frame.section, stretch), index});
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate &a, const Candidate &b) {
              return a.rating != b.rating ? a.rating > b.rating
                                          : a.buffer < b.buffer;
            });
  for (const Candidate &candidate : candidates) {
    const SearchBuffer &buffer = problem.buffers[candidate.buffer];
    // Of buffers that are alike one is enough.
    bool isRepeated = llvm::any_of(frame.choices, [&](const Choice &choice) {
      const SearchBuffer &other = problem.buffers[choice.buffer];
      return other.begin == buffer.begin && other.end == buffer.end &&
             other.size == buffer.size && other.alignment == buffer.alignment;
    });
    if (!isRepeated)
      frame.choices.push_back(
          {candidate.buffer, skyline.getLowest(candidate.buffer)});
  }
  work += static_cast<int64_t>(candidates.size()) * 16;
}

} // namespace mf::memory
