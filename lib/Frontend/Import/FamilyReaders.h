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

/// Emits an error for keys of `model` that request experts. `where` says in the
/// message where such keys are expected.
void rejectExperts(const Node &model, llvm::StringRef where,
                   DiagnosticList &diagnostics);

/// Emits errors for keys of latent attention in a model whose family does not
/// support it.
void rejectLatentAttention(const Node &model, DiagnosticList &diagnostics);

/// Replaces sizes by those of the command line.
void applyOverrides(const ModelOverrides &overrides, ModelSpec &spec,
                    DiagnosticList &diagnostics);

/// Emits an error, at the key, for a model whose tensors' sizes in bytes do not
/// fit into 64 bits or with an unreasonably large size.
void checkLimits(const SpecReader &reader, const ModelSpec &spec);

/// Returns the class whose layers a network class uses. This is the class
/// itself, except for the classes with adapters of releases 0.6 and 0.7
/// (LlamaForCausalLMWithLora).
llvm::StringRef getAdaptedClass(llvm::StringRef architecture);

/// Reads model_config.pet_config as `release` does; the default is the newest
/// release. Returns none if there is no such section or it has an error.
/// `architecture` is the network's class in the YAML, which is one of the mcore
/// training graph if `isMcore` is true.
std::optional<LoraSpec> readLora(const Node &section, const Node &architecture,
                                 bool isMcore, std::optional<Release> release,
                                 DiagnosticList &diagnostics);

/// Reads lora_config of the dynamic graph, whose types are checked already.
/// Returns none if there is no such section or it has an error.
std::optional<LoraSpec> readDynamicLora(const Node &section,
                                        DiagnosticList &diagnostics);

/// True if `section`, model_config.pet_config, requests a trained prefix. The
/// class ChatGLM2WithPtuning2 always has one.
bool asksForPrefix(const Node &section, const Node &architecture);

/// Reads the prefix if `asksForPrefix` is true. Returns none after an error.
std::optional<PrefixSpec> readPrefix(const Node &section,
                                     const Node &architecture,
                                     DiagnosticList &diagnostics);

/// Checks that the model that was read can have its prefix.
void checkPrefix(const TrainingConfig &config, const ModelSpec &spec,
                 DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LIB_FRONTEND_IMPORT_FAMILYREADERS_H
