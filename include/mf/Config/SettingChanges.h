//===- SettingChanges.h - What was changed in a YAML -----------*- C++ -*-===//

#ifndef MF_CONFIG_SETTINGCHANGES_H
#define MF_CONFIG_SETTINGCHANGES_H

#include "mf/Config/Node.h"

namespace mf {

/// What one YAML says otherwise than another, as lines of YAML: sections with
/// the keys whose values differ, each with all of its new value; swap_config as
/// a whole. Keys that are gone are not told, but where they leave swap_config.
/// Every line has `indent` blanks in front and a line end; none if there is
/// no difference.
std::string printSettingChanges(const Node &before, const Node &after,
                                size_t indent = 0);

} // namespace mf

#endif // MF_CONFIG_SETTINGCHANGES_H
