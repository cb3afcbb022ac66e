//===- RowExchangeTest.cpp - all_to_all_v as its counts say ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "CommunicatorTesting.h"
#include "test/unit/Elements.h"
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace mf;
using namespace mf::program;
using namespace mf::runner;
using ::testing::Each;
using ::testing::HasSubstr;

namespace {

using Values = std::vector<float>;

constexpr int64_t width = 3;

Bytes toType(DType type, const Values &values) {
  Bytes bytes(values.size() * getBytes(type));
  writeElements<std::byte>(values, type, bytes);
  return bytes;
}

/// The inputs of all members of a group.
struct Members {
  size_t experts = 0;
  int64_t rows = 0;
  int64_t room = 0;
  DType type = DType::F32;
  double fill = 0;
  /// By member.
  std::vector<Values> inputs, send, receive;

  size_t size() const { return inputs.size(); }
  /// Makes the receivers' counts agree with the senders'.
  void agree() {
    receive = send;
    for (size_t to = 0; to < size(); ++to)
      for (size_t from = 0; from < size(); ++from)
        for (size_t i = 0; i < experts; ++i)
          receive[to][from * experts + i] = send[from][to * experts + i];
  }
  Exchange getExchange() const {
    Exchange exchange;
    exchange.kind = CollectiveKind::AllToAllV;
    exchange.type = type;
    exchange.rows = {width * getBytes(type), static_cast<int64_t>(experts),
                     fill, "layers.1.experts.dispatch"};
    return exchange;
  }

  /// The rows that are for the experts of member `place`, one after the other.
  Bytes getExpected(size_t place) const {
    Values result;
    for (size_t from = 0; from < size(); ++from) {
      int64_t row = 0;
      for (size_t to = 0; to < size(); ++to)
        for (size_t i = 0; i < experts; ++i)
          for (int n = 0; n < static_cast<int>(send[from][to * experts + i]);
               ++n, ++row)
            if (to == place)
              for (int64_t column = 0; column < width; ++column)
                result.push_back(inputs[from][row * width + column]);
    }
    result.resize(room * width, static_cast<float>(fill));
    return toType(type, result);
  }
};

/// Rows with values of their own. All of `rows` are sent if `isFull`.
Members makeMembers(size_t count, size_t experts, uint64_t seed,
                    bool isFull = false) {
  std::mt19937_64 random(seed);
  Members members;
  members.experts = experts;
  members.rows = 20;
  members.room = static_cast<int64_t>(count) * members.rows;
  for (size_t member = 0; member < count; ++member) {
    Values &input = members.inputs.emplace_back(members.rows * width);
    for (size_t i = 0; i < input.size(); ++i)
      input[i] = static_cast<float>(member + 1) + static_cast<float>(i) / 128;
    Values &send = members.send.emplace_back(count * experts);
    for (int64_t row = 0; row < members.rows; ++row)
      if (isFull || random() % 4 != 0)
        // Some experts get nothing.
        send[random() % send.size() / 2 * 2] += 1;
  }
  members.agree();
  return members;
}

/// Ranks in pretended processes. As runs do, they all end when one fails.
struct Ranks : PretendedProcesses {
  Ranks(const Mesh &mesh, int64_t numProcesses)
      : PretendedProcesses(mesh, {makeChannel()}, numProcesses) {}

  static Channel makeChannel() {
    Channel channel = makeGroup({"ep"});
    channel.name = "ep";
    return channel;
  }

  std::string run(int64_t rank, const Members &members, size_t place,
                  Bytes &output) {
    const Bytes input = toType(members.type, members.inputs[place]);
    const Contribution own{input.data(),
                           output.data(),
                           static_cast<int64_t>(input.size()),
                           static_cast<int64_t>(output.size()),
                           members.send[place].data(),
                           members.receive[place].data()};
    std::string error = llvm::toString(
        of(rank).collective(0, rank, members.getExchange(), own));
    if (!error.empty())
      for (std::unique_ptr<Communicator> &communicator : communicators)
        communicator->abort();
    return error;
  }
};

/// Checks the results of the members of one group, in one process or several.
void check(const Members &members, int64_t numProcesses) {
  const auto count = static_cast<int64_t>(members.size());
  const Mesh mesh({{"pp", 1}, {"ep", count}});
  Ranks ranks(mesh, numProcesses);
  runThreads(count, [&](int64_t rank) {
    const Bytes expected = members.getExpected(rank);
    for (int repetition = 0; repetition < 3; ++repetition) {
      Bytes output(expected.size(), std::byte{0xff});
      EXPECT_EQ(ranks.run(rank, members, rank, output), "");
      EXPECT_EQ(output, expected)
          << "member " << rank << " of " << count << " in " << numProcesses;
    }
  });
}

TEST(RowExchangeTest, SendsWhatCountsSay) {
  uint64_t seed = 0;
  for (size_t count : {1, 2, 3, 6})
    for (size_t experts : {1, 4})
      for (DType type : {DType::F32, DType::BF16, DType::F16})
        for (double fill : {0.0, -1.5}) {
          ++seed;
          Members members = makeMembers(count, experts, seed, seed % 2 == 0);
          members.type = type;
          members.fill = fill;
          for (int64_t processes : {1, 2, 3, 6})
            if (count % processes == 0)
              check(members, processes);
        }
}

/// Nobody sends anything, or all rows go to one member: up to the last of its
/// room.
TEST(RowExchangeTest, OneMayGetAllOrNobodyAnything) {
  for (float rows : {0, 20}) {
    Members members = makeMembers(4, 2, 1);
    members.fill = 7;
    EXPECT_EQ(members.room, 80);
    for (Values &counts : members.send) {
      counts.assign(counts.size(), 0);
      counts[5] = rows;
    }
    members.agree();
    for (int64_t processes : {1, 2, 4})
      check(members, processes);
  }
}

TEST(RowExchangeTest, GroupsAreApart) {
  // Two groups, whose members are not neighbours.
  const Mesh mesh({{"pp", 1}, {"ep", 3}, {"mp", 2}});
  const Members groups[] = {makeMembers(3, 2, 1), makeMembers(3, 2, 2)};
  for (int64_t processes : {1, 2, 3, 6}) {
    Ranks ranks(mesh, processes);
    runThreads(6, [&](int64_t rank) {
      const Members &members = groups[rank % 2];
      Bytes output(members.room * width * 4);
      EXPECT_EQ(ranks.run(rank, members, rank / 2, output), "");
      EXPECT_EQ(output, members.getExpected(rank / 2));
    });
  }
}

TEST(RowExchangeTest, MovesOnlyRowsThatAreSent) {
  Members members = makeMembers(2, 2, 1);
  members.send = {{1, 2, 3, 4}, {5, 6, 7, 0}};
  members.agree();
  const Mesh mesh({{"pp", 1}, {"ep", 2}});
  Ranks ranks(mesh, 2);
  runThreads(2, [&](int64_t rank) {
    Bytes output(members.room * width * 4);
    EXPECT_EQ(ranks.run(rank, members, rank, output), "");
  });
  // Counts both ways, 7 rows from the first and 11 from the second.
  EXPECT_EQ(ranks.hub.sentBytes.load(), 2 * 8 * 4 + 18 * width * 4);
}

/// The member that says why no one can go on, and what it says. All others are
/// released without having written anything.
std::pair<int64_t, std::string> getError(const Members &members,
                                         int64_t processes) {
  const auto count = static_cast<int64_t>(members.size());
  Ranks ranks(Mesh({{"pp", 1}, {"ep", count}}), processes);
  std::vector<std::string> errors(count);
  std::vector<Bytes> outputs(
      count, Bytes(members.room * width * getBytes(members.type)));
  runThreads(count, [&](int64_t rank) {
    errors[rank] = ranks.run(rank, members, rank, outputs[rank]);
  });
  EXPECT_THAT(outputs, Each(Each(std::byte{0})));
  std::pair<int64_t, std::string> found(-1, "");
  for (int64_t rank = 0; rank < count; ++rank) {
    if (errors[rank] == "channel 'ep' is closed because a rank failed")
      continue;
    EXPECT_EQ(found.first, -1) << errors[rank];
    found = {rank, errors[rank]};
  }
  return found;
}

void expectError(const Members &members, int64_t member,
                 const std::string &reason) {
  for (int64_t processes : {1, 2, 4})
    EXPECT_EQ(
        getError(members, processes),
        std::make_pair(member, "all_to_all_v of 'layers.1.experts.dispatch': " +
                                   reason))
        << processes;
}

TEST(RowExchangeTest, RefusesMoreRowsThanThereIsRoomFor) {
  Members members = makeMembers(4, 2, 1);
  for (Values &counts : members.send)
    counts = {0, 1, 0, 2, 3, 9, 1, 1};
  members.agree();
  // To the third come 4 * 12.
  members.room = 48;
  for (int64_t processes : {1, 2, 4})
    check(members, processes);
  members.room = 47;
  expectError(members, 2,
              "48 rows would arrive, 36 of them for expert 5, the most, but "
              "there is room for 47; import with a larger --expert-room");
  // Also the others' is too small.
  members.room = 3;
  expectError(members, 2,
              "48 rows would arrive, 36 of them for expert 5, the most, but "
              "there is room for 3; import with a larger --expert-room");
}

TEST(RowExchangeTest, RefusesWhatIsNoNumberOfRows) {
  for (const auto &[count, text] :
       {std::pair(-1.0F, "-1"), std::pair(0.5F, "0.5"),
        std::pair(std::nanf(""), "nan"), std::pair(HUGE_VALF, "inf"),
        std::pair(-HUGE_VALF, "-inf")}) {
    Members members = makeMembers(4, 2, 1);
    members.send[1][6] = count;
    members.agree();
    expectError(members, 1,
                std::string("expected a number of rows, but got ") + text +
                    " to send for expert 6");
  }
}

TEST(RowExchangeTest, RefusesToSendRowsThatAreNot) {
  for (float count : {21.0F, 1e30F, 3.4e38F}) {
    Members members = makeMembers(4, 2, 1);
    members.send[3].assign(8, 0);
    members.send[3][2] = count;
    members.agree();
    const auto [member, text] = getError(members, 2);
    EXPECT_EQ(member, 3);
    EXPECT_THAT(text, HasSubstr("expected to send at most the 20 rows of its "
                                "input, but got "));
  }
}

TEST(RowExchangeTest, RefusesCountsThatDisagree) {
  Members members = makeMembers(4, 2, 1);
  members.send[3] = {1, 2, 3, 4, 1, 2, 3, 4};
  members.agree();
  for (const auto &[count, text] :
       {std::pair(4.0F, "4"), std::pair(2.0F, "2"), std::pair(0.5F, "0.5"),
        std::pair(-1.0F, "-1"), std::pair(std::nanf(""), "nan"),
        std::pair(1e30F, "1e+30")}) {
    Members corrupt = members;
    corrupt.receive[1][6] = count;
    expectError(corrupt, 1,
                std::string("expects ") + text +
                    " rows of rank 3 for expert 2, but that sends 3");
  }
}

} // namespace
