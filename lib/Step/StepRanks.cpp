//===- StepRanks.cpp - The ranks of a standalone program ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepRanks.h"
#include "ReadFacts.h"
#include "mf/Exec/Ranks/InitialValues.h"
#include "mf/Exec/Ranks/SliceRuns.h"
#include "llvm/ADT/STLExtras.h"

using namespace mf::program;

namespace mf::step {

llvm::Error toError(const std::string &text) {
  return text.empty() ? llvm::Error::success() : llvm::createStringError(text);
}

int64_t getNumRanks(const Facts &facts) {
  return makeMesh(facts).getNumRanks();
}

int64_t getStage(const Facts &facts, int64_t rank) {
  return makeMesh(facts).getStage(rank);
}

std::vector<int64_t> getMembers(const Facts &facts, size_t channel,
                                int64_t rank, bool isSend) {
  const StepChannel &given = facts.channels[channel];
  Channel made;
  made.name = given.name;
  made.isTransfer = given.isTransfer;
  made.group = {given.groupAxes, given.groupStages};
  made.fromStage = given.fromStage;
  made.toStage = given.toStage;
  made.axis = given.axis;
  made.shift = given.shift;
  return made.getMembers(makeMesh(facts), rank, isSend);
}

std::string getKnownIntegers(const Facts &facts,
                             std::vector<std::pair<int64_t, int32_t>> &known) {
  llvm::Expected<ReadFacts> read = readFacts(facts);
  if (!read)
    return llvm::toString(read.takeError());
  const auto stage = static_cast<size_t>(read->mesh.getStage(facts.rank));
  for (auto [buffer, made] :
       llvm::zip_equal(facts.stages[stage], read->stages[stage])) {
    if (made.space == Space::Host || !made.init ||
        made.shape.type != DType::I32 || made.shape.getNumElements() != 1 ||
        (made.role != Role::Constant && made.role != Role::Table))
      continue;
    int32_t value = 0;
    llvm::MutableArrayRef<uint8_t> bytes(reinterpret_cast<uint8_t *>(&value),
                                         sizeof(value));
    if (llvm::Error error = ranks::fillInitialSlice(
            *made.init, 0, made.name, ranks::getWholeShape(made),
            ranks::SliceRuns(read->mesh, made, facts.rank), 0, 1, bytes))
      return "initial value of '" + made.name +
             "': " + llvm::toString(std::move(error));
    known.emplace_back(buffer.offset, value);
  }
  return "";
}

llvm::Error StepRanks::share(int64_t root,
                             llvm::MutableArrayRef<uint8_t> bytes) const {
  if (numRanks == 1 || bytes.empty())
    return llvm::Error::success();
  return toError(device.broadcast(root, bytes.data(), bytes.size()));
}

llvm::Expected<std::string> StepRanks::shareText(int64_t root,
                                                 llvm::StringRef text) const {
  uint64_t size = text.size();
  if (llvm::Error error =
          share(root, {reinterpret_cast<uint8_t *>(&size), sizeof(size)}))
    return std::move(error);
  std::string shared = isOwn(root) ? text.str() : std::string(size, '\0');
  if (llvm::Error error =
          share(root, {reinterpret_cast<uint8_t *>(shared.data()), size}))
    return std::move(error);
  return shared;
}

llvm::Error StepRanks::agree(llvm::Error own) const {
  if (numRanks == 1)
    return own;
  const std::string text = own ? llvm::toString(std::move(own)) : std::string();
  std::string first;
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    auto shared = shareText(rank, text);
    if (!shared)
      return shared.takeError();
    if (first.empty() && !shared->empty())
      first = "rank " + std::to_string(rank) + ": " + *shared;
  }
  return toError(first);
}

llvm::Error StepRanks::expectSame(llvm::ArrayRef<ranks::Fact> values) const {
  std::string different;
  for (const auto &[name, value] : values) {
    auto expected = shareText(0, value);
    if (!expected)
      return expected.takeError();
    if (different.empty() && *expected != value)
      different =
          name + " is " + value + ", but " + *expected + " on the first rank";
  }
  return agree(toError(different));
}

} // namespace mf::step
