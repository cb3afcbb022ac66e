//===- StepRun.cpp - Training runs of standalone programs -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Step/StepRun.h"
#include "ReadFacts.h"
#include "mf/Exec/Data/Safetensors.h"
#include "mf/Exec/Ranks/CheckpointParts.h"
#include "mf/Exec/Ranks/InitialValues.h"
#include "mf/Exec/Ranks/RankEngine.h"
#include "mf/Exec/Ranks/SliceRuns.h"
#include "mf/Exec/Ranks/StateNames.h"
#include "mf/Exec/Ranks/StepValues.h"
#include "mf/Exec/Ranks/TensorDump.h"
#include "mf/Exec/Ranks/TokenExperts.h"
#include "mf/Exec/Ranks/Training.h"
#include "mf/Program/Program.h"
#include "mf/Support/DropoutBits.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/DataExtractor.h"
#include "llvm/Support/EndianStream.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cstring>
#include <thread>

using namespace mf::program;

namespace mf::step {

//===----------------------------------------------------------------------===//
// The ranks of a standalone program
//===----------------------------------------------------------------------===//

static llvm::Error toError(const std::string &text) {
  return text.empty() ? llvm::Error::success() : llvm::createStringError(text);
}

namespace {

/// Lets ranks, each of which is a process, exchange data outside of the step.
/// All ranks must call the functions in the same order.
class StepRanks {
public:
  /// Both references must outlive this object.
  StepRanks(const Facts &facts, const StepDevice &device)
      : facts(facts), device(device), numRanks(mf::step::getNumRanks(facts)) {}

  int64_t getNumRanks() const { return numRanks; }
  bool isFirst() const { return facts.rank == 0; }
  bool isOwn(int64_t rank) const { return facts.rank == rank; }

  /// Copies the bytes of rank `root` to all ranks.
  llvm::Error share(int64_t root, llvm::MutableArrayRef<uint8_t> bytes) const {
    if (numRanks == 1 || bytes.empty())
      return llvm::Error::success();
    return toError(device.broadcast(root, bytes.data(), bytes.size()));
  }
  /// Returns the text that rank `root` passes, which may have any length.
  llvm::Expected<std::string> shareText(int64_t root,
                                        llvm::StringRef text) const {
    uint64_t size = text.size();
    if (llvm::Error error =
            share(root, {reinterpret_cast<uint8_t *>(&size), sizeof(size)}))
      return std::move(error);
    std::string shared = isOwn(root) ? text.str() : std::string(size, '\0');
    if (llvm::Error error =
            share(root, {reinterpret_cast<uint8_t *>(shared.data()), size}))
      return std::move(error);
    return shared;
  }
  /// Fails on all ranks if `own` is a failure on one.
  llvm::Error agree(llvm::Error own) const {
    if (numRanks == 1)
      return own;
    const std::string text =
        own ? llvm::toString(std::move(own)) : std::string();
    std::string first;
    for (int64_t rank = 0; rank < numRanks; ++rank) {
      auto shared = shareText(rank, text);
      if (!shared)
        return shared.takeError();
      if (first.empty() && !shared->empty())
        first = "rank " + std::to_string(rank) + ": " + *shared;
    }
    return toError(first);
  }
  /// Fails on a rank that has another value than the first one.
  llvm::Error expectSame(llvm::ArrayRef<ranks::SharedValue> values) const {
    std::string different;
    for (const auto &[name, value] : values) {
      auto expected = shareText(0, value);
      if (!expected)
        return expected.takeError();
      if (different.empty() && *expected != value)
        different =
            name + " is " + value + ", but " + *expected + " on the first rank";
    }
    return agree(toError(different));
  }

private:
  const Facts &facts;
  const StepDevice &device;
  int64_t numRanks;
};

} // namespace

int64_t getNumRanks(const Facts &facts) {
  return makeMesh(facts).getNumRanks();
}

int64_t getStage(const Facts &facts, int64_t rank) {
  return makeMesh(facts).getStage(rank);
}

std::vector<int64_t> getMembers(const Facts &facts, size_t channel,
                                int64_t rank, bool isSend) {
  const StepChannel &given = facts.channels[channel];
  Channel made;
  made.name = given.name;
  made.isTransfer = given.isTransfer;
  made.group = {given.groupAxes, given.groupStages};
  made.fromStage = given.fromStage;
  made.toStage = given.toStage;
  made.axis = given.axis;
  made.shift = given.shift;
  return made.getMembers(makeMesh(facts), rank, isSend);
}

std::string getKnownIntegers(const Facts &facts,
                             std::vector<std::pair<int64_t, int32_t>> &known) {
  llvm::Expected<ReadFacts> read = readFacts(facts);
  if (!read)
    return llvm::toString(read.takeError());
  const auto stage = static_cast<size_t>(read->mesh.getStage(facts.rank));
  for (auto [buffer, made] :
       llvm::zip_equal(facts.stages[stage], read->stages[stage])) {
    if (made.space == Space::Host || !made.init ||
        made.shape.type != DType::I32 || made.shape.getNumElements() != 1 ||
        (made.role != Role::Constant && made.role != Role::Table))
      continue;
    int32_t value = 0;
    llvm::MutableArrayRef<uint8_t> bytes(reinterpret_cast<uint8_t *>(&value),
                                         sizeof(value));
    if (llvm::Error error = ranks::fillInitialSlice(
            *made.init, 0, made.name, ranks::getWholeShape(made),
            ranks::SliceRuns(read->mesh, made, facts.rank), 0, 1, bytes))
      return "initial value of '" + made.name +
             "': " + llvm::toString(std::move(error));
    known.emplace_back(buffer.offset, value);
  }
  return "";
}

//===----------------------------------------------------------------------===//
// A program outside of mf as an engine
//===----------------------------------------------------------------------===//

namespace {

/// Numbers are little endian; texts and lists have their length before them.
class KeptWriter {
public:
  explicit KeptWriter(llvm::raw_ostream &os)
      : numbers(os, llvm::endianness::little), os(os) {}

  void writeNumber(int64_t value) { numbers.write(value); }
  void writeText(llvm::StringRef text) {
    writeNumber(static_cast<int64_t>(text.size()));
    os << text;
  }

private:
  llvm::support::endian::Writer numbers;
  llvm::raw_ostream &os;
};

class KeptReader {
public:
  explicit KeptReader(llvm::StringRef bytes)
      : data(bytes, /*IsLittleEndian=*/true, /*AddressSize=*/8), cursor(0) {}
  ~KeptReader() { llvm::consumeError(cursor.takeError()); }

  bool isAtEnd() const { return cursor.tell() == data.size(); }
  int64_t readNumber() { return static_cast<int64_t>(data.getU64(cursor)); }
  llvm::StringRef readText() {
    const int64_t size = readNumber();
    return data.getBytes(cursor, static_cast<uint64_t>(size));
  }
  bool hasFailed() { return !cursor; }
  llvm::Error takeError() { return cursor.takeError(); }

private:
  llvm::DataExtractor data;
  llvm::DataExtractor::Cursor cursor;
};

void writeTensor(KeptWriter &writer, const KeptTensor &tensor) {
  writer.writeText(tensor.name);
  writer.writeText(tensor.type);
  writer.writeNumber(static_cast<int64_t>(tensor.dims.size()));
  for (const int64_t size : tensor.dims)
    writer.writeNumber(size);
  writer.writeText({reinterpret_cast<const char *>(tensor.bytes.data()),
                    tensor.bytes.size()});
}

llvm::Expected<ranks::MadeTensor> readTensor(KeptReader &reader) {
  ranks::MadeTensor made;
  made.name = reader.readText();
  const llvm::StringRef name = reader.readText();
  const std::optional<DType> type = parseDType(name);
  // The reader's own error comes first.
  if (!type && !reader.hasFailed())
    return llvm::createStringError("unknown element type '" + name + "'");
  made.shape.type = type.value_or(DType::F32);
  const int64_t numDims = reader.readNumber();
  for (int64_t i = 0; i < numDims && !reader.hasFailed(); ++i)
    made.shape.dims.push_back(reader.readNumber());
  const llvm::StringRef bytes = reader.readText();
  made.bytes = {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()};
  return made;
}

/// Returns what a rank has kept, as bytes that another rank can read.
std::string printKept(const std::vector<KeptOperator> &kept) {
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  KeptWriter writer(os);
  for (const KeptOperator &run : kept) {
    writer.writeNumber(run.microBatch);
    writer.writeNumber(run.isForward ? 1 : 0);
    writer.writeText(run.cell);
    writer.writeNumber(static_cast<int64_t>(run.made.size()));
    for (const KeptTensor &tensor : run.made)
      writeTensor(writer, tensor);
  }
  return bytes;
}

/// Adds what rank `rank` has kept. Fails if the bytes are not those of
/// printKept.
llvm::Error addKept(llvm::StringRef bytes, int64_t rank,
                    ranks::TensorDump &dump) {
  KeptReader reader(bytes);
  while (!reader.hasFailed() && !reader.isAtEnd()) {
    ranks::OperatorRun run;
    run.rank = rank;
    run.microBatch = reader.readNumber();
    run.isForward = reader.readNumber() != 0;
    run.cell = reader.readText();
    const int64_t numTensors = reader.readNumber();
    std::vector<ranks::MadeTensor> made;
    for (int64_t i = 0; i < numTensors && !reader.hasFailed(); ++i) {
      llvm::Expected<ranks::MadeTensor> tensor = readTensor(reader);
      if (!tensor)
        return llvm::createStringError(
            "'" + run.cell + "': " + llvm::toString(tensor.takeError()));
      made.push_back(std::move(*tensor));
    }
    if (!reader.hasFailed())
      dump.add(run, made);
  }
  return reader.takeError();
}

} // namespace

/// Collects what all ranks have kept in the dump of the first rank, which
/// writes the file. `kept` is what this rank has kept.
static llvm::Error shareKept(const StepRanks &group,
                             const std::vector<KeptOperator> &kept,
                             ranks::TensorDump &dump) {
  const std::string own = printKept(kept);
  for (int64_t rank = 0; rank < group.getNumRanks(); ++rank) {
    auto shared = group.shareText(rank, own);
    if (!shared)
      return shared.takeError();
    if (group.isFirst())
      if (llvm::Error error = addKept(*shared, rank, dump))
        return error;
  }
  return llvm::Error::success();
}

static LearningRateRule makeRule(const StepSchedule &schedule) {
  LearningRateRule rule;
  rule.type = schedule.type;
  for (const auto &[key, value] : schedule.parameters)
    rule.parameters[key] = value;
  return rule;
}

static llvm::ArrayRef<uint8_t> getBytesOf(const void *values, size_t bytes) {
  return {static_cast<const uint8_t *>(values), bytes};
}

static bool isHostReport(const Static &buffer) {
  return buffer.role == Role::Report && buffer.space == Space::Host &&
         buffer.shape.type == DType::F32;
}

namespace {

/// Runs one rank of a program for a training run.
class StepEngine : public ranks::RankEngine {
public:
  /// All references must outlive the engine.
  StepEngine(const Facts &facts, ReadFacts read, const StepDevice &device,
             const ranks::TrainingOptions &options)
      : facts(facts), device(device), options(options), read(std::move(read)),
        mesh(this->read.mesh), stages(this->read.stages), group(facts, device) {
    for (const Statics &statics : stages)
      names.add(statics);
  }

  ranks::TrainingProperties getProperties() const override {
    ranks::TrainingProperties training;
    training.kind = "program";
    training.batch.sequenceLength = facts.sequenceLength;
    training.batch.batchSize = countBatchRows();
    training.batch.microBatches = facts.microBatches;
    training.batch.vocabularySize = facts.vocabularySize;
    training.batch.ignoreIndex = static_cast<int32_t>(facts.ignoreIndex);
    if (facts.padTokenId >= 0)
      training.batch.padTokenId = facts.padTokenId;
    training.batch.sampleOrder = read.sampleOrder;
    training.batch.replicas = mesh.getNumParts(mesh.getFactors("dp"));
    training.numRanks = group.getNumRanks();
    training.ranksPerStage = mesh.getRanksPerStage();
    training.readsData =
        hasRole(Role::Tokens, true) || hasRole(Role::Labels, true);
    if (facts.hasSchedule) {
      training.lrSchedule = makeRule(facts.schedule);
      for (const StepSchedule &group : facts.groups)
        training.lrSchedule->groups.push_back(makeRule(group));
    }
    training.lossScale.value = static_cast<float>(facts.lossScale);
    training.lossScale.factor = facts.lossScaleFactor;
    training.lossScale.window = facts.lossScaleWindow;
    training.flopsPerStep = facts.flopsPerStep;
    training.hasBackward = hasRole(Role::Gradient, false);
    training.hasUpdate = hasRole(Role::FirstMoment, false);
    return training;
  }

  llvm::Error start(ranks::NoteUser note) override {
    if (llvm::Error error = initialize())
      return error;
    return loadParameters(note);
  }
  llvm::Expected<ranks::StepOutput>
  runStep(const ranks::StepInput &input,
          llvm::function_ref<llvm::Error()> useGradients) override {
    if (llvm::Error error = writeInput(input))
      return error;
    const bool isKept = options.dump && options.dump->isActive();
    if (isKept)
      device.startKeeping();
    if (llvm::Error error = toError(device.computeGradients()))
      return error;
    if (isKept)
      if (llvm::Error error =
              shareKept(group, device.takeKept(), *options.dump))
        return error;
    if (useGradients) {
      if (llvm::Error error = toError(device.synchronize()))
        return error;
      if (llvm::Error error = useGradients())
        return error;
    }
    if (llvm::Error error = toError(device.finishStep()))
      return error;
    if (llvm::Error error = toError(device.synchronize()))
      return error;
    return readReports();
  }

  llvm::Expected<ranks::WholeTensors> collectGradients() const override {
    return collect(ranks::StateNames::getGradientName);
  }
  llvm::Expected<ranks::WholeTensors> collectParameters() const override {
    return collect(
        [&](const Static &buffer) { return names.getParameterName(buffer); });
  }
  llvm::Expected<ranks::WholeTensors> collectTrained() const override {
    return collect(
        [&](const Static &buffer) { return names.getTrainedName(buffer); });
  }
  llvm::Error saveRank(int64_t rank, llvm::StringRef path) const override {
    // The part that has the bytes of the last static that was read.
    ranks::RankTensor part;
    return ranks::saveCheckpointRank(mesh, getStatics(rank), rank, path,
                                     [&](uint32_t number) {
                                       part = makePart(rank, number);
                                       return part.read();
                                     });
  }
  llvm::Error loadRanks(llvm::ArrayRef<std::string> paths) override {
    auto parts = ranks::CheckpointParts::open(paths);
    if (!parts)
      return parts.takeError();
    for (const auto &[number, buffer] :
         llvm::enumerate(getStatics(facts.rank))) {
      if (ranks::StateNames::getCheckpointName(buffer).empty())
        continue;
      std::vector<uint8_t> bytes(static_cast<size_t>(buffer.bytes));
      if (llvm::Error error =
              parts->readStatic(names, mesh, buffer, facts.rank, bytes))
        return error;
      if (llvm::Error error = write(number, bytes))
        return error;
    }
    return llvm::Error::success();
  }
  bool isWriter() const override { return group.isFirst(); }
  llvm::Error agree(llvm::Error own) override {
    return group.agree(std::move(own));
  }
  llvm::Error expectSame(llvm::ArrayRef<ranks::SharedValue> values) override {
    return group.expectSame(values);
  }

private:
  using Statics = std::vector<program::Static>;
  llvm::Error initialize() {
    for (const auto &[number, buffer] :
         llvm::enumerate(getStatics(facts.rank))) {
      std::vector<uint8_t> bytes(static_cast<size_t>(buffer.bytes));
      if (buffer.init)
        if (llvm::Error error = ranks::fillInitialSlice(
                *buffer.init, options.seed, names.getOwner(buffer),
                ranks::getWholeShape(buffer),
                ranks::SliceRuns(mesh, buffer, facts.rank), 0,
                buffer.shape.getNumElements(), bytes))
          return llvm::createStringError(
              "initial value of '" + buffer.name +
              "': " + llvm::toString(std::move(error)));
      // A value that each step makes anew may share memory with others, so it
      // is not written without an initial value.
      if (isOfStep(buffer.role) && !buffer.init)
        continue;
      if (llvm::Error error = write(number, bytes))
        return error;
    }
    return llvm::Error::success();
  }
  llvm::Error loadParameters(ranks::NoteUser note) {
    const std::vector<std::string> paths = options.getInitPaths();
    if (paths.empty())
      return llvm::Error::success();
    auto file = SafetensorsCheckpoint::openAll(paths);
    if (!file)
      return file.takeError();
    const std::set<std::string> known = names.getParameters();
    for (const auto &[number, buffer] :
         llvm::enumerate(getStatics(facts.rank))) {
      const std::string owner = names.getOwner(buffer);
      if (buffer.role == Role::Table && buffer.init && file->lookup(owner)) {
        const ranks::SliceRuns runs(mesh, buffer, facts.rank);
        std::vector<uint8_t> own(static_cast<size_t>(buffer.bytes));
        if (llvm::Error error = ranks::fillInitialSlice(
                *buffer.init, options.seed, owner, ranks::getWholeShape(buffer),
                runs, 0, buffer.shape.getNumElements(), own))
          return error;
        auto given = file->find(owner);
        if (!given)
          return given.takeError();
        if (llvm::Error error =
                ranks::loadTable(owner, *given, *buffer.init,
                                 ranks::getWholeShape(buffer), runs, own))
          return error;
        if (llvm::Error error = write(number, own))
          return error;
      }
      if (buffer.role != Role::Parameter)
        continue;
      auto tensor = file->find(owner);
      if (!tensor)
        return tensor.takeError();
      const TensorShape shape = ranks::getWholeShape(buffer);
      std::vector<uint8_t> whole(static_cast<size_t>(shape.getBytes()));
      if (llvm::Error error = readTensor(owner, *tensor, shape, whole))
        return error;
      std::vector<uint8_t> bytes(static_cast<size_t>(buffer.bytes));
      ranks::SliceRuns(mesh, buffer, facts.rank)
          .take(whole, bytes, getBytes(shape.type));
      if (llvm::Error error = write(number, bytes))
        return error;
    }
    for (const std::string &name : file->getNames())
      if (known.count(name) == 0 && names.getTables().count(name) == 0)
        note("tensor '" + name + "' is not a parameter of the program");
    return llvm::Error::success();
  }
  llvm::Error write(size_t number, llvm::ArrayRef<uint8_t> bytes) const {
    return toError(device.write(getBuffers(facts.rank)[number], bytes.data()));
  }
  llvm::Error writeInput(const ranks::StepInput &input) const {
    if (llvm::Error error = writeElements(Role::Tokens, input.tokens))
      return error;
    if (llvm::Error error = writeElements(Role::Labels, input.labels))
      return error;
    for (const auto &[number, buffer] :
         llvm::enumerate(getStatics(facts.rank))) {
      if (buffer.space != Space::Host)
        continue;
      std::vector<uint8_t> bytes(static_cast<size_t>(buffer.bytes));
      if (!ranks::writeStepValue(buffer.role, input, bytes))
        continue;
      if (llvm::Error error = write(number, bytes))
        return error;
    }
    return llvm::Error::success();
  }
  /// Writes the elements of a step to the statics of a role. Statics follow
  /// each other: each takes as many elements as it has.
  llvm::Error writeElements(Role role, llvm::ArrayRef<int32_t> values) const {
    for (const auto &[number, buffer] :
         llvm::enumerate(getStatics(facts.rank))) {
      if (buffer.role != role || buffer.space != Space::Host)
        continue;
      const auto count =
          static_cast<size_t>(ranks::getWholeShape(buffer).getNumElements());
      if (getBytes(buffer.shape.type) != sizeof(int32_t) ||
          count > values.size())
        return llvm::createStringError("'" + buffer.name +
                                       "' does not fit the data of a step");
      std::vector<uint8_t> own(static_cast<size_t>(buffer.bytes));
      ranks::SliceRuns(mesh, buffer, facts.rank)
          .take(getBytesOf(values.data(), count * sizeof(int32_t)), own,
                sizeof(int32_t));
      if (llvm::Error error = write(number, own))
        return error;
      values = values.drop_front(count);
    }
    return llvm::Error::success();
  }
  llvm::Expected<ranks::StepOutput> readReports() const {
    ranks::StepReports reports;
    for (int64_t rank = 0; rank < group.getNumRanks(); ++rank)
      if (llvm::Error error = readRankReports(rank, reports))
        return std::move(error);
    return ranks::StepOutput(reports);
  }
  llvm::Expected<ranks::WholeTensors>
  collect(llvm::function_ref<std::string(const Static &)> getName) const {
    ranks::WholeTensors tensors(mesh, isWriter());
    for (int64_t rank = 0; rank < group.getNumRanks(); ++rank)
      for (const auto &[number, buffer] : llvm::enumerate(getStatics(rank))) {
        const std::string name = getName(buffer);
        if (name.empty())
          continue;
        if (llvm::Error error = tensors.add(name, makePart(rank, number)))
          return std::move(error);
      }
    return tensors;
  }

  /// All reports of a rank are sent in one message.
  llvm::Error readRankReports(int64_t rank, ranks::StepReports &reports) const {
    std::vector<uint8_t> bytes;
    for (const auto &[number, buffer] : llvm::enumerate(getStatics(rank)))
      if (isHostReport(buffer)) {
        const size_t begin = bytes.size();
        bytes.resize(begin + static_cast<size_t>(buffer.bytes));
        if (!group.isOwn(rank))
          continue;
        if (llvm::Error error = toError(
                device.read(getBuffers(rank)[number], bytes.data() + begin)))
          return error;
      }
    if (llvm::Error error = group.share(rank, bytes))
      return error;
    const auto *from = reinterpret_cast<const float *>(bytes.data());
    for (const Static &buffer : getStatics(rank))
      if (isHostReport(buffer)) {
        const size_t count = static_cast<size_t>(buffer.bytes) / sizeof(float);
        reports.add(mesh.getStage(rank), buffer.of, {from, count});
        from += count;
      }
    return llvm::Error::success();
  }
  ranks::RankTensor makePart(int64_t rank, size_t number) const {
    const Static &buffer = getStatics(rank)[number];
    ranks::RankTensor part;
    part.rank = rank;
    part.shape = buffer.shape;
    part.slice = buffer.slice;
    part.isTokenExperts = ranks::isTokenExperts(buffer);
    auto bytes = std::make_shared<std::vector<uint8_t>>();
    part.read = [this, rank, &from = getBuffers(rank)[number],
                 bytes]() -> llvm::Expected<llvm::ArrayRef<uint8_t>> {
      bytes->resize(static_cast<size_t>(from.bytes));
      if (group.isOwn(rank))
        if (llvm::Error error = toError(device.read(from, bytes->data())))
          return std::move(error);
      if (llvm::Error error = group.share(rank, *bytes))
        return std::move(error);
      return llvm::ArrayRef<uint8_t>(*bytes);
    };
    return part;
  }

  bool hasRole(Role role, bool onHost) const {
    return llvm::any_of(stages, [&](const Statics &statics) {
      return llvm::any_of(statics, [&](const Static &buffer) {
        return buffer.role == role && (!onHost || buffer.space == Space::Host);
      });
    });
  }

  /// Returns the number of rows of all ranks or, without tokens, of a
  /// micro-batch.
  int64_t countBatchRows() const {
    for (const Statics &statics : stages) {
      int64_t elements = 0;
      for (const Static &buffer : statics)
        if (buffer.role == Role::Tokens && buffer.space == Space::Host)
          elements += ranks::getWholeShape(buffer).getNumElements();
      if (elements > 0)
        return elements /
               std::max<int64_t>(1, facts.microBatches * facts.sequenceLength);
    }
    return facts.batchSize;
  }

  /// Return the statics of a rank, and the program's description of them.
  const Statics &getStatics(int64_t rank) const {
    return stages[mesh.getStage(rank)];
  }
  const std::vector<StepBuffer> &getBuffers(int64_t rank) const {
    return facts.stages[mesh.getStage(rank)];
  }

  const Facts &facts;
  const StepDevice &device;
  const ranks::TrainingOptions &options;
  /// `facts` in the types of mf.
  const ReadFacts read;
  const program::Mesh &mesh;
  const std::vector<Statics> &stages;
  StepRanks group;
  /// The names of the statics.
  ranks::StateNames names;
};

} // namespace

//===----------------------------------------------------------------------===//
// Training runs of standalone programs
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral help =
    "usage: step --data=FILE [--steps=N] [--seed=N] [--init-params=FILE]\n"
    "            [--save-params=FILE] [--save-trainable=FILE]\n"
    "            [--dump-gradients=FILE] [--report=FILE] [--quiet]\n"
    "            [--checkpoint-dir=FOLDER [--checkpoint-every=N]\n"
    "            [--keep-checkpoints=N] [--resume]] [--capture]\n"
    "            [--dump-tensors=PATTERN -o=FILE]\n"
    "The options are those of mf-run. --capture records the work of a step up "
    "to its gradients once, and gives the device all of it by one call from "
    "then on. ASCEND_DEVICE_ID says which device the "
    "step runs on. Of several ranks each is a process: RANK_ID says which, "
    "and\n"
    "MF_ROOT_INFO_DIR is an empty folder where they find each other.\n";

namespace {

/// The values of --dump-tensors and of the option for its file.
struct DumpOptions {
  std::string pattern, path;
};

} // namespace

/// Parses `--name=value`, or `--name` for a flag. Returns false for an unknown
/// option or an invalid value.
static bool takeOption(llvm::StringRef argument,
                       ranks::TrainingOptions &options, DumpOptions &dump) {
  auto [name, value] = argument.split('=');
  if (name == "--quiet")
    return options.quiet = true;
  if (name == "--resume")
    return options.resume = true;
  if (name == "--steps")
    return !value.getAsInteger(10, options.steps) && options.steps > 0;
  if (name == "--checkpoint-every")
    return !value.getAsInteger(10, options.checkpointEvery) &&
           options.checkpointEvery > 0;
  if (name == "--keep-checkpoints")
    return !value.getAsInteger(10, options.keepCheckpoints) &&
           options.keepCheckpoints >= 0;
  if (name == "--seed")
    return !value.getAsInteger(10, options.seed);
  const std::pair<llvm::StringRef, std::string *> paths[] = {
      {"--data", &options.dataPath},
      {"--init-params", &options.initParamsPath},
      {"--save-params", &options.saveParamsPath},
      {"--save-trainable", &options.saveTrainablePath},
      {"--dump-gradients", &options.dumpGradientsPath},
      {"--checkpoint-dir", &options.checkpointFolder},
      {"--dump-tensors", &dump.pattern},
      {"-o", &dump.path},
      {"--report", &options.reportPath}};
  for (const auto &[option, path] : paths)
    if (name == option && !value.empty()) {
      *path = value.str();
      return true;
    }
  return false;
}

/// Opens the dump that `given` asks for. Returns the text of the error, or an
/// empty text.
static std::string openDump(const DumpOptions &given,
                            ranks::TrainingOptions &options) {
  if (given.pattern.empty() != given.path.empty())
    return "--dump-tensors and -o, the safetensors file to write, need each "
           "other";
  if (given.pattern.empty())
    return "";
  auto dump = ranks::TensorDump::create(given.pattern, given.path);
  if (!dump)
    return llvm::toString(dump.takeError());
  options.dump = std::move(*dump);
  return "";
}

int run(int argc, char **argv, const Facts &facts, const StepDevice &device) {
  ranks::TrainingOptions options;
  DumpOptions dump;
  for (int i = 1; i < argc; ++i) {
    const llvm::StringRef argument = argv[i];
    if (argument == "--help") {
      llvm::outs() << help;
      return 0;
    }
    if (!takeOption(argument, options, dump)) {
      llvm::errs() << "error: '" << argument
                   << "' is no option, or lacks its value\n"
                   << help;
      return 1;
    }
  }
  if (options.checkpointFolder.empty() &&
      (options.resume || options.checkpointEvery > 0)) {
    llvm::errs() << "error: --resume and --checkpoint-every need "
                    "--checkpoint-dir\n";
    return 1;
  }
  if (const std::string failure = openDump(dump, options); !failure.empty()) {
    llvm::errs() << "error: " << failure << "\n";
    return 1;
  }
  llvm::Expected<ReadFacts> read = readFacts(facts);
  if (!read) {
    llvm::errs() << "error: " << llvm::toString(read.takeError()) << "\n";
    return 1;
  }
  // Only the first rank prints, as the others have the same values.
  const bool isFirst = facts.rank == 0;
  options.quiet |= !isFirst;
  StepEngine engine(facts, std::move(*read), device, options);
  llvm::Error error =
      ranks::train(engine, options, llvm::outs(), /*isTerminal=*/false,
                   [&](llvm::StringRef text) {
                     if (isFirst)
                       llvm::errs() << "note: " << text << "\n";
                   });
  if (!error)
    return 0;
  llvm::errs() << "error: ";
  if (getNumRanks(facts) > 1)
    llvm::errs() << "rank " << facts.rank << ": ";
  llvm::errs() << llvm::toString(std::move(error)) << "\n";
  return 1;
}

void drawMask(const StepMask &mask, std::vector<uint8_t> &bits) {
  DropoutDraw what;
  what.sizes = mask.sizes;
  what.whole = mask.whole;
  what.starts = mask.starts;
  what.threshold = getDropThreshold(mask.rate);
  what.key = static_cast<uint64_t>(mask.key);
  std::copy(std::begin(mask.draw), std::end(mask.draw), what.draw.begin());
  int64_t count = 1;
  for (const int64_t size : mask.sizes)
    count *= size;
  constexpr int64_t bytesOfUnit = dropoutBitsOfUnit / 8;
  const int64_t units = (count + dropoutBitsOfUnit - 1) / dropoutBitsOfUnit;
  bits.resize(units * bytesOfUnit);
  // A thread takes longer to start than to draw fewer units than this.
  constexpr int64_t leastUnits = 1024;
  const int64_t threads = std::clamp<int64_t>(
      units / leastUnits, 1,
      std::max<int64_t>(std::thread::hardware_concurrency(), 1));
  auto drawPart = [&](int64_t part) {
    const int64_t first = units * part / threads,
                  end = units * (part + 1) / threads;
    drawDropoutBits(what, first * bytesOfUnit, (end - first) * bytesOfUnit,
                    bits.data());
  };
  std::vector<std::thread> started;
  for (int64_t part = 1; part < threads; ++part)
    started.emplace_back(drawPart, part);
  drawPart(0);
  for (std::thread &thread : started)
    thread.join();
}

} // namespace mf::step
