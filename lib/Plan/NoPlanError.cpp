//===- NoPlanError.cpp - There is no plan, or none was found --------------===//

#include "mf/Plan/NoPlanError.h"

char mf::plan::NoPlanError::ID = 0;
