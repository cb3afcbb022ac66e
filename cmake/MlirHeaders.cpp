//===- MlirHeaders.cpp - The library that owns the precompiled headers ----===//
