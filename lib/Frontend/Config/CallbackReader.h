//===- CallbackReader.h - Section callbacks ---------------------*- C++ -*-===//

#ifndef MF_LIB_CONFIG_CALLBACKREADER_H
#define MF_LIB_CONFIG_CALLBACKREADER_H

#include "mf/Frontend/Config/TrainingConfig.h"

namespace mf {

/// Reads `callbacks` of the document `root`, and `callback`, as the
/// documentation calls it. Callbacks that only print or save are passed over.
void readCallbacks(const Node &root, TrainingConfig &config,
                   DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LIB_CONFIG_CALLBACKREADER_H
