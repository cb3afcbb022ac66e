// SPDX-License-Identifier: Apache-2.0
//
// The lanes of the timeline: one for each stage, below it those of its streams where they are
// shown; what is drawn in them and what is under the pointer.

const axisHeight = 26;
const streamHeight = 18;

// Few stages have high lanes, many fit a screen.
function getStageHeight(numStages) {
  return Math.max(26, Math.min(54, Math.round(420 / numStages)));
}

function makeLanes(step, expanded) {
  const lanes = [];
  const height = getStageHeight(step.stages.length);
  let top = axisHeight;
  step.stages.forEach((stage, number) => {
    lanes.push({stage, number, stream: null, top, height});
    top += height + 4;
    if (!expanded.has(number)) return;
    for (const stream of stage.streams) {
      if (stream.blocks.count === 0) continue;
      lanes.push({stage, number, stream, top, height: streamHeight});
      top += streamHeight + 2;
    }
    top += 8;
  });
  return {lanes, height: top};
}

class LanePainter {
  constructor(context, step, view, width) {
    Object.assign(this, {context, step, view, width});
    this.palette = readPalette();
    this.hatch = makeHatch(context, this.palette["--hatch"]);
    this.tasksDrawn = 0;
    this.blocksDrawn = 0;
  }

  toX(seconds) {
    return (seconds - this.view.start) / (this.view.end - this.view.start) * this.width;
  }

  // Draws a part of a lane, at least as wide as can be seen.
  fill(lane, start, end, color, top = 0, height = lane.height, least = 0.5) {
    const left = Math.max(0, this.toX(start)), right = Math.min(this.width, this.toX(end));
    if (right <= 0 || left >= this.width) return;
    this.context.fillStyle = color;
    this.context.fillRect(left, lane.top + top, Math.max(right - left, least), height);
  }

  drawAxis(height) {
    const {context, palette, view} = this;
    const step = getTickStep(view.end - view.start, Math.max(3, this.width / 130));
    context.font = "12px " + getComputedStyle(document.body).fontFamily;
    context.textBaseline = "middle";
    for (let i = Math.ceil(view.start / step); i * step <= view.end; ++i) {
      const x = Math.round(this.toX(i * step)) + 0.5;
      context.fillStyle = palette["--line"];
      context.fillRect(x - 0.5, axisHeight - 6, 1, height - axisHeight + 6);
      context.fillStyle = palette["--muted"];
      const text = formatTick(i * step, step);
      const room = this.width - context.measureText(text).width;
      context.fillText(text, Math.max(0, Math.min(x - 4, room)), 9);
    }
  }

  drawStage(lane) {
    const {palette, view} = this;
    const {tasks, gaps} = lane.stage;
    this.fill(lane, 0, this.step.seconds, palette["--work"]);
    const shown = gaps.filter(gap => gap.end > view.start && gap.start < view.end);
    for (const gap of shown) {
      if (this.toX(gap.end) - this.toX(gap.start) < 0.5) continue;
      this.fill(lane, gap.start, gap.end, palette["--background"]);
      this.fill(lane, gap.start, gap.end,
        gap.cause === 2 ? this.hatch : palette[gapCauses[gap.cause].color]);
    }
    for (const task of tasks) this.drawTask(lane, task);
    // What holds up tasks is at their foot; what is narrower than a pixel makes a pale one.
    for (const gap of shown)
      this.fill(lane, gap.start, gap.end,
        gap.cause === 2 ? palette["--background"] : palette[gapCauses[gap.cause].color],
        lane.height - 5, 5, 0);
    for (const gap of shown)
      if (gap.cause === 2)
        this.fill(lane, gap.start, gap.end, this.hatch, lane.height - 5, 5, 0);
  }

  drawTask(lane, task) {
    const left = this.toX(task.start), right = this.toX(task.end);
    if (right < 0 || left > this.width) return;
    ++this.tasksDrawn;
    this.fill(lane, task.start, task.end, getTaskColor(this.palette, task, lane.stage.chunks));
    const {context, palette} = this;
    if (right - left < 3) return;
    // A seam between tasks that follow one another.
    context.fillStyle = palette["--background"];
    context.fillRect(right - 0.75, lane.top, 0.75, lane.height);
    const size = Math.min(15, Math.max(11, lane.height * 0.42));
    context.font = "600 " + size + "px " + getComputedStyle(document.body).fontFamily;
    context.textBaseline = "middle";
    const text = String(task.microBatch);
    const room = context.measureText(text).width;
    const from = Math.max(left, 0), to = Math.min(right, this.width);
    if (to - from < room + 2) return;
    context.fillStyle = palette["--label"];
    context.fillText(text, (from + to - room) / 2, lane.top + lane.height / 2);
  }

  getActivityColor(activity) {
    const name = categoryColors[activity.category] || (activity.engine ? "--vector" : "--cube");
    return this.palette[name];
  }

  drawStream(lane) {
    const {view, width} = this;
    const blocks = lane.stream.blocks;
    this.fill(lane, view.start, view.end, this.palette["--panel"]);
    const first = findFirst(blocks.count, i => blocks.end[i] > view.start);
    let drawnTo = -1;
    for (let i = first; i < blocks.count && blocks.start[i] < view.end; ++i) {
      const right = this.toX(blocks.end[i]);
      // What is narrower than a pixel is drawn once for each.
      if (right < drawnTo + 0.4) continue;
      const activity = this.step.activities[blocks.activity[i]];
      // Joined spans are as pale as there are gaps between them.
      this.context.globalAlpha = Math.max(0.2, blocks.filled[i]);
      this.fill(lane, blocks.start[i], blocks.end[i], this.getActivityColor(activity));
      this.context.globalAlpha = 1;
      this.drawName(lane, activity, Math.max(0, this.toX(blocks.start[i])), Math.min(width, right));
      drawnTo = right;
      ++this.blocksDrawn;
    }
  }

  drawName(lane, activity, left, right) {
    if (right - left < 40) return;
    const {context} = this;
    context.fillStyle = this.palette["--background"];
    context.fillRect(right - 0.75, lane.top, 0.75, lane.height);
    context.font = "11px " + getComputedStyle(document.body).fontFamily;
    context.textBaseline = "middle";
    if (context.measureText(activity.name).width > right - left - 6) return;
    context.fillStyle = this.palette["--label"];
    context.fillText(activity.name, left + 4, lane.top + lane.height / 2);
  }
}

function describeGap(gap) {
  return {title: gapCauses[gap.cause].name, lines: [formatInterval(gap.start, gap.end)]};
}

function formatInterval(start, end) {
  return `${formatSeconds(end - start)}, from ${formatSeconds(start)} to ${formatSeconds(end)}`;
}

function describeInStage(step, lane, time) {
  const {tasks, gaps, chunks} = lane.stage;
  const gap = gaps.find(gap => gap.start <= time && time < gap.end);
  const task = tasks.find(task => task.start <= time && time < task.end);
  if (task)
    return {
      title: describeTask(task, chunks),
      lines: [formatInterval(task.start, task.end),
        gap && `${gapCauses[gap.cause].name} here for ${formatSeconds(gap.end - gap.start)}`],
    };
  if (gap) return describeGap(gap);
  return {title: "outside of micro-batches", lines: ["optimizer, gradients of parameters, ..."]};
}

function describeInStream(step, lane, time) {
  const blocks = lane.stream.blocks;
  const i = findFirst(blocks.count, i => blocks.end[i] > time);
  if (i === blocks.count || blocks.start[i] > time) return null;
  const activity = step.activities[blocks.activity[i]];
  const task = lane.stage.tasks[blocks.task[i]];
  const others = blocks.spans[i] - 1;
  return {
    title: activity.name + (others > 0 ? ` and ${formatCount(others)} more` : ""),
    lines: [activity.kind !== activity.name && activity.kind, activity.cell,
      formatInterval(blocks.start[i], blocks.end[i]), task && describeTask(task, lane.stage.chunks)],
  };
}
