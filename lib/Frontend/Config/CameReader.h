//===- CameReader.h - The optimizer's keys of Came --------------*- C++ -*-===//

#ifndef MF_LIB_CONFIG_CAMEREADER_H
#define MF_LIB_CONFIG_CAMEREADER_H

#include "SectionReader.h"

namespace mf {

/// Reads the keys of Came that have no member of their own, and refuses those
/// that it does not take. Its keys get a warning if the optimizer is another.
void readCame(SectionReader &reader, OptimizerConfig &config);

} // namespace mf

#endif // MF_LIB_CONFIG_CAMEREADER_H
