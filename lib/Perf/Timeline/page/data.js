// SPDX-License-Identifier: Apache-2.0
//
// Decodes what lib/Perf/Timeline/Page.cpp describes. Times become seconds.

function decodeTasks(numbers, tick) {
  const tasks = [];
  for (let i = 0; i < numbers.length; i += 5)
    tasks.push({
      phase: numbers[i], chunk: numbers[i + 1], microBatch: numbers[i + 2],
      start: numbers[i + 3] * tick, end: (numbers[i + 3] + numbers[i + 4]) * tick,
    });
  return tasks;
}

// Chunks of a stage; they are numbered over all stages.
function getChunks(numbers) {
  return [...new Set(numbers.filter((_, i) => i % 5 === 1))].sort((a, b) => a - b);
}

function decodeGaps(numbers, tick) {
  const gaps = [];
  let time = 0;
  for (let i = 0; i < numbers.length; i += 3) {
    const start = time + numbers[i + 1];
    time = start + numbers[i + 2];
    gaps.push({cause: numbers[i], start: start * tick, end: time * tick});
  }
  return gaps;
}

function decodeMemory(numbers, tick) {
  const points = [];
  let time = 0;
  for (let i = 0; i < numbers.length; i += 2) {
    time += numbers[i];
    points.push({time: time * tick, bytes: numbers[i + 1]});
  }
  return points;
}

// Blocks are many, so they are columns of numbers.
function decodeBlocks(numbers, tick) {
  const count = numbers.length / 6;
  const blocks = {
    count, start: new Float64Array(count), end: new Float64Array(count),
    activity: new Int32Array(count), task: new Int32Array(count), spans: new Int32Array(count),
    filled: new Float32Array(count),
  };
  let time = 0, task = -1;
  for (let i = 0; i < count; ++i) {
    const start = time + numbers[6 * i];
    time = start + numbers[6 * i + 1];
    task += numbers[6 * i + 3];
    blocks.start[i] = start * tick;
    blocks.end[i] = time * tick;
    blocks.activity[i] = numbers[6 * i + 2];
    blocks.task[i] = task;
    blocks.spans[i] = numbers[6 * i + 4];
    blocks.filled[i] = 1 - numbers[6 * i + 5] / Math.max(1, numbers[6 * i + 1]);
  }
  return blocks;
}

function decodeStep(data) {
  const {tick, names, report} = data;
  const activities = data.activities.map(([name, kind, cell, category, engine]) => ({
    name: names[name], kind: names[kind], cell: names[cell], category, engine,
  }));
  const stages = data.stages.map((stage, i) => ({
    report: report.stages[i],
    tasks: decodeTasks(stage.tasks, tick),
    chunks: getChunks(stage.tasks),
    gaps: decodeGaps(stage.gaps, tick),
    memory: decodeMemory(stage.memory, tick),
    streams: stage.streams.map(stream => ({
      name: stream.name, blocks: decodeBlocks(stream.blocks, tick),
    })),
  }));
  return {...data, activities, stages, seconds: report.step_seconds};
}

// The first of `count` sorted things for which `isBehind` is true.
function findFirst(count, isBehind) {
  let low = 0, high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBehind(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
