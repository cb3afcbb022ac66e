// SPDX-License-Identifier: Apache-2.0
//
// GoogleTest on top of what most libraries read, precompiled.
#include "BaseHeaders.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
