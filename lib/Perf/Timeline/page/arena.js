// SPDX-License-Identifier: Apache-2.0
//
// The arena of a stage over time, as lib/Perf/Timeline/MemoryPage.cpp describes it.

const categoryHues = {
  parameter: "212 45% 45%", gradient: "168 42% 38%", optimizer_state: "266 32% 52%",
  activation: "12 62% 52%", temporary: "43 62% 46%", communication: "330 45% 50%",
  input: "90 35% 42%",
};

function getCategoryColor(category) {
  return `hsl(${categoryHues[category]})`;
}

// Rows of numbers as objects.
function decodeRows(numbers, members) {
  const rows = [];
  for (let i = 0; i < numbers.length; i += members.length)
    rows.push(Object.fromEntries(members.map((member, j) => [member, numbers[i + j]])));
  return rows;
}

// Turns moments into seconds, where the page knows when tasks begin and end; within a task moments are as far apart.
function makeClock(times) {
  if (!times) return moment => moment;
  const knots = decodeRows(times, ["moment", "seconds"]);
  return moment => {
    let low = 0, high = knots.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (knots[middle].moment <= moment) low = middle;
      else high = middle;
    }
    const [from, to] = [knots[low], knots[high]];
    const share = to.moment > from.moment ? (moment - from.moment) / (to.moment - from.moment) : 1;
    return from.seconds + Math.max(0, Math.min(1, share)) * (to.seconds - from.seconds);
  };
}

function decodeStage(data, stage) {
  const names = decodeRows(stage.names, ["name", "category", "onHost", "instances", "bytes", "kept", "repeated"])
    .map((entry, number) => ({...entry, number, category: data.categories[entry.category]}));
  const buffers = decodeRows(stage.buffers, ["name", "begin", "length", "offset", "bytes", "microBatch"]);
  const toTime = makeClock(stage.times);
  for (const buffer of buffers) {
    buffer.name = names[buffer.name];
    const end = toTime(buffer.begin + buffer.length);
    buffer.begin = toTime(buffer.begin);
    buffer.length = end - buffer.begin;
  }
  const calls = decodeRows(stage.calls, ["begin", "routine", "microBatch"]);
  for (const call of calls) call.begin = toTime(call.begin);
  const alive = decodeRows(stage.alive, ["name", "instances", "bytes"]).map(row => ({...row, name: names[row.name]}));
  return {...stage, names, buffers, calls, alive, peak: toTime(stage.peak_moment), isTimed: Boolean(stage.times), length: toTime(stage.length) || 1};
}

class ArenaMap {
  constructor() {
    this.plot = document.getElementById("plot");
    this.canvas = this.plot.querySelector("canvas");
    this.selected = null;
    this.listen();
  }

  setStage(stage) {
    this.stage = stage;
    this.selected = null;
    this.reset();
  }

  select(name) {
    this.selected = name;
    this.draw();
  }

  has(name) {
    return this.stage.buffers.some(buffer => buffer.name === name);
  }

  reset() {
    const {length, arena_bytes: bytes} = this.stage;
    this.view = {left: 0, right: length, low: 0, high: Math.max(1, bytes)};
    this.draw();
  }

  // Lengths stay within the whole and are not shorter than can be told apart.
  show({left, right, low, high}) {
    const fit = (from, to, whole, least) => {
      const size = Math.min(whole, Math.max(least, to - from));
      const start = Math.max(0, Math.min(from, whole - size));
      return [start, start + size];
    };
    const {length, isTimed} = this.stage;
    [left, right] = fit(left, right, length, isTimed ? length / 1e6 : Math.min(4, length));
    [low, high] = fit(low, high, Math.max(1, this.stage.arena_bytes), 4096);
    this.view = {left, right, low, high};
    this.draw();
  }

  zoom(factor, x = 0.5, y = 0.5) {
    const {left, right, low, high} = this.view;
    const time = left + x * (right - left), byte = high - y * (high - low);
    this.show({left: time - (time - left) * factor, right: time + (right - time) * factor,
      low: byte - (byte - low) * factor, high: byte + (high - byte) * factor});
  }

  move(x, y) {
    const {left, right, low, high} = this.view;
    const dx = x * (right - left), dy = y * (high - low);
    this.show({left: left + dx, right: right + dx, low: low + dy, high: high + dy});
  }

  draw() {
    const width = this.plot.clientWidth, height = this.height = Math.max(300, Math.min(520, width * 0.6));
    const context = prepareCanvas(this.canvas, width, height);
    const palette = readPalette();
    const {left, right, low, high} = this.view;
    const toX = time => (time - left) / (right - left) * width;
    const toY = byte => (high - byte) / (high - low) * height;
    context.fillStyle = palette["--panel"];
    context.fillRect(0, 0, width, height);
    let drawn = 0;
    for (const {name, begin, length, offset, bytes} of this.stage.buffers) {
      const x = toX(begin), y = toY(offset + bytes);
      const w = toX(begin + length) - x, h = toY(offset) - y;
      if (x > width || y > height || x + w < 0 || y + h < 0) continue;
      ++drawn;
      const isOther = this.selected && this.selected !== name;
      context.globalAlpha = isOther ? 0.22 : 0.9;
      context.fillStyle = getCategoryColor(name.category);
      context.fillRect(x, y, Math.max(w, 0.7), Math.max(h, 0.7));
      if (w < 4 || h < 4) continue;
      context.fillStyle = palette["--background"];
      context.fillRect(x, y, w, 0.6);
      context.fillRect(x + w - 0.6, y, 0.6, h);
    }
    context.globalAlpha = 1;
    this.drawScale(context, palette, width, height);
    document.documentElement.dataset.buffersDrawn = drawn;
    document.getElementById("view").textContent =
      `Shown: ${this.formatTime(left)} to ${this.formatTime(right)}, ${low > 0 ? formatBytes(low) : "0"} to ${formatBytes(high)}.`;
  }

  drawScale(context, palette, width, height) {
    const {left, right, low, high} = this.view;
    context.font = "12px " + getComputedStyle(document.body).fontFamily;
    context.textBaseline = "middle";
    const label = (text, x, y) => {
      context.fillStyle = palette["--background"];
      context.globalAlpha = 0.8;
      context.fillRect(x - 3, y - 9, context.measureText(text).width + 6, 18);
      context.globalAlpha = 1;
      context.fillStyle = palette["--ink"];
      context.fillText(text, x, y);
    };
    label(formatBytes(high), 6, 12);
    label(low > 0 ? formatBytes(low) : "0", 6, height - 12);
    if (this.stage.isTimed) {
      this.drawTicks(context, palette, width, height, label);
    } else {
      const text = `instructions ${Math.round(left)} to ${Math.round(right)}`;
      label(text, width - context.measureText(text).width - 6, height - 12);
    }
  }

  // Seconds from left to right; none where the label of addresses stands.
  drawTicks(context, palette, width, height, label) {
    const {left, right} = this.view;
    const step = getTickStep(right - left, Math.max(2, width / 110));
    for (let time = Math.ceil(left / step) * step; time <= right; time += step) {
      const x = (time - left) / (right - left) * width;
      context.globalAlpha = 0.5;
      context.fillStyle = palette["--muted"];
      context.fillRect(x, 0, 0.6, height);
      context.globalAlpha = 1;
      const text = formatTick(time, step), size = context.measureText(text).width;
      if (x - size / 2 > 80 && x + size / 2 < width - 4) label(text, x - size / 2, height - 12);
    }
  }

  formatTime(time) {
    if (!this.stage.isTimed) return `instruction ${Math.round(time)}`;
    return time > 0 ? formatSeconds(time) : "0";
  }

  find(x, y) {
    const {left, right, low, high} = this.view;
    const time = left + x / this.plot.clientWidth * (right - left);
    const byte = high - y / this.height * (high - low);
    // Small ones are drawn last, and found first.
    return {time, buffer: this.stage.buffers.findLast(buffer => time >= buffer.begin &&
      time < buffer.begin + buffer.length && byte >= buffer.offset && byte < buffer.offset + buffer.bytes)};
  }

  describe({buffer, time}) {
    const call = this.stage.calls[findLastCall(this.stage.calls, time)];
    const during = call && `during ${this.stage.routines[call.routine]}` +
      (call.microBatch >= 0 ? ` of micro-batch ${call.microBatch}` : "");
    return [`${buffer.name.category.replace("_", " ")}, ${formatBytes(buffer.bytes)} at ${formatBytes(buffer.offset)}`,
      `from ${this.formatTime(buffer.begin)} to ${this.formatTime(buffer.begin + buffer.length)}` +
        (buffer.microBatch >= 0 ? `, of micro-batch ${buffer.microBatch}` : ""), during];
  }

  listen() {
    const onClick = (id, action) => document.getElementById(id).addEventListener("click", action);
    onClick("zoom-in", () => this.zoom(0.5));
    onClick("zoom-out", () => this.zoom(2));
    onClick("zoom-reset", () => this.reset());
    this.plot.addEventListener("wheel", event => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.008),
        event.offsetX / this.plot.clientWidth, event.offsetY / this.height);
    }, {passive: false});
    this.plot.addEventListener("keydown", event => this.onKey(event));
    this.plot.addEventListener("pointerdown", event => { this.pressed = {x: event.clientX, y: event.clientY}; });
    for (const name of ["pointerup", "pointercancel", "pointerleave"])
      this.plot.addEventListener(name, () => { this.pressed = null; hideTooltip(); });
    this.plot.addEventListener("pointermove", event => this.onMove(event));
  }

  onKey(event) {
    const actions = {
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2),
      "0": () => this.reset(), ArrowLeft: () => this.move(-0.2, 0), ArrowRight: () => this.move(0.2, 0),
      ArrowUp: () => this.move(0, 0.2), ArrowDown: () => this.move(0, -0.2),
    };
    const action = event.ctrlKey || event.metaKey ? null : actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  onMove(event) {
    if (this.pressed) {
      this.move((this.pressed.x - event.clientX) / this.plot.clientWidth,
        (event.clientY - this.pressed.y) / this.height);
      this.pressed = {x: event.clientX, y: event.clientY};
      return;
    }
    const found = this.find(event.offsetX, event.offsetY);
    if (found.buffer) showTooltip(event, found.buffer.name.name, this.describe(found));
    else hideTooltip();
  }
}

// The number of the call that runs at a time.
function findLastCall(calls, time) {
  let low = 0, high = calls.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (calls[middle].begin > time) high = middle;
    else low = middle + 1;
  }
  return low - 1;
}
