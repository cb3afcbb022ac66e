//===- ProfileFolder.h - Profiles that tests write --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_CALIBRATION_PROFILEFOLDER_H
#define MF_TEST_UNIT_CALIBRATION_PROFILEFOLDER_H

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include <string>

namespace mf::calibration {

/// A folder of its own, gone when the object dies.
class ProfileFolder {
public:
  ProfileFolder();
  ~ProfileFolder();
  ProfileFolder(const ProfileFolder &) = delete;
  ProfileFolder &operator=(const ProfileFolder &) = delete;

  /// Writes a file, and the folders that it is in.
  void write(const llvm::Twine &name, llvm::StringRef text) const;
  llvm::StringRef getPath() const { return path; }

  /// The error of reading it, without the folder's path; empty if reading
  /// succeeds.
  std::string getError() const;

private:
  llvm::SmallString<128> path;
};

} // namespace mf::calibration

#endif // MF_TEST_UNIT_CALIBRATION_PROFILEFOLDER_H
