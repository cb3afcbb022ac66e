// SPDX-License-Identifier: Apache-2.0
//
// GoogleTest on top of our dialects, precompiled.
#include "DialectHeaders.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
