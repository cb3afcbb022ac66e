//===- LayoutKeys.cpp - The values of parallel_config as text -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/LayoutKeys.h"
#include "mf/Frontend/Config/KnownKeys.h"

namespace mf {

/// Returns the value of a key whose member is a bool, an int or a name.
static std::optional<std::string> getText(const KnownKey &key,
                                          const TrainingConfig &config) {
  if (const auto *flag = key.getValue<bool>(config))
    return *flag ? "True" : "False";
  if (const auto *number = key.getValue<int64_t>(config))
    return std::to_string(*number);
  if (const auto *name = key.getValue<std::string>(config))
    return *name;
  return std::nullopt;
}

LayoutValues listLayoutValues(const TrainingConfig &config) {
  const TrainingConfig defaults;
  LayoutValues values;
  for (const KnownKey &key : parallelConfigSection.keys)
    if (auto text = getText(key, config);
        text && text != getText(key, defaults))
      values[key.name.str()] = *text;
  return values;
}

std::string getDefaultLayoutValue(llvm::StringRef key) {
  return *getText(*parallelConfigSection.find(key), TrainingConfig());
}

void setLayoutValue(llvm::StringRef key, llvm::StringRef value,
                    TrainingConfig &config) {
  const KeyField member = parallelConfigSection.find(key)->field(config);
  if (auto *const *flag = std::get_if<bool *>(&member))
    **flag = value == "True";
  else if (auto *const *number = std::get_if<int64_t *>(&member))
    value.getAsInteger(10, **number);
  else if (auto *const *name = std::get_if<std::string *>(&member))
    **name = value.str();
}

} // namespace mf
