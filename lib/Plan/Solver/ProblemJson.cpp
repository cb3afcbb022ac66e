//===- ProblemJson.cpp - Reads problems from files ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Plan/Solver/ProblemJson.h"
#include "ProblemJsonParts.h"
#include "mf/Pipeline/Policy.h"
#include "mf/Support/NearestName.h"
#include "mf/Support/StrictJson.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

namespace mf::solver {

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
