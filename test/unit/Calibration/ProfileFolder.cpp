//===- ProfileFolder.cpp - Profiles that tests write ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ProfileFolder.h"
#include "mf/Perf/Calibration/Profile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

namespace mf::calibration {

ProfileFolder::ProfileFolder() {
  const std::error_code code =
      llvm::sys::fs::createUniqueDirectory("mf-profile", path);
  EXPECT_FALSE(code) << code.message();
}

ProfileFolder::~ProfileFolder() {
  EXPECT_FALSE(llvm::sys::fs::remove_directories(path));
}

void ProfileFolder::write(const llvm::Twine &name, llvm::StringRef text) const {
  llvm::SmallString<128> file(path);
  llvm::sys::path::append(file, name);
  EXPECT_FALSE(
      llvm::sys::fs::create_directories(llvm::sys::path::parent_path(file)));
  std::error_code code;
  llvm::raw_fd_ostream os(file, code);
  ASSERT_FALSE(code) << code.message();
  os << text;
}

std::string ProfileFolder::getError() const {
  llvm::Expected<Profile> profile = readProfile(path);
  if (profile)
    return "";
  std::string message = llvm::toString(profile.takeError());
  const std::string prefix = (path + "/").str();
  for (size_t at = 0; (at = message.find(prefix)) != std::string::npos;)
    message.erase(at, prefix.size());
  return message;
}

} // namespace mf::calibration
