//===- NoPlanError.cpp - Error of a search without a plan -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Plan/Solver/NoPlanError.h"

char mf::solver::NoPlanError::ID = 0;
