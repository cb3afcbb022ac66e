//===- OptimizerReaders.h - Keys of single optimizers -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_CONFIG_OPTIMIZERREADERS_H
#define MF_LIB_FRONTEND_CONFIG_OPTIMIZERREADERS_H

#include "SectionReader.h"

namespace mf {

// Read the keys of an optimizer that have a form of their own, and reject
// unsupported ones. If another optimizer is selected, its keys get a warning.

/// `eps` of `config` is that of AdamW afterwards.
void readMuon(SectionReader &reader, OptimizerConfig &config);
void readCame(SectionReader &reader, OptimizerConfig &config);

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_OPTIMIZERREADERS_H
