//===- ProblemJsonParts.h - Parts of the file of a problem ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PLAN_SOLVER_PROBLEMJSONPARTS_H
#define MF_LIB_PLAN_SOLVER_PROBLEMJSONPARTS_H

#include "mf/Plan/Solver/Problem.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>
#include <vector>

namespace mf::solver {

/// The first error that was found in a file.
class Complaint {
public:
  /// Adds a problem. `place` is a path such as `layers[1].forward`, or empty
  /// for the whole file.
  void add(const llvm::Twine &place, const llvm::Twine &problem);
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
  std::string describe() const;
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

/// Read one value. They report a problem and return nothing if it is not valid.
std::optional<double> readNumber(const JsonPlace &place, FieldRange range,
                                 Complaint &complaint);
std::optional<int64_t> readInteger(const JsonPlace &place, int64_t least,
                                   int64_t most, Complaint &complaint);
std::optional<std::string> readText(const JsonPlace &place,
                                    Complaint &complaint);
/// Reads the elements of a list. If it is not a list, reports that `expected`
/// was expected and returns nothing.
std::optional<std::vector<JsonPlace>> readList(const JsonPlace &place,
                                               const llvm::Twine &expected,
                                               Complaint &complaint);

/// Reads an object by the names of its members. Members that were never
/// requested are reported by finish(). If a member is invalid, the default is
/// used.
class JsonObject {
public:
  JsonObject(JsonPlace place, Complaint &complaint);

  /// Returns a member that may be missing.
  std::optional<JsonPlace> find(llvm::StringRef name);
  /// Returns a member that must exist. If it does not, reports that `expected`
  /// was expected.
  std::optional<JsonPlace> demand(llvm::StringRef name,
                                  const llvm::Twine &expected);

  double getNumber(llvm::StringRef name, double otherwise,
                   FieldRange range = {});
  std::optional<double> findNumber(llvm::StringRef name, FieldRange range = {});
  double demandNumber(llvm::StringRef name, FieldRange range = {});
  int64_t getInteger(llvm::StringRef name, int64_t otherwise, int64_t least,
                     int64_t most);
  /// Returns the product of a number and the ratio called `name`. If it is out
  /// of range, reports `name` and returns 0.
  double getProduct(llvm::StringRef name, double ratio, double number);
  int64_t demandInteger(llvm::StringRef name, int64_t least, int64_t most);
  std::string getText(llvm::StringRef name, llvm::StringRef otherwise);
  bool getFlag(llvm::StringRef name, bool otherwise);

  /// Reports an error if both members exist.
  void exclude(llvm::StringRef first, llvm::StringRef second);
  /// Reports a problem with a member, by its name.
  void complain(llvm::StringRef name, const llvm::Twine &problem);
  /// Reports members that were never requested.
  void finish();

  const std::string &getPath() const { return place.path; }
  std::string getPath(llvm::StringRef name) const;
  /// Returns the names of all members, in alphabetical order.
  std::vector<llvm::StringRef> getNames() const;

private:
  JsonPlace place;
  const llvm::json::Object *object = nullptr;
  Complaint &complaint;
  std::vector<std::string> known;
};

/// Reads `layers`, `embedding`, `head` and `extras` into a problem that has its
/// schedule.
void readLayers(JsonObject &top, Problem &problem, Complaint &complaint);

/// Reads `memory_limit` and `constant_mem` into a problem that has its
/// schedule.
void readMemory(JsonObject &top, Problem &problem, Complaint &complaint);

/// Reads the choices into a problem that already has its layers.
void readChoices(JsonObject &top, Problem &problem, Complaint &complaint);

/// Returns numbers of chunks, given in the order of execution: a list over the
/// stages for each row of chunks, or one list if there is one row. All stages
/// have the same number of chunks.
llvm::json::Value writeByChunk(const schedule::Pipeline &pipeline,
                               llvm::ArrayRef<int64_t> numbers);

/// Returns the treatments by name with their numbers of layers, for each kind
/// of a chunk and without treatments that have no layers. The form is that of
/// `forbidden`.
llvm::json::Object writeChunk(const Problem &problem, const ChunkPlan &chunk);

} // namespace mf::solver

#endif // MF_LIB_PLAN_SOLVER_PROBLEMJSONPARTS_H
