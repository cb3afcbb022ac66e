//===- NameSchemeSets.h - Schemes that share names ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_DATA_NAMESCHEMESETS_H
#define MF_LIB_EXEC_DATA_NAMESCHEMESETS_H

#include "mf/Exec/Data/ParameterNames.h"

namespace mf {

constexpr uint32_t in(NameScheme scheme) {
  return uint32_t{1} << static_cast<unsigned>(scheme);
}

// MindSpore Transformers.
constexpr uint32_t experts = in(NameScheme::Experts);
constexpr uint32_t concatenatedExperts = in(NameScheme::ConcatenatedExperts);
constexpr uint32_t sharedExperts = in(NameScheme::SharedExperts);
constexpr uint32_t groupedExperts = in(NameScheme::GroupedExperts);
constexpr uint32_t groupedSharedExperts = in(NameScheme::GroupedSharedExperts);
constexpr uint32_t llamaExperts =
    experts | sharedExperts | groupedExperts | groupedSharedExperts;
constexpr uint32_t llamaSeparate = in(NameScheme::Llama) | llamaExperts;
constexpr uint32_t llamaConcatenated =
    in(NameScheme::LlamaConcatenated) | concatenatedExperts;
constexpr uint32_t telechat = in(NameScheme::Telechat);
constexpr uint32_t llama = llamaSeparate | llamaConcatenated | telechat;
constexpr uint32_t qwenSeparate = in(NameScheme::Qwen);
constexpr uint32_t qwenConcatenated = in(NameScheme::QwenConcatenated);
constexpr uint32_t qwen = qwenSeparate | qwenConcatenated;
constexpr uint32_t glmConcatenated = in(NameScheme::ChatGlm);
constexpr uint32_t glmSeparate = in(NameScheme::ChatGlmSeparate);
constexpr uint32_t glm = glmConcatenated | glmSeparate;
constexpr uint32_t firstGlm = in(NameScheme::Glm);
constexpr uint32_t gpt2 = in(NameScheme::Gpt2);
constexpr uint32_t mcoreConcatenated = in(NameScheme::Mcore);
constexpr uint32_t mcoreSeparate = in(NameScheme::McoreSeparate);
constexpr uint32_t mcore = mcoreConcatenated | mcoreSeparate;

// Hugging Face.
constexpr uint32_t hfMixtral = in(NameScheme::HuggingFaceMixtral);
constexpr uint32_t hfQwen2Moe = in(NameScheme::HuggingFaceQwen2Moe);
constexpr uint32_t hfDeepSeek = in(NameScheme::HuggingFaceDeepSeek);
constexpr uint32_t hfLlama =
    in(NameScheme::HuggingFace) | hfMixtral | hfQwen2Moe | hfDeepSeek;
constexpr uint32_t hfBaichuan = in(NameScheme::HuggingFaceBaichuan);
constexpr uint32_t hf = hfLlama | hfBaichuan;
constexpr uint32_t hfQwen = in(NameScheme::HuggingFaceQwen);
constexpr uint32_t hfTelechat = in(NameScheme::HuggingFaceTelechat);
constexpr uint32_t hfGlm = in(NameScheme::HuggingFaceChatGlm);
constexpr uint32_t hfFirstGlm = in(NameScheme::HuggingFaceGlm);
constexpr uint32_t hfGpt2 = in(NameScheme::HuggingFaceGpt2);

} // namespace mf

#endif // MF_LIB_EXEC_DATA_NAMESCHEMESETS_H
