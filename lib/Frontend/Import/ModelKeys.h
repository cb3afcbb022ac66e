//===- ModelKeys.h - Keys of model_config that no reader reads --*- C++ -*-===//

#ifndef MF_LIB_FRONTEND_IMPORT_MODELKEYS_H
#define MF_LIB_FRONTEND_IMPORT_MODELKEYS_H

#include "SpecReader.h"

namespace mf {

/// Warns about the keys of `written` that `reader` did not read: unknown keys,
/// and keys that would change the training step but are not modelled.
void reportUnreadKeys(const SpecReader &reader, const Node &written);

} // namespace mf

#endif // MF_LIB_FRONTEND_IMPORT_MODELKEYS_H
