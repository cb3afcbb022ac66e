//===- Policies.h - The built-in policies ---------------------*- C++ -*-===//
//
// A file each. Their order in lists is that of getPolicies() in Policy.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_SCHEDULE_POLICIES_POLICIES_H
#define MF_LIB_SCHEDULE_POLICIES_POLICIES_H

#include "mf/Schedule/Policy.h"

namespace mf::schedule {

const Policy *getGPipe();
const Policy *getOneForwardOneBackward();

} // namespace mf::schedule

#endif // MF_LIB_SCHEDULE_POLICIES_POLICIES_H
