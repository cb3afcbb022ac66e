//===- DynamicKeys.cpp - Fields of the dynamic-graph trainer --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DynamicKeys.h"
#include "llvm/ADT/STLExtras.h"

namespace mf {

static constexpr const DynamicKey *dynamicKeys[] = {
#define DYNAMIC_KEY(SECTION, ID, ...) &dynamic::SECTION::ID,
#include "DynamicKeys.def"
};

/// Returns the fields of a section, which lie side by side.
static llvm::ArrayRef<const DynamicKey *> getKeys(llvm::StringRef section) {
  return llvm::ArrayRef(dynamicKeys)
      .drop_until(
          [&](const DynamicKey *key) { return key->section == section; })
      .take_while(
          [&](const DynamicKey *key) { return key->section == section; });
}

llvm::ArrayRef<DynamicSection> getDynamicSections() {
  static const DynamicSection sections[] = {
#define DYNAMIC_SECTION(ID, NAME, CLASS, TAKES_OTHERS, IS_OPTIONAL)            \
  {NAME, CLASS, TAKES_OTHERS, IS_OPTIONAL, getKeys(NAME)},
#include "DynamicKeys.def"
  };
  return sections;
}

const DynamicKey *DynamicSection::find(llvm::StringRef key) const {
  const auto *found = llvm::find_if(
      keys, [&](const DynamicKey *known) { return known->name == key; });
  return found == keys.end() ? nullptr : *found;
}

const DynamicSection &getDynamicSection(llvm::StringRef name) {
  return *llvm::find_if(
      getDynamicSections(),
      [&](const DynamicSection &section) { return section.name == name; });
}

} // namespace mf
