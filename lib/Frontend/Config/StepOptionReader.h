//===- StepOptionReader.h - Wrapper, optimizer and lr schedule --*- C++ -*-===//

#ifndef MF_LIB_CONFIG_STEPOPTIONREADER_H
#define MF_LIB_CONFIG_STEPOPTIONREADER_H

#include "mf/Frontend/Config/TrainingConfig.h"

namespace mf {

/// These sections take the template's defaults only when absent as a whole;
/// keys missing from a present one take those of the class it names.
void readRunnerWrapper(const Node &root, TrainingConfig &config,
                       DiagnosticList &diagnostics);
void readOptimizer(const Node &root, TrainingConfig &config,
                   DiagnosticList &diagnostics);
/// Reads lr_schedule, or grouped_lr_schedule where it is given.
void readLrSchedules(const Node &root, TrainingConfig &config,
                     DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LIB_CONFIG_STEPOPTIONREADER_H
