//===- ProfileTest.cpp - Reading a profiler's files
//
// SPDX-License-Identifier: Apache-2.0
//------------------------===//

#include "mf/Perf/Calibration/Profile.h"
#include "test/unit/TemporaryDirectory.h"
#include "llvm/ADT/Twine.h"
#include <string>

using namespace mf::calibration;
using mf::DType;

namespace {

/// The error of reading a profile, without the folder's path; empty if reading
/// succeeds.
std::string getError(const mf::TemporaryDirectory &folder) {
  llvm::Expected<Profile> profile = readProfile(folder.str());
  if (profile)
    return "";
  std::string message = llvm::toString(profile.takeError());
  const std::string prefix = folder.path("");
  for (size_t at = 0; (at = message.find(prefix)) != std::string::npos;)
    message.erase(at, prefix.size());
  return message;
}

constexpr llvm::StringLiteral header =
    "Step ID,Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us),"
    "Input Shapes,Input Data Types,Output Shapes,Output Data Types\n";
constexpr llvm::StringLiteral row =
    "1,0,Default/network-net/MatMul-op1,MatMulV2,AI_CORE,10.5,20.25,"
    "\"4,8;8,2;\",DT_BF16;DT_BF16;,\"4,2\",DT_BF16\n";

// clang-format makes code of what stands in raw strings.
// clang-format off
constexpr llvm::StringLiteral transfers = R"json({"step3": {
  "p2p": {},
  "collective": {
    "Total Op Info": {},
    "hcom_allReduce__1_0_1@77": {
      "Communication Time Info": {"Elapse Time(ms)": 5, "Wait Time(ms)": 2},
      "Communication Bandwidth Info": {
        "RDMA": {"Transit Size(MB)": 0},
        "HCCS": {"Transit Size(MB)": 12.5}}}}}})json";
// clang-format on

Profile read(const mf::TemporaryDirectory &folder) {
  return llvm::cantFail(readProfile(folder.str()));
}

TEST(ProfileTest, ReadsKernels) {
  mf::TemporaryDirectory folder;
  folder.write("kernel_details.csv", (header + row + row).str());
  const Profile profile = read(folder);
  EXPECT_EQ(profile.rows, 2);
  ASSERT_EQ(profile.launches.size(), 1U);
  const ProfiledLaunch &launch = profile.launches[0];
  EXPECT_EQ(launch.type, "MatMulV2");
  EXPECT_EQ(launch.core, "AI_CORE");
  ASSERT_EQ(launch.inputs.size(), 2U);
  EXPECT_EQ(launch.inputs[1].dims, (llvm::SmallVector<int64_t, 4>{8, 2}));
  EXPECT_EQ(launch.inputs[1].type, DType::BF16);
  ASSERT_EQ(launch.times.size(), 2U);
  EXPECT_DOUBLE_EQ(launch.times[1].seconds, 20.25e-6);
  EXPECT_DOUBLE_EQ(launch.times[1].start.value_or(0), 10.5e-6);
  EXPECT_EQ(launch.times[1].step, 1);
}

TEST(ProfileTest, ReadsColumnsInAnyOrderAndQuotesInQuotes) {
  mf::TemporaryDirectory folder;
  folder.write("kernel_details.csv",
               "\xEF\xBB\xBF"
               "Output Data Types,Duration(us),Output Shapes,Input Data Types,"
               "Input Shapes,Type\r\n"
               "FLOAT,1e3,\"\"\"4,2\"\"\",BF16;DT_UNDEFINED;BOOL;INT64,"
               "\"\"\"4,8;;3;\"\"\",MatMulV3\r\n");
  const Profile profile = read(folder);
  const ProfiledLaunch &launch = profile.launches[0];
  EXPECT_DOUBLE_EQ(launch.times[0].seconds, 1e-3);
  ASSERT_EQ(launch.inputs.size(), 3U) << "one is absent";
  EXPECT_EQ(launch.inputs[1].type, std::nullopt);
  EXPECT_EQ(launch.inputs[2].type, DType::I64);
  EXPECT_TRUE(launch.inputs[2].dims.empty());
  EXPECT_EQ(launch.outputs[0].dims, (llvm::SmallVector<int64_t, 4>{4, 2}));
}

TEST(ProfileTest, FindsAllRanks) {
  mf::TemporaryDirectory folder;
  for (const char *rank : {"b_1_ascend_ms", "a_0_ascend_ms"})
    folder.write(std::string(rank) +
                     "/ASCEND_PROFILER_OUTPUT/kernel_details.csv",
                 (header + row).str());
  folder.write("notes/readme.txt", "no profile");
  const Profile profile = read(folder);
  ASSERT_EQ(profile.folders.size(), 2U);
  EXPECT_TRUE(llvm::StringRef(profile.folders[0])
                  .ends_with("a_0_ascend_ms/ASCEND_PROFILER_OUTPUT"));
  ASSERT_EQ(profile.launches.size(), 1U) << "alike on both ranks";
  EXPECT_EQ(profile.launches[0].times[1].folder, 1U);
  EXPECT_EQ(llvm::cantFail(readProfile(profile.folders[0])).rows, 1);
}

TEST(ProfileTest, ReadsStepsAndTransfers) {
  mf::TemporaryDirectory folder;
  folder.write("w_ascend_ms/ASCEND_PROFILER_OUTPUT/kernel_details.csv",
               (header + row).str());
  folder.write("w_ascend_ms/ASCEND_PROFILER_OUTPUT/step_trace_time.csv",
               "Device_id,Step,Computing,Free,Communication(Not Overlapped)\n"
               "0,,100,20,5\n");
  folder.write("w_ascend_ms/ASCEND_PROFILER_OUTPUT/communication.json",
               transfers);
  folder.write("w_ascend_ms/profiler_metadata.json",
               "{\"parallel_group_info\": {\"77\": {\"group_name\": \"mp\", "
               "\"global_ranks\": [0, 1, 2, 3]}}}");
  const Profile profile = read(folder);
  ASSERT_EQ(profile.steps.size(), 1U);
  EXPECT_DOUBLE_EQ(profile.steps[0].free, 20e-6);
  EXPECT_DOUBLE_EQ(profile.steps[0].length.value_or(0), 125e-6);
  ASSERT_EQ(profile.transfers.size(), 1U);
  const ProfiledTransfer &transfer = profile.transfers[0];
  EXPECT_EQ(transfer.name, "hcom_allReduce__1_0_1");
  EXPECT_EQ(transfer.step, 3);
  EXPECT_DOUBLE_EQ(transfer.seconds, 3e-3);
  EXPECT_EQ(transfer.bytesByLink,
            (std::map<std::string, double>{{"HCCS", 12.5e6}}));
  EXPECT_EQ(profile.groups.at({0, transfer.group}),
            (std::vector<int64_t>{0, 1, 2, 3}));
}

TEST(ProfileTest, ReadsCopiesAndTheCompilation) {
  mf::TemporaryDirectory folder;
  folder.write("w_ascend_ms/ASCEND_PROFILER_OUTPUT/kernel_details.csv",
               (header + row).str());
  // The name of the first event has a bracket; only the second is a copy.
  folder.write("w_ascend_ms/ASCEND_PROFILER_OUTPUT/trace_view.json",
               "[{\"ph\": \"X\", \"name\": \"a]\\\"}\", \"args\": {}},\n"
               "{\"ph\": \"X\", \"ts\": \"1000000.5\", \"dur\": 2, \"args\": "
               "{\"Task Type\": \"MEMCPY_ASYNC\"}}, {\"ph\": \"M\"}]");
  folder.write("w_ascend_ms/profiler_metadata.json",
               "{\"compilation\": {\"jit_level\": \"O1\", "
               "\"filled_rows\": 0.5}}");
  const Profile profile = read(folder);
  ASSERT_EQ(profile.copies.size(), 1U);
  EXPECT_DOUBLE_EQ(profile.copies[0].start, 1.0000005);
  EXPECT_DOUBLE_EQ(profile.copies[0].seconds, 2e-6);
  EXPECT_TRUE(profile.compilation.graphKernelFusion);
  EXPECT_EQ(profile.compilation.filledRows, 0.5);
  folder.write("w_ascend_ms/profiler_metadata.json",
               "{\"compilation\": {\"jit_level\": \"O9\"}}");
  EXPECT_EQ(getError(folder),
            "w_ascend_ms/profiler_metadata.json: 'compilation': expected "
            "'jit_level', O0 or O1, and 'filled_rows', a number above 0");
}

TEST(ProfileTest, FoldersWithoutAProfileAreErrors) {
  EXPECT_EQ(llvm::toString(readProfile("/nowhere").takeError()),
            "/nowhere: no such folder");
  mf::TemporaryDirectory folder;
  EXPECT_NE(getError(folder).find("no profile: expected kernel_details.csv"),
            std::string::npos);
  folder.write("w_ascend_ms/ASCEND_PROFILER_OUTPUT/other.csv", "");
  EXPECT_EQ(getError(folder),
            "w_ascend_ms/ASCEND_PROFILER_OUTPUT/kernel_details.csv: cannot "
            "read: No such file or directory");
}

TEST(ProfileTest, BrokenKernelsAreErrorsWithPlaces) {
  const std::pair<std::string, const char *> cases[] = {
      {"", "kernel_details.csv:1:1: the file is empty, expected a header with "
           "the names of columns"},
      {header.str(), "kernel_details.csv: no rows: expected the kernels of at "
                     "least one step"},
      {"Type,Duration(us)\n", "kernel_details.csv:1:1: expected a column "
                              "'Input Shapes' in the header"},
      {"Type,Type\n", "kernel_details.csv:1:6: column 'Type' is there twice"},
      {(header + row + row.take_front(60)).str(),
       "kernel_details.csv:3:58: expected 11 cells as in the header, found 7"},
      {(header + row.take_front(66)).str(),
       "kernel_details.csv:2:64: this double quote is not closed"},
      {(header + "1,0,n,Add,AI_CORE,1,-3,4,FLOAT,4,FLOAT\n").str(),
       "kernel_details.csv:2:21: Duration(us) is '-3', expected a number from "
       "0 to 1e18"},
      {(header + "1,0,n,Add,AI_CORE,1,nan,4,FLOAT,4,FLOAT\n").str(),
       "kernel_details.csv:2:21: Duration(us) is 'nan', expected a number from "
       "0 to 1e18"},
      {(header + "1,0,n,Add,AI_CORE,1,1e300,4,FLOAT,4,FLOAT\n").str(),
       "kernel_details.csv:2:21: Duration(us) is '1e300', expected a number "
       "from 0 to 1e18"},
      {(header + "1,0,n,Add,AI_CORE,1,3,\"4294967296,4294967296\",FLOAT,4,FLOAT"
                 "\n")
           .str(),
       "kernel_details.csv:2:23: the shape is '4294967296,4294967296', "
       "expected "
       "at most 2^48 elements"},
      {(header + "1,0,n,Add,AI_CORE,1,3,4;-2,FLOAT;FLOAT,4,FLOAT\n").str(),
       "kernel_details.csv:2:23: the shape is '-2', expected whole numbers "
       "that are not negative, divided by commas"},
      {(header + "1,0,n,Add,AI_CORE,1,3,4;2,FLOAT,4,FLOAT\n").str(),
       "kernel_details.csv:2:27: expected a type for each of 2 shapes, found "
       "1"},
      {(header + "x,0,n,Add,AI_CORE,1,3,4,FLOAT,4,FLOAT\n").str(),
       "kernel_details.csv:2:1: the step is 'x', expected a whole number"}};
  for (const auto &[text, message] : cases) {
    mf::TemporaryDirectory folder;
    folder.write("kernel_details.csv", text);
    EXPECT_EQ(getError(folder), message);
  }
}

TEST(ProfileTest, EveryCutOfAFileIsReadOrAnError) {
  const std::string whole = (header + row + row).str();
  for (size_t length = 0; length < whole.size(); ++length) {
    mf::TemporaryDirectory folder;
    folder.write("kernel_details.csv",
                 llvm::StringRef(whole).take_front(length));
    const std::string message = getError(folder);
    if (!message.empty())
      EXPECT_TRUE(llvm::StringRef(message).starts_with("kernel_details.csv:"))
          << message;
  }
}

TEST(ProfileTest, OtherBrokenFilesAreErrors) {
  const std::tuple<const char *, std::string, const char *> cases[] = {
      {"step_trace_time.csv", "Step,Free\n1,-1\n",
       "step_trace_time.csv:2:3: Free is '-1', expected a number from 0 to "
       "1e18"},
      {"step_trace_time.csv", "Step\n1\n",
       "step_trace_time.csv:1:1: expected a column 'Free' in the header"},
      {"communication.json", "[1]",
       "communication.json: expected a JSON object"},
      {"communication.json", std::string(100000, '['),
       "communication.json: expected JSON that is less deeply nested"},
      {"communication.json", "{\"step1\": {\"p2p\": {\"a@b\": {}}}}",
       "communication.json: 'a@b': expected an object 'Communication Time "
       "Info'"},
      {"communication.json",
       "{\"step1\": {\"p2p\": {\"a@b\": {\"Communication Time Info\": "
       "{\"Elapse Time(ms)\": \"x\"}}}}}",
       "communication.json: 'a@b': expected 'Elapse Time(ms)', a number from "
       "0 to 1e+18"},
      {"communication.json",
       "{\"step1\": {\"p2p\": {\"a@b\": {\"Communication Time Info\": "
       "{\"Elapse Time(ms)\": 1, \"Wait Time(ms)\": 0}, \"Communication "
       "Bandwidth Info\": {\"HCCS\": {\"Transit Size(MB)\": 1e300}}}}}}",
       "communication.json: 'a@b': expected 'Transit Size(MB)', a number from "
       "0 to 1e+09"},
      {"trace_view.json", "[\n{\"ph\": \"X\"},\n{\"ph\": \"X\"\n]",
       "trace_view.json:4: ']' closes nothing that is open"},
      {"trace_view.json", "[\n{\"name\": \"a\"",
       "trace_view.json:2: '{' is not closed before the file ends"},
      {"trace_view.json",
       "[{\"ph\": \"X\", \"ts\": \"soon\", \"args\": {\"Task Type\": "
       "\"MEMCPY_ASYNC\"}}]",
       "trace_view.json:1: a copy: expected the number 'ts'"},
      {"trace_view.json",
       "[{\"ph\": \"X\", \"ts\": 1, \"dur\": -1, \"args\": {\"Task Type\": "
       "\"MEMCPY_ASYNC\"}}]",
       "trace_view.json:1: a copy: 'dur' is out of range"}};
  for (const auto &[name, text, message] : cases) {
    mf::TemporaryDirectory folder;
    folder.write("kernel_details.csv", (header + row).str());
    folder.write(name, text);
    EXPECT_EQ(getError(folder), message);
  }
}

} // namespace
