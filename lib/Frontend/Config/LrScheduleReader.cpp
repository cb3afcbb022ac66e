//===- LrScheduleReader.cpp - Section lr_schedule -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SectionReader.h"

namespace mf {

/// Reads the keys of one schedule.
static LrScheduleSection readSchedule(SectionReader &reader) {
  // The records of keys name members of the whole configuration.
  TrainingConfig training;
  LrScheduleSection &config = training.lrSchedule;
  config.node = reader.getNode();
  // The annealing schedules call it base_lr.
  if (!reader.get("learning_rate"))
    config.learningRate = reader.readFloat("base_lr", config.learningRate,
                                           known::notNegative.value);
  reader.readAll(training);
  return config;
}

static LrScheduleSection readLrSchedule(const Node &root,
                                        DiagnosticList &diagnostics) {
  SectionReader reader(root, "lr_schedule", lrScheduleSection, diagnostics);
  if (reader.isPresent())
    return readSchedule(reader);
  // The template of the whole section.
  LrScheduleSection config;
  config.node = reader.getNode();
  config.lrEnd = 0.0;
  config.warmupRatio = 0.0;
  return config;
}

/// Reads an item of `grouped`. Its `params` is not a key of a schedule.
static LrGroup readGroup(const Node &item, DiagnosticList &diagnostics) {
  LrGroup group;
  const Node params = item["params"];
  group.patterns = params.getElements();
  if (group.patterns.empty())
    diagnostics.error(
        (params ? params : item).getLocation(),
        "expected params of an item of grouped_lr_schedule to be "
        "a list of names or wildcards, [..]" +
            (params ? ", but got " + params.repr(60) : std::string()));
  for (const Node &pattern : group.patterns)
    if (!pattern.isString() || pattern.getText().empty())
      diagnostics.error(pattern.getLocation(),
                        "expected a name or a wildcard in params of "
                        "grouped_lr_schedule, but got " +
                            pattern.repr(60));
  SectionReader reader(item, lrGroupSection, diagnostics);
  group.schedule = readSchedule(reader);
  return group;
}

void readLrSchedules(const Node &root, TrainingConfig &config,
                     DiagnosticList &diagnostics) {
  SectionReader grouped(root, "grouped_lr_schedule", groupedLrSection,
                        diagnostics);
  if (!grouped.isPresent()) {
    config.lrSchedule = readLrSchedule(root, diagnostics);
    return;
  }
  SectionReader standard(grouped.getNode(), "default", lrScheduleSection,
                         diagnostics);
  if (!standard.isPresent())
    diagnostics.error(grouped.getNode().getLocation(),
                      "expected grouped_lr_schedule to have a 'default', the "
                      "schedule of parameters that no item of 'grouped' names");
  config.lrSchedule = readSchedule(standard);
  const Node items = grouped.get("grouped");
  if (!items.isUndefinedOrNull() && !items.isList())
    grouped.rejectValue("grouped", items, "a list of schedules with params");
  for (const Node &item : items.getElements()) {
    if (item.isMap())
      config.lrGroups.push_back(readGroup(item, diagnostics));
    else
      diagnostics.error(item.getLocation(),
                        "expected a schedule with params in grouped of "
                        "grouped_lr_schedule, but got " +
                            item.repr(60));
  }
}

} // namespace mf
