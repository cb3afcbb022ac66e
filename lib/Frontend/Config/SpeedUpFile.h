//===- SpeedUpFile.h - The file of MindSpore's overlaps ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_CONFIG_SPEEDUPFILE_H
#define MF_LIB_FRONTEND_CONFIG_SPEEDUPFILE_H

#include "mf/Frontend/Config/TrainingConfig.h"

namespace mf {

/// Reads pp_1f1b_overlap from the JSON file that parallel_speed_up_json_path of
/// `ascend`, the section ascend_config, names: in the folder of the YAML, by
/// its path or by its name alone. Warns if the schedule depends on a file that
/// is not there. Other keys of the file change no values and no memory.
void readSpeedUpFile(const Node &ascend, ParallelConfig &parallel,
                     DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_SPEEDUPFILE_H
