//===- Family.cpp - Records of families of models -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Records.h"

namespace mf {

// In the order of ModelFamily.
static constexpr const FamilyRecord *families[] = {
    &llamaFamily,   &internLm2Family, &qwenFamily, &telechatFamily,
    &chatGlmFamily, &deepSeekFamily,  &glmFamily,  &gpt2Family,
    &sparkFamily,   &mcoreFamily};
static_assert(std::size(families) ==
              static_cast<size_t>(ModelFamily::Mcore) + 1);

const FamilyRecord &getFamily(ModelFamily family) {
  return *families[static_cast<size_t>(family)];
}

const FamilyRecord *findFamily(llvm::StringRef name) {
  for (const FamilyRecord *family : families)
    if (family->name == name)
      return family;
  return nullptr;
}

bool isMcore(std::optional<llvm::StringRef> family) {
  const FamilyRecord *record = findFamily(family.value_or(""));
  return record && record->isMcore;
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
static constexpr FactSet anyMcore =
    Fact::Experts | Fact::Shared | Fact::JoinsNext | anyAttention;
static constexpr FactSet anyExperts = Fact::Experts | anyLatent | anyLayer;
static constexpr FactSet concatenated =
    Fact::Heads | Fact::QueryKeyValue | Fact::GateUp;

static constexpr NameSchemeRecord schemes[] = {
    {NameScheme::Llama, "Llama", &llamaFamily.cells, Fact::Heads},
    {NameScheme::LlamaConcatenated, "LlamaConcatenated", &llamaFamily.cells,
     concatenated},
    {NameScheme::Experts, "Experts", &deepSeekFamily.cells, Fact::Heads,
     anyExperts},
    {NameScheme::ConcatenatedExperts, "ConcatenatedExperts", &llamaFamily.cells,
     concatenated, Fact::Experts},
    {NameScheme::SharedExperts, "SharedExperts", &deepSeekFamily.cells,
     Fact::Heads | Fact::Shared, anyExperts},
    {NameScheme::GroupedExperts, "GroupedExperts", &deepSeekFamily.cells,
     Fact::Heads | Fact::Dropless, anyExperts},
    {NameScheme::GroupedSharedExperts, "GroupedSharedExperts",
     &deepSeekFamily.cells, Fact::Heads | Fact::Dropless | Fact::Shared,
     anyExperts},
    {NameScheme::Telechat, "Telechat", &telechatFamily.cells},
    {NameScheme::Qwen, "Qwen", &qwenFamily.cells, Fact::Heads},
    {NameScheme::QwenConcatenated, "QwenConcatenated", &qwenFamily.cells,
     concatenated},
    {NameScheme::ChatGlm, "ChatGlm", &chatGlmFamily.cells, concatenated},
    {NameScheme::ChatGlmSeparate, "ChatGlmSeparate", &chatGlmFamily.cells},
    {NameScheme::HuggingFaceChatGlm, "HuggingFaceChatGlm",
     &huggingFaceChatGlmCells, concatenated},
    {NameScheme::Glm, "Glm", &glmFamily.cells},
    {NameScheme::HuggingFaceGlm, "HuggingFaceGlm", &huggingFaceGlmCells},
    {NameScheme::Gpt2, "Gpt2", &gpt2Family.cells, {}, Fact::TransposedHeads},
    {NameScheme::Mcore, "Mcore", &mcoreFamily.cells, Fact::DownTogether,
     anyMcore},
    {NameScheme::McoreSeparate,
     "McoreSeparate",
     &mcoreFamily.cells,
     {},
     anyMcore},
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
