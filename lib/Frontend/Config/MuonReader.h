//===- MuonReader.h - The optimizer's keys of Muon --------------*- C++ -*-===//

#ifndef MF_LIB_FRONTEND_CONFIG_MUONREADER_H
#define MF_LIB_FRONTEND_CONFIG_MUONREADER_H

#include "SectionReader.h"

namespace mf {

/// Reads the keys of Muon; those of another optimizer that has them get a
/// warning. `eps` is then that of AdamW.
void readMuon(SectionReader &reader, OptimizerConfig &config);

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_MUONREADER_H
