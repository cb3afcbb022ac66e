//===- NoPlanError.cpp - Error of a search without a plan -----------------===//

#include "mf/Plan/Solver/NoPlanError.h"

char mf::solver::NoPlanError::ID = 0;
