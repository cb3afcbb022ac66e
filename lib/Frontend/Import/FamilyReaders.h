//===- FamilyReaders.h - One reader per config class ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each function fills a ModelSpec from model_config as one of MindSpore
// Transformers' config classes does, including its defaults. The caller checks
// that the sizes are consistent.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_FRONTEND_IMPORT_FAMILYREADERS_H
#define MF_LIB_FRONTEND_IMPORT_FAMILYREADERS_H

#include "SpecReader.h"
#include "mf/Frontend/Import/ModelSpec.h"

namespace mf {

using FamilyReader = void (*)(SpecReader &reader, ModelSpec &spec);

#define MODEL_CLASS(NAME, READER, NAMING)                                      \
  void READER(SpecReader &reader, ModelSpec &spec);
#include "ModelClasses.def"

/// Reads the residual streams of DeepSeek-V4, and its hybrid attention after
/// the numbers of layers.
void readStreams(SpecReader &reader, ModelSpec &spec);
void readHybridAttention(SpecReader &reader, ModelSpec &spec);

/// Returns hidden_size / num_heads, which must be an integer.
int64_t divideHidden(SpecReader &reader, const ModelSpec &spec);

/// Emits an error unless context_parallel is 1. `whose` is the family in the
/// message.
void rejectContextParallel(SpecReader &reader, const ModelSpec &spec,
                           llvm::StringRef whose);

/// Reads the types of parameters and computations, with the defaults of the
/// classic config classes.
void readElementTypes(SpecReader &reader, ModelSpec &spec);

/// Checks that the number of heads is a multiple of that of keys and values,
/// and that the rotating dimensions of a head are even. `heads` and
/// `keyValueHeads` are the keys to blame.
void checkHeads(SpecReader &reader, const ModelSpec &spec,
                const SpecReader::Keys &heads,
                const SpecReader::Keys &keyValueHeads);

/// Emits an error unless `heads` is divisible by `parts`, the number of ranks.
/// The error refers to `keys`.
void checkHeadParts(SpecReader &reader, int64_t heads, int64_t parts,
                    const SpecReader::Keys &keys);

/// Sets the sizes of heads that depend on those of latent attention.
void setLatentHeads(ModelSpec &spec);
/// Checks that the rotated dimensions are even and that heads are divisible by
/// the ranks. The error refers to `heads`.
void checkLatentHeads(SpecReader &reader, const ModelSpec &spec,
                      const SpecReader::Keys &heads);

/// Reads theta, extend_method and scaling_factor as FreqsMgr does. `size`
/// dimensions of a head are rotated.
void readRotary(SpecReader &reader, ModelSpec &spec,
                const SpecReader::Keys &base, int64_t size,
                llvm::StringRef defaultMethod = "None",
                double defaultBase = 10000.0);

/// YaRN (Peng et al., 2023): waves with fewer than `betaSlow` turns within
/// `length` positions are stretched by `factor`, those with more than
/// `betaFast` turns are unchanged, and those between are interpolated.
struct YarnSpec {
  double factor = 1.0;
  double length = 4096.0;
  double betaFast = 32.0, betaSlow = 1.0;
  double scale = 1.0, scaleOfAllDims = 1.0;
};
/// 0.1 * scale * ln(factor) + 1: how much sharper the softmax is to be over a
/// context that is longer by `factor`.
double getYarnScale(double factor, double scale);
/// Sets the frequencies, if the base is above 1. `scale` and `scaleOfAllDims`
/// are for the caller.
void setYarnFrequencies(const YarnSpec &yarn, RotarySpec &rotary);

/// Reads rope_scaling of a config.json. All other properties of the rotary
/// embedding are set.
void readRopeScaling(SpecReader &reader, ModelSpec &spec);

} // namespace mf

#endif // MF_LIB_FRONTEND_IMPORT_FAMILYREADERS_H
