//===- ToolMains.h - What the tools run -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A tool for users is a function with the arguments of a program. ToolMain.cpp
// is a program of one tool. AllTools.cpp is one program that is all tools: a
// tool's options are therefore registered when its function runs.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TOOLS_MAIN_TOOLMAINS_H
#define MF_TOOLS_MAIN_TOOLMAINS_H

namespace mf::tools {

#define MF_TOOL(name, function) int function(int argc, char **argv);
#include "tools/main/ToolMains.def"

} // namespace mf::tools

#endif // MF_TOOLS_MAIN_TOOLMAINS_H
