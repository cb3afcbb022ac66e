//===- CameReader.h - The optimizer's keys of Came --------------*- C++ -*-===//

#ifndef MF_LIB_FRONTEND_CONFIG_CAMEREADER_H
#define MF_LIB_FRONTEND_CONFIG_CAMEREADER_H

#include "SectionReader.h"

namespace mf {

/// Reads the keys of Came that have no member of their own, and rejects
/// unsupported ones. Emits a warning for Came's keys if another optimizer is
/// selected.
void readCame(SectionReader &reader, OptimizerConfig &config);

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_CAMEREADER_H
