// SPDX-License-Identifier: Apache-2.0
//
// The timeline: zooming, moving, showing streams.

class Timeline {
  constructor(step) {
    this.step = step;
    this.view = {start: 0, end: step.seconds};
    this.expanded = new Set();
    this.plot = document.getElementById("plot");
    this.canvas = this.plot.querySelector("canvas");
    this.gutter = document.getElementById("gutter");
    this.readHash();
    this.listen();
    this.layOut();
  }

  // "#expand=0,3&from=0.1&to=0.2" shows streams of stages and a part of the step.
  readHash() {
    const options = new URLSearchParams(location.hash.slice(1));
    const expand = options.get("expand");
    for (let i = 0; i < this.step.stages.length; ++i)
      if (expand === "all" || (expand || "").split(",").includes(String(i))) this.expanded.add(i);
    if (options.has("from") || options.has("to"))
      this.show(Number(options.get("from") || 0), Number(options.get("to") || this.step.seconds));
  }

  // Lanes, their names on the left, and then the drawing.
  layOut() {
    const {lanes, height} = makeLanes(this.step, this.expanded);
    this.lanes = lanes;
    this.height = height;
    this.gutter.replaceChildren(...lanes.map(lane => this.makeLabel(lane)));
    this.gutter.style.height = height + "px";
    document.getElementById("expand").setAttribute("aria-pressed", this.expanded.size > 0);
    this.draw();
  }

  makeLabel(lane) {
    const place = `top: ${lane.top}px; height: ${lane.height}px; line-height: ${lane.height}px`;
    if (lane.stream)
      return makeElement("span", {style: place, title: lane.stream.name}, lane.stream.name);
    const label = makeElement("button",
      {style: place, "aria-expanded": this.expanded.has(lane.number)},
      "stage " + lane.stage.report.stage);
    label.addEventListener("click", () => this.toggle(lane.number));
    return label;
  }

  toggle(number) {
    if (!this.expanded.delete(number)) this.expanded.add(number);
    this.layOut();
  }

  toggleAll() {
    const none = this.expanded.size === 0;
    this.expanded = new Set(none ? this.step.stages.keys() : []);
    this.layOut();
  }

  draw() {
    const width = this.plot.clientWidth;
    const context = prepareCanvas(this.canvas, width, this.height);
    const painter = new LanePainter(context, this.step, this.view, width);
    painter.drawAxis(this.height);
    for (const lane of this.lanes)
      if (lane.stream) painter.drawStream(lane);
      else painter.drawStage(lane);
    Object.assign(document.documentElement.dataset,
      {tasksDrawn: painter.tasksDrawn, blocksDrawn: painter.blocksDrawn});
  }

  // At most once a frame.
  requestDraw() {
    if (this.isRequested) return;
    this.isRequested = true;
    requestAnimationFrame(() => {
      this.isRequested = false;
      this.draw();
    });
  }

  // A part of the step, kept within it and not shorter than can be told apart.
  show(start, end) {
    const {seconds, tick} = this.step;
    const length = Math.min(seconds, Math.max(end - start, 20 * tick));
    start = Math.max(0, Math.min(start, seconds - length));
    this.view = {start, end: start + length};
    this.requestDraw();
  }

  zoom(factor, share = 0.5) {
    const {start, end} = this.view;
    const center = start + share * (end - start);
    this.show(center - (center - start) * factor, center + (end - center) * factor);
  }

  move(share) {
    const distance = share * (this.view.end - this.view.start);
    this.show(this.view.start + distance, this.view.end + distance);
  }

  listen() {
    const onClick = (id, action) => document.getElementById(id).addEventListener("click", action);
    onClick("expand", () => this.toggleAll());
    onClick("zoom-in", () => this.zoom(0.5));
    onClick("zoom-out", () => this.zoom(2));
    onClick("zoom-reset", () => this.show(0, this.step.seconds));
    this.plot.addEventListener("wheel", event => this.onWheel(event), {passive: false});
    this.plot.addEventListener("keydown", event => this.onKey(event));
    this.plot.addEventListener("dblclick", () => this.show(0, this.step.seconds));
    this.plot.addEventListener("pointerdown", event => this.onPress(event));
    this.plot.addEventListener("pointermove", event => this.onMove(event));
    for (const name of ["pointerup", "pointercancel"])
      this.plot.addEventListener(name, () => { this.pressed = null; });
    this.plot.addEventListener("pointerleave", hideTooltip);
  }

  onWheel(event) {
    const width = this.plot.clientWidth;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.008), event.offsetX / width);
    } else if (event.deltaX !== 0) {
      event.preventDefault();
      this.move(event.deltaX / width);
    }
  }

  onKey(event) {
    const actions = {
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2),
      "0": () => this.show(0, this.step.seconds),
      ArrowLeft: () => this.move(-0.2), ArrowRight: () => this.move(0.2),
    };
    const action = event.ctrlKey || event.metaKey ? null : actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  onPress(event) {
    this.plot.setPointerCapture(event.pointerId);
    this.pressed = {x: event.clientX, view: this.view};
  }

  onMove(event) {
    if (this.pressed) {
      const {x, view} = this.pressed;
      const distance = (x - event.clientX) / this.plot.clientWidth * (view.end - view.start);
      hideTooltip();
      this.show(view.start + distance, view.end + distance);
      return;
    }
    const found = this.describe(event.offsetX, event.offsetY);
    if (found) showTooltip(event, `stage ${found.stage}: ${found.title}`, found.lines);
    else hideTooltip();
  }

  // What is at a place of the plot, in words.
  describe(x, y) {
    const {start, end} = this.view;
    const time = start + x / this.plot.clientWidth * (end - start);
    const lane = this.lanes.find(lane => y >= lane.top && y < lane.top + lane.height);
    const found = lane &&
      (lane.stream ? describeInStream : describeInStage)(this.step, lane, time);
    return found ? {...found, stage: lane.stage.report.stage} : null;
  }
}
