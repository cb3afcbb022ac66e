//===- SpeedUpFile.cpp - The file of MindSpore's overlaps -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SpeedUpFile.h"
#include "SectionReader.h"
#include "mf/Frontend/Config/YamlReader.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace mf {

static constexpr StringLiteral overlapKey = "pp_1f1b_overlap";

/// The exchanges beside which MindSpore lets a pair compute.
static constexpr StringLiteral pairExchanges[] = {
    "AlltoAll",  "AlltoAllV",     "MorphAllGather",    "AllReduce",
    "AllGather", "ReduceScatter", "MorphReduceScatter"};

/// Returns the path of the file, or nothing if there is none.
static std::optional<std::string> findFile(const Node &key) {
  const Location location = key.getLocation();
  const StringRef folder = sys::path::parent_path(location.file);
  const StringRef asked = key.getText();
  for (const StringRef name : {asked, sys::path::filename(asked)}) {
    SmallString<128> path(name);
    if (!sys::path::is_absolute(name)) {
      path = folder;
      sys::path::append(path, name);
    }
    if (sys::fs::is_regular_file(path))
      return path.str().str();
  }
  return std::nullopt;
}

/// Returns whether the value names exchanges.
static bool readOverlap(const Node &value, DiagnosticList &diagnostics) {
  const std::string known = join(ArrayRef(pairExchanges), ", ");
  if (!value.isString()) {
    rejectValue(value, "text with names of " + known, diagnostics);
    return false;
  }
  SmallVector<StringRef> names;
  value.getText().split(names, ',', -1, /*KeepEmpty=*/false);
  for (const StringRef name : names)
    if (!is_contained(pairExchanges, name.trim())) {
      rejectValue(value, "names of " + known + ", divided by commas",
                  diagnostics);
      return false;
    }
  return !names.empty();
}

void readSpeedUpFile(const Node &ascend, ParallelConfig &parallel,
                     DiagnosticList &diagnostics) {
  const Node key = ascend["parallel_speed_up_json_path"];
  // Other schedules have no pairs.
  if (!key.isString() || parallel.pipelineScheduler != "zero_bubble_v" ||
      parallel.pipelineStage == 1)
    return;
  const std::optional<std::string> path = findFile(key);
  if (!path) {
    diagnostics.warning(key.getLocation(),
                        "there is no '" + key.getText() +
                            "' in the folder of this file: forwards and "
                            "backwards are not paired, which " +
                            overlapKey +
                            " in it would ask for; put the file there");
    return;
  }
  const Node file = parseYamlFile(*path, diagnostics);
  if (const Node value = file[overlapKey])
    parallel.pairsV = readOverlap(value, diagnostics);
}

} // namespace mf
