//===- ProblemJsonChoices.cpp - Limits and choices in files ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ProblemJsonParts.h"
#include "mf/Support/NearestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using llvm::StringRef;
using llvm::Twine;

namespace mf::solver {

namespace {

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Reads numbers for the first, the middle and the last stages.
std::vector<double> readByPlace(const JsonPlace &place, size_t stages,
                                FieldRange range, Complaint &complaint) {
  JsonObject object(place, complaint);
  const double first = object.demandNumber("first", range);
  const double middle = object.demandNumber("middle", range);
  const double last = object.demandNumber("last", range);
  object.finish();
  std::vector<double> numbers(stages, middle);
  numbers.front() = first;
  numbers.back() = stages == 1 ? std::min(first, last) : last;
  return numbers;
}

/// Reads a number for each stage from a single number for all, a list, or an
/// object.
std::vector<double> readByStage(const JsonPlace &place, size_t stages,
                                FieldRange range, Complaint &complaint) {
  if (place.value->getAsObject())
    return readByPlace(place, stages, range, complaint);
  if (!place.value->getAsArray())
    return std::vector<double>(stages,
                               readNumber(place, range, complaint).value_or(0));
  const auto list = readList(place, "a list", complaint);
  std::vector<double> numbers;
  for (const JsonPlace &element : *list)
    numbers.push_back(readNumber(element, range, complaint).value_or(0));
  if (numbers.size() == stages)
    return numbers;
  complaint.add(place.path, "found a list of " + Twine(numbers.size()) +
                                ", expected a number for each of the " +
                                Twine(stages) + " stages");
  return std::vector<double>(stages, 0);
}

//===----------------------------------------------------------------------===//
// Tables by row of chunks and stage
//===----------------------------------------------------------------------===//

class TableReader {
public:
  TableReader(const schedule::Pipeline &pipeline, Complaint &complaint)
      : pipeline(pipeline), chunks(pipeline.getChunksOfStages()),
        complaint(complaint) {}

  /// Reads a number for each chunk, in the order of execution, from a single
  /// number for all, a list over the stages, or such a list for every row of
  /// chunks.
  std::vector<int64_t> read(const JsonPlace &place, int64_t least) const;

private:
  void readRow(const JsonPlace &place, size_t row, int64_t least,
               std::vector<int64_t> &numbers) const;
  size_t getNumRows() const { return chunks.front().size(); }

  const schedule::Pipeline &pipeline;
  std::vector<std::vector<int32_t>> chunks;
  Complaint &complaint;
};

void TableReader::readRow(const JsonPlace &place, size_t row, int64_t least,
                          std::vector<int64_t> &numbers) const {
  const std::string expected = "a list of " + llvm::utostr(chunks.size()) +
                               " numbers, one for each stage";
  auto list = readList(place, expected, complaint);
  if (!list)
    return;
  if (list->size() != chunks.size())
    return complaint.add(place.path, "found a list of " + Twine(list->size()) +
                                         ", expected " + expected);
  for (auto [stage, element] : llvm::enumerate(*list))
    numbers[chunks[stage][row]] =
        readInteger(element, least, mostLayers, complaint).value_or(0);
}

std::vector<int64_t> TableReader::read(const JsonPlace &place,
                                       int64_t least) const {
  std::vector<int64_t> numbers(pipeline.getNumChunks(), 0);
  const llvm::json::Array *array = place.value->getAsArray();
  if (!array) {
    const int64_t all =
        readInteger(place, least, mostLayers, complaint).value_or(0);
    numbers.assign(numbers.size(), all);
    return numbers;
  }
  const bool isOneRow =
      !array->empty() && !array->front().getAsArray() && getNumRows() == 1;
  if (isOneRow) {
    readRow(place, 0, least, numbers);
    return numbers;
  }
  if (array->size() != getNumRows()) {
    complaint.add(place.path, "found a list of " + Twine(array->size()) +
                                  ", expected a list over the stages for "
                                  "each of the " +
                                  Twine(getNumRows()) + " rows of chunks");
    return numbers;
  }
  const auto rows = readList(place, "a table", complaint);
  for (auto [row, element] : llvm::enumerate(*rows))
    readRow(element, row, least, numbers);
  return numbers;
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

class ChoiceReader {
public:
  ChoiceReader(Problem &problem, Complaint &complaint)
      : problem(problem), complaint(complaint) {}

  void readKeep(const JsonPlace &place);
  void readExclusive(const JsonPlace &place);
  void readForbidden(const JsonPlace &place);

private:
  void readOffset(const JsonPlace &place);
  std::optional<size_t> findTreatment(StringRef name, const Twine &path,
                                      std::vector<StringRef> others = {});
  ChunkPlan readChunk(const JsonPlace &place);
  void readCounts(const JsonPlace &place, std::vector<int64_t> &counts);

  Problem &problem;
  Complaint &complaint;
};

std::optional<size_t>
ChoiceReader::findTreatment(StringRef name, const Twine &path,
                            std::vector<StringRef> others) {
  const std::vector<Treatment> &treatments = problem.kinds.front().treatments;
  for (auto [index, treatment] : llvm::enumerate(treatments)) {
    if (treatment.name == name)
      return index;
    others.push_back(treatment.name);
  }
  const std::string suggestion = suggestName(name, others);
  complaint.add(path, "there is no treatment '" + name + "'" +
                          (suggestion.empty()
                               ? ", expected one of " + llvm::join(others, ", ")
                               : suggestion));
  return std::nullopt;
}

/// Reads differences from an equal number of layers in every chunk.
void ChoiceReader::readOffset(const JsonPlace &place) {
  const int64_t layers = problem.getNumLayers();
  const int64_t chunks = problem.schedule.pipeline.getNumChunks();
  const int64_t each = layers / chunks, over = layers % chunks;
  problem.fixedLayers =
      TableReader(problem.schedule.pipeline, complaint).read(place, -each);
  int64_t sum = 0;
  for (int64_t &number : problem.fixedLayers) {
    sum += number;
    number += each;
  }
  if (sum != over)
    complaint.add(place.path, "offsets add up to " + Twine(sum) +
                                  ", expected " + Twine(over) + ": " +
                                  Twine(layers) + " layers are " + Twine(each) +
                                  " for each of " + Twine(chunks) +
                                  " chunks, and " + Twine(over) + " more");
}

void ChoiceReader::readKeep(const JsonPlace &place) {
  JsonObject object(place, complaint);
  object.exclude("offset", "num_layer_list");
  TableReader tables(problem.schedule.pipeline, complaint);
  if (std::optional<JsonPlace> offset = object.find("offset"))
    readOffset(*offset);
  if (std::optional<JsonPlace> layers = object.find("num_layer_list"))
    problem.fixedLayers = tables.read(*layers, 0);
  for (StringRef name : object.getNames()) {
    if (name == "offset" || name == "num_layer_list")
      continue;
    std::optional<size_t> treatment =
        findTreatment(name, object.getPath(name), {"offset", "num_layer_list"});
    if (!treatment)
      return;
    problem.fixedTreatments.resize(problem.getNumTreatments());
    problem.fixedTreatments[*treatment] = tables.read(*object.find(name), 0);
  }
}

void ChoiceReader::readExclusive(const JsonPlace &place) {
  const char *expected = "a list of pairs of treatments";
  auto pairs = readList(place, expected, complaint);
  if (!pairs)
    return;
  for (const JsonPlace &pair : *pairs) {
    auto names = readList(pair, "the names of two treatments", complaint);
    if (!names)
      return;
    if (names->size() != 2)
      return complaint.add(pair.path, "found " + Twine(names->size()) +
                                          " names, expected those of two "
                                          "treatments");
    std::vector<size_t> numbers;
    for (const JsonPlace &element : *names) {
      std::optional<std::string> name = readText(element, complaint);
      std::optional<size_t> number =
          name ? findTreatment(*name, element.path) : std::nullopt;
      if (!number)
        return;
      numbers.push_back(*number);
    }
    problem.exclusive.emplace_back(numbers[0], numbers[1]);
  }
}

void ChoiceReader::readCounts(const JsonPlace &place,
                              std::vector<int64_t> &counts) {
  JsonObject object(place, complaint);
  for (StringRef name : object.getNames())
    if (std::optional<size_t> treatment =
            findTreatment(name, object.getPath(name)))
      counts[*treatment] = object.getInteger(name, 0, 0, mostLayers);
}

ChunkPlan ChoiceReader::readChunk(const JsonPlace &place) {
  JsonObject object(place, complaint);
  ChunkPlan chunk;
  for (const LayerKind &kind : problem.kinds) {
    std::vector<int64_t> &counts =
        chunk.counts.emplace_back(problem.getNumTreatments(), 0);
    if (std::optional<JsonPlace> member = object.find(kind.name))
      readCounts(*member, counts);
  }
  object.finish();
  return chunk;
}

void ChoiceReader::readForbidden(const JsonPlace &place) {
  auto list = readList(place, "a list of what is forbidden", complaint);
  if (!list)
    return;
  const auto chunks = problem.schedule.pipeline.getChunksOfStages();
  for (const JsonPlace &element : *list) {
    JsonObject object(element, complaint);
    ForbiddenStage forbidden;
    forbidden.stage = object.demandInteger(
        "stage", 0, static_cast<int64_t>(chunks.size() - 1));
    std::optional<JsonPlace> member =
        object.demand("chunks", "a list with the chunks of the stage");
    auto plans = member ? readList(*member, "a list of chunks", complaint)
                        : std::nullopt;
    object.finish();
    if (!plans)
      return;
    if (plans->size() != chunks[forbidden.stage].size())
      complaint.add(member->path, "found " + Twine(plans->size()) +
                                      " chunks, expected the " +
                                      Twine(chunks[forbidden.stage].size()) +
                                      " of the stage");
    for (const JsonPlace &plan : *plans)
      forbidden.chunks.push_back(readChunk(plan));
    problem.forbidden.push_back(std::move(forbidden));
  }
}

} // namespace

void readMemory(JsonObject &top, Problem &problem, Complaint &complaint) {
  const size_t stages = problem.schedule.pipeline.stages;
  constexpr double most = FieldRange().most;
  problem.stages.resize(stages);
  if (std::optional<JsonPlace> limit =
          top.demand("memory_limit", "a number, a list over the stages, or an "
                                     "object with first, middle and last"))
    for (auto [stage, number] :
         llvm::zip(problem.stages, readByStage(*limit, stages, {}, complaint)))
      stage.limit = number;
  if (std::optional<JsonPlace> constant = top.find("constant_mem"))
    for (auto [stage, number] :
         llvm::zip(problem.stages,
                   readByStage(*constant, stages, {-most, most}, complaint)))
      stage.constant = number;
}

void readChoices(JsonObject &top, Problem &problem, Complaint &complaint) {
  ChoiceReader reader(problem, complaint);
  if (std::optional<JsonPlace> keep = top.find("keep"))
    reader.readKeep(*keep);
  if (std::optional<JsonPlace> exclusive = top.find("exclusive"))
    reader.readExclusive(*exclusive);
  if (std::optional<JsonPlace> forbidden = top.find("forbidden"))
    reader.readForbidden(*forbidden);
  problem.treatmentsInOrder = top.getFlag("treatments_in_order", false);
  problem.numFollowers =
      static_cast<size_t>(top.getInteger("followers", 0, 0, mostLayers));
  // A chunk without layers must be requested explicitly.
  int64_t least = 1;
  for (int64_t layers : problem.fixedLayers)
    least = std::min(least, layers);
  problem.minLayersPerChunk =
      top.getInteger("min_layers", least, 0, mostLayers);
  problem.maxLayersPerChunk = top.getInteger("max_layers", 0, 0, mostLayers);
}

} // namespace mf::solver
