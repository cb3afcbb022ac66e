//===- Family.cpp - Records of families of models -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Records.h"

namespace mf {

static constexpr const FamilyRecord *families[] = {
#define FAMILY(ID, RECORD) &(RECORD),
#include "mf/Frontend/Families/Families.def"
};

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
#define NAME_SCHEME(ID, CELLS, ...)                                            \
  {NameScheme::ID, #ID, &(CELLS), __VA_ARGS__},
#include "mf/Frontend/Families/Families.def"
};

llvm::ArrayRef<NameSchemeRecord> getNameSchemes() { return schemes; }

llvm::StringRef getName(NameScheme scheme) {
  return schemes[static_cast<size_t>(scheme)].name;
}

} // namespace mf
