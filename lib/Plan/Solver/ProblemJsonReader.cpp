//===- ProblemJsonReader.cpp - Reads problems from files ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Pipeline/Policy.h"
#include "mf/Plan/Solver/Problem.h"
#include "mf/Plan/Solver/ProblemJson.h"
#include "mf/Support/NearestName.h"
#include "mf/Support/NumberText.h"
#include "mf/Support/StrictJson.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

namespace mf::solver {

//===----------------------------------------------------------------------===//
// Values of a file
//===----------------------------------------------------------------------===//

namespace {

/// The first error that was found in a file.
class Complaint {
public:
  /// Adds a problem. `place` is a path such as `layers[1].forward`, or empty
  /// for the whole file.
  void add(const Twine &place, const Twine &problem) {
    if (!isThere())
      text = ("at " + place + ": " + problem).str();
  }
  bool isThere() const { return !text.empty(); }
  const std::string &getText() const { return text; }

private:
  std::string text;
};

/// A value and its path in the file.
struct JsonPlace {
  const llvm::json::Value *value = nullptr;
  std::string path;

  /// Returns the value in the form of messages: `"text"`, `[...]`, `{...}`,
  /// `1.5`.
  std::string describe() const {
    switch (value->kind()) {
    case llvm::json::Value::Null:
      return "null";
    case llvm::json::Value::Boolean:
      return *value->getAsBoolean() ? "true" : "false";
    case llvm::json::Value::Number:
      return formatAmount(*value->getAsNumber());
    case llvm::json::Value::String:
      return ("\"" + value->getAsString()->take_front(40) + "\"").str();
    case llvm::json::Value::Array:
      return "a list";
    case llvm::json::Value::Object:
      return "an object";
    }
    llvm_unreachable("covers all kinds");
  }
};

/// The range of numbers that a value may have.
struct FieldRange {
  double least = 0;
  /// The limit keeps sums over all tasks of all layers far from the limits of
  /// doubles, and differences between them large enough for ticks.
  double most = 1e18;
};

/// The range of ratios between two numbers.
constexpr FieldRange ratioRange = {0, 1e6};

/// Describes a range. The upper end is only mentioned if a number is beyond it.
std::string describeRange(double least, double most, bool isBeyond = false) {
  std::string text = "from " + formatAmount(least);
  if (isBeyond || most < FieldRange().most)
    text += " to " + formatAmount(most);
  return text;
}

} // namespace

/// Read one value. They report a problem and return nothing if it is not valid.
static std::optional<double>
readNumber(const JsonPlace &place, FieldRange range, Complaint &complaint) {
  std::optional<double> number = place.value->getAsNumber();
  if (number && std::isfinite(*number) && *number >= range.least &&
      *number <= range.most)
    return number;
  complaint.add(place.path,
                "found " + place.describe() + ", expected a number " +
                    describeRange(range.least, range.most,
                                  number && std::abs(*number) > range.most));
  return std::nullopt;
}

static std::optional<int64_t> readInteger(const JsonPlace &place, int64_t least,
                                          int64_t most, Complaint &complaint) {
  std::optional<int64_t> number = place.value->getAsInteger();
  if (number && *number >= least && *number <= most)
    return number;
  complaint.add(place.path, "found " + place.describe() +
                                ", expected a whole number " +
                                describeRange(static_cast<double>(least),
                                              static_cast<double>(most)));
  return std::nullopt;
}

static std::optional<std::string> readText(const JsonPlace &place,
                                           Complaint &complaint) {
  if (std::optional<StringRef> text = place.value->getAsString())
    return text->str();
  complaint.add(place.path,
                "found " + place.describe() + ", expected text in quotes");
  return std::nullopt;
}

namespace {

/// Reads an object by the names of its members. Members that were never
/// requested are reported by finish(). If a member is invalid, the default is
/// used.
class JsonObject {
public:
  JsonObject(JsonPlace where, Complaint &complaint)
      : place(std::move(where)), object(place.value->getAsObject()),
        complaint(complaint) {
    if (!object)
      complaint.add(place.path.empty() ? "the top" : place.path,
                    "found " + place.describe() + ", expected an object");
  }

  /// Returns a member that may be missing.
  std::optional<JsonPlace> find(StringRef name) {
    known.push_back(name.str());
    const llvm::json::Value *value = object ? object->get(name) : nullptr;
    if (!value)
      return std::nullopt;
    return JsonPlace{value, getPath(name)};
  }

  /// Returns a member that must exist. If it does not, reports that `expected`
  /// was expected.
  std::optional<JsonPlace> demand(StringRef name, const Twine &expected) {
    std::optional<JsonPlace> member = find(name);
    // If the name of a member may be misspelt, that is reported instead.
    if (!member && object) {
      std::string others;
      for (StringRef other : getNames())
        if (!llvm::is_contained(known, other) &&
            !suggestName(other, llvm::ArrayRef(name)).empty())
          others = ("; is '" + other + "' meant to be it?").str();
      complaint.add(place.path.empty() ? "the top" : place.path,
                    "'" + name + "' is missing, expected " + expected + others);
    }
    return member;
  }

  double getNumber(StringRef name, double otherwise, FieldRange range = {}) {
    return findNumber(name, range).value_or(otherwise);
  }
  std::optional<double> findNumber(StringRef name, FieldRange range = {}) {
    std::optional<JsonPlace> member = find(name);
    return member ? readNumber(*member, range, complaint) : std::nullopt;
  }
  double demandNumber(StringRef name, FieldRange range = {}) {
    std::optional<JsonPlace> member =
        demand(name, "a number " + describeRange(range.least, range.most));
    return member ? readNumber(*member, range, complaint).value_or(range.least)
                  : range.least;
  }

  int64_t getInteger(StringRef name, int64_t otherwise, int64_t least,
                     int64_t most) {
    std::optional<JsonPlace> member = find(name);
    return member ? readInteger(*member, least, most, complaint)
                        .value_or(otherwise)
                  : otherwise;
  }

  /// Returns the product of a number and the ratio called `name`. If it is out
  /// of range, reports `name` and returns 0.
  double getProduct(StringRef name, double ratio, double number) {
    const double product = ratio * number;
    if (product <= FieldRange().most)
      return product;
    complain(name, "makes " + formatAmount(product) + " of " +
                       formatAmount(number) + ", expected at most " +
                       formatAmount(FieldRange().most));
    return 0;
  }

  int64_t demandInteger(StringRef name, int64_t least, int64_t most) {
    std::optional<JsonPlace> member = demand(
        name, "a whole number " + describeRange(static_cast<double>(least),
                                                static_cast<double>(most)));
    return member ? readInteger(*member, least, most, complaint).value_or(least)
                  : least;
  }

  std::string getText(StringRef name, StringRef otherwise) {
    std::optional<JsonPlace> member = find(name);
    return member ? readText(*member, complaint).value_or(otherwise.str())
                  : otherwise.str();
  }

  bool getFlag(StringRef name, bool otherwise) {
    std::optional<JsonPlace> member = find(name);
    if (!member)
      return otherwise;
    if (std::optional<bool> flag = member->value->getAsBoolean())
      return *flag;
    complaint.add(member->path,
                  "found " + member->describe() + ", expected true or false");
    return otherwise;
  }

  /// Reports an error if both members exist.
  void exclude(StringRef first, StringRef second) {
    if (object && object->get(first) && object->get(second))
      complain(second,
               "there is '" + first + "' as well, expected one of the two");
  }
  /// Reports a problem with a member, by its name.
  void complain(StringRef name, const Twine &problem) {
    complaint.add(getPath(name), problem);
  }

  /// Reports members that were never requested.
  void finish() {
    for (StringRef name : getNames())
      if (!llvm::is_contained(known, name)) {
        const std::string suggestion = suggestName(name, known);
        complain(name, "'" + name + "' is not known here" +
                           (suggestion.empty()
                                ? ", expected one of " + llvm::join(known, ", ")
                                : suggestion));
      }
  }

  const std::string &getPath() const { return place.path; }
  std::string getPath(StringRef name) const {
    return place.path.empty() ? name.str() : (place.path + "." + name).str();
  }

  /// Returns the names of all members, in alphabetical order.
  std::vector<llvm::StringRef> getNames() const {
    std::vector<StringRef> names;
    if (object)
      for (const auto &member : *object)
        names.push_back(member.first);
    llvm::sort(names);
    return names;
  }

private:
  JsonPlace place;
  const llvm::json::Object *object = nullptr;
  Complaint &complaint;
  std::vector<std::string> known;
};

} // namespace

/// Reads the elements of a list. If it is not a list, reports that `expected`
/// was expected and returns nothing.
static std::optional<std::vector<JsonPlace>>
readList(const JsonPlace &place, const Twine &expected, Complaint &complaint) {
  const llvm::json::Array *list = place.value->getAsArray();
  if (!list) {
    complaint.add(place.path,
                  "found " + place.describe() + ", expected " + expected);
    return std::nullopt;
  }
  std::vector<JsonPlace> elements;
  for (auto [index, element] : llvm::enumerate(*list))
    elements.push_back(
        {&element, (place.path + "[" + Twine(index) + "]").str()});
  return elements;
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

namespace {

/// The ratio of backward to forward, if a file does not give the time of
/// backward.
constexpr double usualBackwardRatio = 2;
/// The share of a backward that its weight gradient takes, if backwards are
/// split.
constexpr double usualWeightGradientRatio = 0.5;

struct LayerTaskTimes {
  double forward = 0, backward = 0, weightGradient = 0;
};

class LayerReader {
public:
  LayerReader(Problem &problem, Complaint &complaint)
      : problem(problem), splits(problem.schedule.splitsBackward),
        complaint(complaint) {}

  void readKinds(const JsonPlace &place) {
    auto list = readList(place, "a list of kinds of layers", complaint);
    if (!list)
      return;
    if (list->empty())
      complaint.add(place.path,
                    "the list is empty, expected one kind of layers at least");
    for (const JsonPlace &element : *list) {
      LayerKind kind = readKind(element);
      problem.kinds.push_back(std::move(kind));
      if (complaint.isThere())
        return;
    }
  }

  void readExtras(const JsonPlace &place) {
    auto list =
        readList(place, "a list of what chunks have beside layers", complaint);
    if (list)
      for (const JsonPlace &element : *list)
        readExtra(element, std::nullopt);
  }

  /// Reads the extra costs of a chunk, or of the chunk that the object names.
  void readExtra(const JsonPlace &place, std::optional<int64_t> chunk) {
    JsonObject object(place, complaint);
    const int64_t chunks = problem.schedule.pipeline.getNumChunks();
    ChunkExtra extra;
    extra.chunk = chunk ? *chunk : object.demandInteger("chunk", 0, chunks - 1);
    const LayerTaskTimes times =
        readTimes(object, object.getNumber("forward", 0));
    extra.forward = times.forward;
    extra.backward = times.backward;
    extra.weightGradient = times.weightGradient;
    extra.parameterMemory = object.getNumber("block_mem_par", 0);
    extra.activationMemory = object.getNumber("block_mem_act", 0);
    extra.transientMemory = object.getNumber("transient_mem", 0);
    extra.updateTime = object.getNumber("update_time", 0);
    object.finish();
    problem.extras.push_back(extra);
  }

private:
  LayerTaskTimes readTimes(JsonObject &object, double forward) const {
    LayerTaskTimes times;
    times.forward = forward;
    object.exclude("backward", "backward_ratio");
    const double ratio =
        object.getNumber("backward_ratio", usualBackwardRatio, ratioRange);
    times.backward = object.getNumber(
        "backward", object.getProduct("backward_ratio", ratio, forward));
    object.exclude("weight_gradient", "weight_gradient_ratio");
    const double share = object.getNumber(
        "weight_gradient_ratio", splits ? usualWeightGradientRatio : 0, {0, 1});
    times.weightGradient =
        object.getNumber("weight_gradient", times.backward * share);
    return times;
  }

  LayerKind readKind(const JsonPlace &place) {
    JsonObject object(place, complaint);
    LayerKind kind;
    kind.name = object.getText("name", problem.kinds.empty() ? "layer" : "");
    if (kind.name.empty())
      complaint.add(place.path, "'name' is missing, expected a name by which "
                                "to tell the kind from others");
    for (const LayerKind &before : problem.kinds)
      if (before.name == kind.name)
        complaint.add(place.path, "there are two kinds '" + kind.name +
                                      "', expected different names");
    kind.count = object.demandInteger("count", 0, mostLayers);
    kind.parameterMemory = object.getNumber("block_mem_par", 0);
    kind.updateTime = object.getNumber("update_time", 0);

    Treatment usual;
    usual.name = "none";
    const LayerTaskTimes times =
        readTimes(object, object.demandNumber("forward"));
    usual.forward = times.forward;
    usual.backward = times.backward;
    usual.weightGradient = times.weightGradient;
    usual.activationMemory = object.getNumber("block_mem_act", 0);
    usual.transientMemory = object.getNumber("transient_mem", 0);
    std::optional<JsonPlace> member = object.find("treatments");
    if (!member) {
      kind.treatments.push_back(usual);
      checkTreatments(place, kind);
    } else if (auto list =
                   readList(*member, "a list of treatments", complaint)) {
      if (list->empty())
        complaint.add(member->path,
                      "the list is empty, expected one treatment at least");
      for (const JsonPlace &element : *list)
        kind.treatments.push_back(readTreatment(element, usual));
      checkTreatments(*member, kind);
    }
    object.finish();
    return kind;
  }

  Treatment readTreatment(const JsonPlace &place, const Treatment &usual) {
    JsonObject object(place, complaint);
    Treatment treatment = usual;
    if (std::optional<JsonPlace> name =
            object.demand("name", "the name of the treatment"))
      treatment.name = readText(*name, complaint).value_or("");
    treatment.forward = object.getNumber("forward", usual.forward);
    readBackward(object, usual, treatment);
    treatment.activationMemory =
        object.getNumber("block_mem_act", usual.activationMemory);
    // Recompute makes the activations that are kept without the treatment.
    treatment.recomputedMemory = object.getNumber(
        "recomputed_mem",
        treatment.recompute > 0
            ? std::max(0.0, usual.activationMemory - treatment.activationMemory)
            : 0);
    treatment.transientMemory =
        object.getNumber("transient_mem", usual.transientMemory);
    treatment.copyOut = object.getNumber("copy_out", 0);
    treatment.copyIn = object.getNumber("copy_in", 0);
    object.finish();
    return treatment;
  }

  void readBackward(JsonObject &object, const Treatment &usual,
                    Treatment &treatment) const {
    object.exclude("backward", "recompute_time");
    object.exclude("backward", "recompute_ratio");
    object.exclude("recompute_time", "recompute_ratio");
    const double ratio = object.getNumber("recompute_ratio", 0, ratioRange);
    const double recompute = object.getNumber(
        "recompute_time",
        object.getProduct("recompute_ratio", ratio, usual.forward));
    treatment.backward =
        object.getNumber("backward", usual.backward + recompute);
    treatment.recompute = object.getNumber("recompute_task", recompute);
    treatment.weightGradient =
        object.getNumber("weight_gradient", usual.weightGradient);
  }

  void checkTreatments(const JsonPlace &place, const LayerKind &kind) {
    for (auto [index, treatment] : llvm::enumerate(kind.treatments))
      for (const Treatment &before :
           llvm::ArrayRef(kind.treatments).take_front(index))
        if (before.name == treatment.name)
          complaint.add(place.path, "there are two treatments '" +
                                        treatment.name +
                                        "', expected different names");
    if (problem.kinds.empty())
      return;
    const LayerKind &first = problem.kinds.front();
    auto getName = [](const Treatment &treatment) { return treatment.name; };
    if (!llvm::equal(llvm::map_range(first.treatments, getName),
                     llvm::map_range(kind.treatments, getName))) {
      std::string names;
      for (const Treatment &treatment : first.treatments)
        names += (names.empty() ? "" : ", ") + treatment.name;
      complaint.add(place.path, "other treatments than those of kind '" +
                                    first.name + "', expected " + names +
                                    " in that order");
    }
  }

  Problem &problem;
  bool splits;
  Complaint &complaint;
};

} // namespace

/// Reads `layers`, `embedding`, `head` and `extras` into a problem that has its
/// schedule.
static void readLayers(JsonObject &top, Problem &problem,
                       Complaint &complaint) {
  LayerReader reader(problem, complaint);
  if (std::optional<JsonPlace> layers =
          top.demand("layers", "a list of kinds of layers"))
    reader.readKinds(*layers);
  if (std::optional<JsonPlace> embedding = top.find("embedding"))
    reader.readExtra(*embedding, 0);
  if (std::optional<JsonPlace> head = top.find("head"))
    reader.readExtra(*head, problem.schedule.pipeline.getNumChunks() - 1);
  if (std::optional<JsonPlace> extras = top.find("extras"))
    reader.readExtras(*extras);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {

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
  std::vector<int64_t> read(const JsonPlace &place, int64_t least) const {
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
      complaint.add(place.path,
                    "found a list of " + Twine(array->size()) +
                        ", expected a list over the stages for each of the " +
                        Twine(getNumRows()) + " rows of chunks");
      return numbers;
    }
    const auto rows = readList(place, "a table", complaint);
    for (auto [row, element] : llvm::enumerate(*rows))
      readRow(element, row, least, numbers);
    return numbers;
  }

private:
  void readRow(const JsonPlace &place, size_t row, int64_t least,
               std::vector<int64_t> &numbers) const {
    const std::string expected = "a list of " + llvm::utostr(chunks.size()) +
                                 " numbers, one for each stage";
    auto list = readList(place, expected, complaint);
    if (!list)
      return;
    if (list->size() != chunks.size())
      return complaint.add(place.path, "found a list of " +
                                           Twine(list->size()) + ", expected " +
                                           expected);
    for (auto [stage, element] : llvm::enumerate(*list))
      numbers[chunks[stage][row]] =
          readInteger(element, least, mostLayers, complaint).value_or(0);
  }

  size_t getNumRows() const { return chunks.front().size(); }

  const schedule::Pipeline &pipeline;
  std::vector<std::vector<int32_t>> chunks;
  Complaint &complaint;
};

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

class ChoiceReader {
public:
  ChoiceReader(Problem &problem, Complaint &complaint)
      : problem(problem), complaint(complaint) {}

  void readKeep(const JsonPlace &place) {
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
      std::optional<size_t> treatment = findTreatment(
          name, object.getPath(name), {"offset", "num_layer_list"});
      if (!treatment)
        return;
      problem.fixedTreatments.resize(problem.getNumTreatments());
      problem.fixedTreatments[*treatment] = tables.read(*object.find(name), 0);
    }
  }

  void readExclusive(const JsonPlace &place) {
    const char *expected = "a list of pairs of treatments";
    auto pairs = readList(place, expected, complaint);
    if (!pairs)
      return;
    for (const JsonPlace &pair : *pairs) {
      auto names = readList(pair, "the names of two treatments", complaint);
      if (!names)
        return;
      if (names->size() != 2)
        return complaint.add(pair.path,
                             "found " + Twine(names->size()) +
                                 " names, expected those of two treatments");
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

  void readForbidden(const JsonPlace &place) {
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

private:
  /// Reads differences from an equal number of layers in every chunk.
  void readOffset(const JsonPlace &place) {
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
      complaint.add(place.path,
                    "offsets add up to " + Twine(sum) + ", expected " +
                        Twine(over) + ": " + Twine(layers) + " layers are " +
                        Twine(each) + " for each of " + Twine(chunks) +
                        " chunks, and " + Twine(over) + " more");
  }

  std::optional<size_t> findTreatment(StringRef name, const Twine &path,
                                      std::vector<StringRef> others = {}) {
    const std::vector<Treatment> &treatments = problem.kinds.front().treatments;
    for (auto [index, treatment] : llvm::enumerate(treatments)) {
      if (treatment.name == name)
        return index;
      others.push_back(treatment.name);
    }
    const std::string suggestion = suggestName(name, others);
    complaint.add(path, "there is no treatment '" + name + "'" +
                            (suggestion.empty() ? ", expected one of " +
                                                      llvm::join(others, ", ")
                                                : suggestion));
    return std::nullopt;
  }

  ChunkPlan readChunk(const JsonPlace &place) {
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

  void readCounts(const JsonPlace &place, std::vector<int64_t> &counts) {
    JsonObject object(place, complaint);
    for (StringRef name : object.getNames())
      if (std::optional<size_t> treatment =
              findTreatment(name, object.getPath(name)))
        counts[*treatment] = object.getInteger(name, 0, 0, mostLayers);
  }

  Problem &problem;
  Complaint &complaint;
};

} // namespace

/// Reads `memory_limit` and `constant_mem` into a problem that has its
/// schedule.
static void readMemory(JsonObject &top, Problem &problem,
                       Complaint &complaint) {
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

/// Reads the choices into a problem that already has its layers.
static void readChoices(JsonObject &top, Problem &problem,
                        Complaint &complaint) {
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

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

namespace {

constexpr unsigned maximumDepth = 16;
constexpr int64_t mostStages = 1 << 12;
/// More tasks than this are probably a mistake, and would take gigabytes.
constexpr int64_t mostTasks = 1 << 22;

const schedule::Policy *readPolicy(JsonObject &top, int64_t chunksPerStage,
                                   int64_t pieces, Complaint &complaint) {
  const char *usual = pieces > 1 ? "seq1f1b" : "1f1b";
  const char *interleaved = pieces > 1 ? "seq1f1b-interleaved" : "interleaved";
  const std::string name =
      top.getText("schedule", chunksPerStage > 1 ? interleaved : usual);
  std::vector<StringRef> names;
  for (const schedule::Policy *policy : schedule::getPolicies()) {
    if (policy->getName() == name)
      return policy;
    names.push_back(policy->getName());
  }
  const std::string suggestion = suggestName(name, names);
  top.complain("schedule", "there is no schedule '" + name + "'" +
                               (suggestion.empty() ? ", expected one of " +
                                                         llvm::join(names, ", ")
                                                   : suggestion));
  return nullptr;
}

/// Reads the schedule. Reports an unknown schedule and returns false.
bool readSchedule(JsonObject &top, schedule::Schedule &schedule,
                  Complaint &complaint) {
  const int64_t stages = top.demandInteger("pipeline_stage", 1, mostStages);
  const int64_t chunks =
      top.getInteger("pp_interleave_num", 1, 1, mostTasks / stages);
  const int64_t microBatches = top.demandInteger("micro_num", 1, mostTasks);
  const int64_t pieces = top.getInteger("seq_split_num", 1, 1, mostTasks);
  const schedule::Policy *policy = readPolicy(top, chunks, pieces, complaint);
  if (complaint.isThere() || !policy)
    return false;
  // The product of whole numbers might overflow.
  double tasks = 3;
  for (const int64_t number : {stages, chunks, microBatches, pieces})
    tasks *= static_cast<double>(number);
  if (tasks > mostTasks) {
    top.complain("micro_num", "stages, chunks, micro-batches and pieces make "
                              "more tasks than " +
                                  Twine(mostTasks) + ", expected fewer");
    return false;
  }
  schedule::Pipeline pipeline =
      policy->place(stages, chunks, microBatches, pieces);
  const bool hasTasks = top.getFlag("recompute_tasks", false);
  if (hasTasks || policy->separatesRecompute())
    policy->chooseRecompute(pipeline);
  Expected<schedule::Schedule> built = buildSchedule(*policy, pipeline);
  if (!built) {
    top.complain("schedule", toString(built.takeError()));
    return false;
  }
  schedule = std::move(*built);
  return true;
}

/// Reads members that are only for people.
void readRemarks(JsonObject &top, Complaint &complaint) {
  top.getText("source", "");
  top.getText("note", "");
  if (std::optional<JsonPlace> units = top.find("units")) {
    JsonObject object(*units, complaint);
    object.getText("time", "");
    object.getText("memory", "");
    object.finish();
  }
}

Problem readObject(const llvm::json::Value &value, StringRef name,
                   Complaint &complaint) {
  Problem problem;
  JsonObject top({&value, ""}, complaint);
  problem.name = top.getText("name", name);
  readRemarks(top, complaint);
  if (complaint.isThere() || !readSchedule(top, problem.schedule, complaint))
    return problem;
  problem.transferTime = top.getNumber("comm_time", 0);
  problem.pairHidden = top.getNumber("pair_hidden", 0);
  readLayers(top, problem, complaint);
  readMemory(top, problem, complaint);
  if (!complaint.isThere())
    readChoices(top, problem, complaint);
  top.finish();
  return problem;
}

} // namespace

Expected<Problem> readProblem(StringRef json, StringRef name) {
  Expected<llvm::json::Value> value = parseStrictJson(json, maximumDepth);
  if (!value)
    return llvm::createStringError(name + ": " + toString(value.takeError()));
  Complaint complaint;
  Problem problem = readObject(*value, name, complaint);
  if (complaint.isThere())
    return llvm::createStringError(name + ": " + complaint.getText());
  if (Error error = problem.check())
    return llvm::createStringError(name + ": " + toString(std::move(error)));
  return problem;
}

} // namespace mf::solver
