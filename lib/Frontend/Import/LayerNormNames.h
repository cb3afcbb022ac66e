//===- LayerNormNames.h - Names of families with LayerNorm ------*- C++ -*-===//

#ifndef MF_LIB_FRONTEND_IMPORT_LAYERNORMNAMES_H
#define MF_LIB_FRONTEND_IMPORT_LAYERNORMNAMES_H

#include "FamilyNames.h"

namespace mf {

FamilyNames getGlmNames();
FamilyNames getGpt2Names();
FamilyNames getSparkNames();

} // namespace mf

#endif // MF_LIB_FRONTEND_IMPORT_LAYERNORMNAMES_H
