//===- Family.cpp - Records of families of models -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Records.h"

namespace mf {

const FamilyRecord &getFamily(ModelFamily family) {
  // In the order of ModelFamily.
  static constexpr FamilyRecord records[] = {
      {"llama", &llamaCells},
      {"internlm2", &llamaCells, Fact::ShortProjection},
      {"qwen", &qwenCells},
      {"telechat", &telechatCells},
      {"chatglm", &chatGlmCells},
      {"deepseek", &deepSeekCells},
      {"glm", &glmCells},
      {"gpt2", &gpt2Cells},
      {"spark", &sparkCells},
      {"mcore", &mcoreCells}};
  static_assert(std::size(records) ==
                static_cast<size_t>(ModelFamily::Mcore) + 1);
  return records[static_cast<size_t>(family)];
}

llvm::StringRef getName(ModelFamily family) { return getFamily(family).name; }

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

/// What neither the name of a scheme nor its model's attention decides.
static constexpr FactSet anyLayer =
    Fact::HeadNorms | Fact::LatentNorms | Fact::SharedGate;
static constexpr FactSet anyLatent = Fact::Latent | Fact::LatentQuery;
static constexpr FactSet anyAttention =
    Fact::Heads | Fact::TransposedHeads | anyLatent | anyLayer;
static constexpr FactSet anyExperts = Fact::Experts | anyLatent | anyLayer;
static constexpr FactSet concatenated =
    Fact::Heads | Fact::QueryKeyValue | Fact::GateUp;

static constexpr NameSchemeRecord schemes[] = {
    {NameScheme::Llama, "Llama", &llamaCells, Fact::Heads},
    {NameScheme::LlamaConcatenated, "LlamaConcatenated", &llamaCells,
     concatenated},
    {NameScheme::Experts, "Experts", &deepSeekCells, Fact::Heads, anyExperts},
    {NameScheme::ConcatenatedExperts, "ConcatenatedExperts", &llamaCells,
     concatenated, Fact::Experts},
    {NameScheme::SharedExperts, "SharedExperts", &deepSeekCells,
     Fact::Heads | Fact::Shared, anyExperts},
    {NameScheme::GroupedExperts, "GroupedExperts", &deepSeekCells,
     Fact::Heads | Fact::Dropless, anyExperts},
    {NameScheme::GroupedSharedExperts, "GroupedSharedExperts", &deepSeekCells,
     Fact::Heads | Fact::Dropless | Fact::Shared, anyExperts},
    {NameScheme::Telechat, "Telechat", &telechatCells},
    {NameScheme::Qwen, "Qwen", &qwenCells, Fact::Heads},
    {NameScheme::QwenConcatenated, "QwenConcatenated", &qwenCells,
     concatenated},
    {NameScheme::ChatGlm, "ChatGlm", &chatGlmCells, concatenated},
    {NameScheme::ChatGlmSeparate, "ChatGlmSeparate", &chatGlmCells},
    {NameScheme::HuggingFaceChatGlm, "HuggingFaceChatGlm",
     &huggingFaceChatGlmCells, concatenated},
    {NameScheme::Glm, "Glm", &glmCells},
    {NameScheme::HuggingFaceGlm, "HuggingFaceGlm", &huggingFaceGlmCells},
    {NameScheme::Gpt2, "Gpt2", &gpt2Cells, {}, Fact::TransposedHeads},
    {NameScheme::Mcore, "Mcore", &mcoreCells, Fact::DownTogether,
     Fact::Experts | Fact::Shared | anyAttention},
    {NameScheme::McoreSeparate,
     "McoreSeparate",
     &mcoreCells,
     {},
     Fact::Experts | Fact::Shared | anyAttention},
    {NameScheme::HuggingFaceMixtral,
     "HuggingFaceMixtral",
     &huggingFaceMixtralCells,
     {},
     anyAttention},
    {NameScheme::HuggingFace,
     "HuggingFace",
     &huggingFaceCells,
     {},
     anyAttention},
    {NameScheme::HuggingFaceDeepSeek,
     "HuggingFaceDeepSeek",
     &huggingFaceDeepSeekCells,
     {},
     anyAttention},
    {NameScheme::HuggingFaceQwen2Moe,
     "HuggingFaceQwen2Moe",
     &huggingFaceQwen2MoeCells,
     {},
     anyAttention},
    {NameScheme::HuggingFaceBaichuan, "HuggingFaceBaichuan",
     &huggingFaceBaichuanCells},
    {NameScheme::HuggingFaceQwen,
     "HuggingFaceQwen",
     &huggingFaceQwenCells,
     {},
     anyAttention},
    {NameScheme::HuggingFaceGpt2,
     "HuggingFaceGpt2",
     &huggingFaceGpt2Cells,
     {},
     Fact::TransposedHeads},
    {NameScheme::HuggingFaceTelechat, "HuggingFaceTelechat",
     &huggingFaceTelechatCells},
};

llvm::ArrayRef<NameSchemeRecord> getNameSchemes() { return schemes; }

llvm::StringRef getName(NameScheme scheme) {
  return schemes[static_cast<size_t>(scheme)].name;
}

} // namespace mf
