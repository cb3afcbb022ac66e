//===- ToolMain.cpp - The program of one tool -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/main/ToolMains.h"

int main(int argc, char **argv) { return mf::tools::MF_TOOL_MAIN(argc, argv); }
