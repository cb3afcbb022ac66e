//===- mf_main.h - Runs a step for a training run ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_CANN_SUPPORT_MF_MAIN_H
#define MF_LIB_CANN_SUPPORT_MF_MAIN_H

#include "mf_step.h"

namespace mf_cann {

/// Runs a training with the given arguments and the steps of all stages.
/// RANK_ID is the rank of this process.
int runMain(int argc, char **argv, mf::step::Facts facts,
            const std::vector<Step> &steps);

} // namespace mf_cann

#endif // MF_LIB_CANN_SUPPORT_MF_MAIN_H
