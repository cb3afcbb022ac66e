//===- HuggingFaceExperts.h - Experts of a config.json ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_IMPORT_HUGGINGFACEEXPERTS_H
#define MF_LIB_FRONTEND_IMPORT_HUGGINGFACEEXPERTS_H

#include "SpecReader.h"
#include "mf/Frontend/Import/ModelSpec.h"

namespace mf {

// Each fills `spec.experts`; sizes of the model have been read.
void readMixtralExperts(SpecReader &reader, ModelSpec &spec);
/// Reads Qwen3-MoE, and the keys of Qwen2-MoE that are the same.
void readQwenExperts(SpecReader &reader, ModelSpec &spec);
void readQwen2Experts(SpecReader &reader, ModelSpec &spec);
void readDeepSeek2Experts(SpecReader &reader, ModelSpec &spec);
void readDeepSeek3Experts(SpecReader &reader, ModelSpec &spec);

// These functions read the whole attention, too.
void readHuggingFaceDeepSeek2(SpecReader &reader, ModelSpec &spec);
void readHuggingFaceDeepSeek3(SpecReader &reader, ModelSpec &spec);

} // namespace mf

#endif // MF_LIB_FRONTEND_IMPORT_HUGGINGFACEEXPERTS_H
