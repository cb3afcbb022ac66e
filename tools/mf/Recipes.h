//===- Recipes.h - Ways to save memory --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_RECIPES_H
#define MF_TOOLS_MF_RECIPES_H

#include "mf/Plan/Settings/StepCompiler.h"

namespace mf::tools {

/// A way to save memory, and the YAML with it or the reason why the YAML cannot
/// have it.
struct Recipe {
  std::string name;
  llvm::Expected<std::string> yaml;
};

/// Returns the ways for a YAML of either format, from light to heavy. The first
/// keeps everything.
llvm::Expected<std::vector<Recipe>>
makeRecipes(const planner::CompilerInput &input, llvm::StringRef yaml);

} // namespace mf::tools

#endif // MF_TOOLS_MF_RECIPES_H
