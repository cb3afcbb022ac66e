//===- Target.cpp ---===//

#include "mf/Target/Target.h"

namespace mf::target {} // namespace mf::target
