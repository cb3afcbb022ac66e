//===- StepParts.cpp - Parts of a slot's calls take turns -----------------===//
//
// A forward and a backward that share a slot run part by part. The exchanges at
// the end of a part of one of them continue during the next part of the other.
//
//===----------------------------------------------------------------------===//

#include "passes/lower/StepBuilder.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;

/// Returns the calls of the parts of a call's routine. Their `next` counts from
/// the first of them.
std::vector<StepBuilder::Call> StepBuilder::cutCall(const Call &call) {
  const RoutineParts *parts = program.getParts(call.routine);
  if (!parts)
    return {call};
  loc = call.loc;
  const auto passed =
      llvm::map_to_vector(parts->passed, [&](Type type) -> Value {
        return ascend::MessageOp::create(builder, loc, type, IntegerAttr());
      });
  std::vector<Call> made;
  for (const RoutinePart &part : parts->parts) {
    Call &ofPart = made.emplace_back(call);
    ofPart.routine = part.name;
    for (int64_t number : part.passed)
      ofPart.buffers.push_back(passed[number]);
    ofPart.streams = part.streams;
    if (made.size() > 1)
      ofPart.incoming.clear();
    if (made.size() < parts->parts.size()) {
      ofPart.outgoing.clear();
      ofPart.next = made.size();
    }
  }
  return made;
}

void StepBuilder::cutCalls() {
  std::vector<Call> cut;
  // For each original call, the index of the first call that replaces it.
  std::vector<size_t> firsts(calls.size());
  // Appends the next part of a call. The indices of the parts that follow are
  // only known when these are appended.
  struct Turn {
    size_t call;
    std::vector<Call> parts;
    size_t taken = 0;
    size_t last = 0;
  };
  auto takeTurn = [&](Turn &turn) {
    if (turn.taken == turn.parts.size())
      return false;
    if (turn.taken == 0)
      firsts[turn.call] = cut.size();
    else
      cut[turn.last].next = cut.size();
    turn.last = cut.size();
    cut.push_back(std::move(turn.parts[turn.taken++]));
    return true;
  };
  for (size_t index = 0; index < calls.size();) {
    Turn first{index, cutCall(calls[index])};
    std::vector<Turn> others;
    for (; calls[index].isPaired; ++index)
      others.push_back({index + 1, cutCall(calls[index + 1])});
    ++index;
    // The halves of a backward follow one another.
    while (takeTurn(first))
      for (Turn &other : others)
        if (takeTurn(other))
          break;
    for (Turn &other : others)
      while (takeTurn(other)) {
      }
  }
  std::vector<SmallVector<Operation *, 2>> issued(cut.size());
  for (auto [first, tasks] : llvm::zip_equal(firsts, issuedBefore))
    llvm::append_range(issued[first], tasks);
  for (const Call &call : cut)
    for (Operation *send : call.outgoing)
      if (auto reader = sentBefore.find(send); reader != sentBefore.end())
        reader->second = firsts[reader->second];
  calls = std::move(cut);
  issuedBefore = std::move(issued);
}
