// SPDX-License-Identifier: Apache-2.0
//
// Memory over time: a curve for each stage, all on one scale.

// Few stages have high plots.
function getMemoryHeight(numStages) {
  return Math.max(92, Math.min(200, Math.round(480 / numStages)));
}

// The limit is on the scale unless it would press the curves flat.
function getMemoryScale(step) {
  const peak = Math.max(...step.stages.map(stage => stage.report.peak_bytes), 1);
  const limit = Math.max(...step.stages.map(stage => stage.report.limit_bytes), 0);
  return 1.06 * (limit < 4 * peak ? Math.max(peak, limit) : peak);
}

class MemoryPlot {
  constructor(step, stage) {
    Object.assign(this, {
      step, stage, scale: getMemoryScale(step), height: getMemoryHeight(step.stages.length),
    });
    const {report} = stage;
    const limit = report.limit_bytes > 0 ? ` of ${formatBytes(report.limit_bytes)}` : "";
    this.canvas = makeElement("canvas");
    this.figure = makeElement("figure", {},
      makeElement("figcaption", {}, makeElement("b", {}, "stage " + report.stage),
        "peak " + formatBytes(report.peak_bytes) + limit),
      this.canvas);
    this.canvas.addEventListener("pointermove", event => this.onMove(event));
    this.canvas.addEventListener("pointerleave", hideTooltip);
  }

  draw() {
    const width = this.canvas.clientWidth, height = this.height;
    const context = prepareCanvas(this.canvas, width, height);
    const palette = readPalette();
    const toX = time => time / this.step.seconds * width;
    const toY = bytes => height - 1 - bytes / this.scale * (height - 3);
    context.fillStyle = palette["--panel"];
    context.fillRect(0, 0, width, height);
    this.traceCurve(context, toX, toY, width);
    context.strokeStyle = palette["--memory"];
    context.lineWidth = 1.3;
    context.stroke();
    context.lineTo(width, height);
    context.lineTo(0, height);
    context.fillStyle = palette["--memory-fill"];
    context.fill();
    const {limit_bytes: limit} = this.stage.report;
    if (limit > 0 && limit <= this.scale) {
      context.strokeStyle = palette["--limit"];
      context.setLineDash([6, 4]);
      context.beginPath();
      context.moveTo(0, toY(limit));
      context.lineTo(width, toY(limit));
      context.stroke();
    }
  }

  // Bytes stay until the next point.
  traceCurve(context, toX, toY, width) {
    const points = this.stage.memory;
    context.beginPath();
    let y = toY(points.length ? points[0].bytes : 0);
    context.moveTo(0, y);
    for (const {time, bytes} of points) {
      context.lineTo(toX(time), y);
      y = toY(bytes);
      context.lineTo(toX(time), y);
    }
    context.lineTo(width, y);
  }

  onMove(event) {
    const time = event.offsetX / this.canvas.clientWidth * this.step.seconds;
    const points = this.stage.memory;
    const next = findFirst(points.length, i => points[i].time > time);
    if (next === 0) return hideTooltip();
    showTooltip(event, formatBytes(points[next - 1].bytes),
      [`stage ${this.stage.report.stage} at ${formatSeconds(time)}`]);
  }
}

function makeMemoryPlots(step) {
  const plots = step.stages.map(stage => new MemoryPlot(step, stage));
  document.getElementById("memory-plots").replaceChildren(...plots.map(plot => plot.figure));
  const hasLimit = step.stages.some(stage => stage.report.limit_bytes > 0 &&
    stage.report.limit_bytes <= getMemoryScale(step));
  fillLegend("memory-legend", [
    {name: "alive in the arena", style: "background: var(--memory)"},
    ...(hasLimit ? [{name: "limit", mark: "rule"}] : []),
  ]);
  return plots;
}
